"""Sets of speakers as JSON: who each row of a table of embeddings holds."""

from __future__ import annotations

import json
import os

from diarize.errors import InputError
from diarize.formats.lines import blaming, parse_json, read_text
from diarize.sets import SpeakerSets

MOST_SPEAKERS = 10_000  # in a file of sets


def sets_text(sets: SpeakerSets, backend: str) -> str:
    """``{"backend": ..., "n_speakers": k, "sets": [[0], [0, 2], ...]}``, one entry per row."""
    content = {"backend": backend, "n_speakers": sets.n_speakers, "sets": sets.to_lists()}
    return json.dumps(content) + "\n"


def read_sets(path: str | os.PathLike[str]) -> SpeakerSets:
    """The ``sets`` of such a file; other entries are not looked at.

    Raises:
        InputError: the file cannot be read, is no JSON, or its sets are no lists of indices.
    """
    name, text = read_text(path)
    content = parse_json(name, text)
    rows = content.get("sets") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise InputError(f"{name}: no list 'sets' in this file")
    for number, row in enumerate(rows):
        # bool is an int to Python, and true is no speaker
        if not isinstance(row, list) or not all(type(speaker) is int for speaker in row):
            raise InputError(f"{name}: entry {number} of 'sets' is no list of speaker indices")
        # A row has a place for each index up to the largest: an absurd one would take all memory.
        if max(row, default=0) >= MOST_SPEAKERS:
            raise InputError(
                f"{name}: entry {number} of 'sets' has an index of {MOST_SPEAKERS} or more"
            )
    with blaming(name):
        return SpeakerSets.from_lists(rows)
