"""Speakers for transcripts that others have made."""

from diarize.transcripts.passages import Passage, Transcript, Word, label
from diarize.transcripts.table import (
    FOR_READERS,
    TRANSCRIPTS,
    label_transcripts,
    read_transcripts,
    require_text,
    require_transcript,
    text_format,
    transcript_format,
    transcripts_text,
)

__all__ = [
    "FOR_READERS",
    "TRANSCRIPTS",
    "Passage",
    "Transcript",
    "Word",
    "label",
    "label_transcripts",
    "read_transcripts",
    "require_text",
    "require_transcript",
    "text_format",
    "transcript_format",
    "transcripts_text",
]
