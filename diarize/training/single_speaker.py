"""What single speakers say in recordings, by turns: written down, or of a first pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from jaxtyping import Float32
from pyannote.core import Annotation, Segment
from pyannote.core.segment import SEGMENT_PRECISION

from diarize.audio import SAMPLE_RATE, Recording

SUREST = 0.8
"""Least confidence of a turn that is believed."""

EDGE = 0.1
"""Seconds that are left out at the ends of a turn, where its speaker is in doubt."""

CHUNK = 3.0
"""Seconds of a chunk, about: longer turns are cut into several."""

SHORTEST = 1.4
"""Seconds of the shortest chunk: it holds one of the windows that are decoded."""

LEAST = 5.0
"""Seconds that a speaker must hold to count as one."""

MOST = 120.0
"""Seconds of a speaker of one recording that are kept, which bounds the memory."""

Chunk = Float32[np.ndarray, "_"]
Span = tuple[float, float]
Confidence = Mapping[tuple[Segment, str], float]


@dataclass(frozen=True)
class SingleSpeakerSpeech:
    """One recording's speech that single speakers surely hold.

    Attributes:
        uri: of the recording.
        speakers: the chunks of each speaker, 16 kHz, in order of time.
    """

    uri: str
    speakers: tuple[tuple[Chunk, ...], ...]

    @property
    def seconds(self) -> float:
        """Of all speakers."""
        return sum(len(chunk) for chunks in self.speakers for chunk in chunks) / SAMPLE_RATE

    def split(self) -> tuple[SingleSpeakerSpeech, SingleSpeakerSpeech]:
        """Two thirds of each speaker's chunks, and every third one, with one at least on each side.

        A speaker of one chunk is on the first side alone, and there is no chunk in his place.
        """
        parts: tuple[list[tuple[Chunk, ...]], list[tuple[Chunk, ...]]] = ([], [])
        for chunks in self.speakers:
            third = [i % 3 == 2 or len(chunks) == 2 == i + 1 for i in range(len(chunks))]
            for side, part in enumerate(parts):
                part.append(tuple(c for c, t in zip(chunks, third, strict=True) if t == side))
        return SingleSpeakerSpeech(self.uri, tuple(parts[0])), SingleSpeakerSpeech(
            self.uri, tuple(parts[1])
        )


def single_speaker_speech(
    recording: Recording,
    turns: Annotation,
    confidence: Confidence = MappingProxyType({}),
    *,
    shortest: float = SHORTEST,
    least: float = LEAST,
) -> SingleSpeakerSpeech:
    """Take what speakers say alone (`single_speaker_spans`), of those with `least` seconds."""
    spans = single_speaker_spans(turns, confidence, shortest)
    enough = [own for own in spans.values() if seconds_of(own) >= least]
    return SingleSpeakerSpeech(
        recording.uri, tuple(tuple(c) for c in read_spans(recording, enough))
    )


def seconds_of(spans: Sequence[Span]) -> float:
    """How long spans are together."""
    return sum(end - begin for begin, end in spans)


def single_speaker_spans(
    turns: Annotation,
    confidence: Confidence = MappingProxyType({}),
    shortest: float = SHORTEST,
) -> dict[str, list[Span]]:
    """When each speaker surely speaks alone, seconds: stretches of `shortest` to 1.5 `CHUNK`.

    Args:
        turns: who speaks when.
        confidence: of turns, by segment and track; one is certain where nothing is said.
        shortest: seconds of the shortest stretch.
    """
    overlap = np.array([(s.start, s.end) for s in turns.get_overlap()]).reshape(-1, 2)
    spans: dict[str, list[Span]] = {speaker: [] for speaker in turns.labels()}
    left = dict.fromkeys(spans, MOST)
    for segment, track, speaker in turns.itertracks(yield_label=True):
        if confidence.get((segment, track), 1.0) < SUREST:
            continue
        first = np.searchsorted(overlap[:, 1], segment.start + SEGMENT_PRECISION, "right")
        last = np.searchsorted(overlap[:, 0], segment.end - SEGMENT_PRECISION, "left")
        edges = [segment.start, *overlap[first:last].ravel().tolist(), segment.end]
        for start, stop in zip(edges[::2], edges[1::2], strict=True):  # between the overlap
            begin, end = start + EDGE, min(stop - EDGE, start + EDGE + left[speaker])
            if end - begin < shortest:
                continue
            parts = max(1, round((end - begin) / CHUNK))
            spans[speaker] += pairwise(np.linspace(begin, end, parts + 1).tolist())
            left[speaker] -= end - begin
    return spans


def read_spans(recording: Recording, spans: Sequence[Sequence[Span]]) -> list[list[Chunk]]:
    """The samples of spans, seconds in the recording's time, in one pass over its blocks."""
    wanted = [
        (round((begin - recording.start) * SAMPLE_RATE), round((end - begin) * SAMPLE_RATE))
        for own in spans
        for begin, end in own
    ]
    chunks = [np.zeros(length, np.float32) for _, length in wanted]
    at = 0
    for block in recording.blocks():
        for (first, length), chunk in zip(wanted, chunks, strict=True):
            begin, end = max(first, at), min(first + length, at + len(block))
            if begin < end:
                chunk[begin - first : end - first] = block[begin - at : end - at]
        at += len(block)
    rest = iter(chunks)
    return [[next(rest) for _ in own] for own in spans]
