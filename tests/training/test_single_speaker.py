"""What single speakers say: which stretches of a first pass are believed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.audio import open_recording
from diarize.pipeline import Diarizer
from diarize.timeline import Diarization
from diarize.training.single_speaker import (
    SingleSpeakerSpeech,
    read_spans,
    single_speaker_spans,
    single_speaker_speech,
)


def diarization(*turns: tuple[float, float, str, float]) -> Diarization:
    annotation = Annotation(uri="x")
    confidence = {}
    for begin, end, name, sure in turns:
        annotation[Segment(begin, end), name] = name
        confidence[(Segment(begin, end), name)] = sure
    return Diarization(annotation, np.zeros((0, 2)), 0, 60.0, "cpu", confidence=confidence)


def test_sure_turns_without_overlap_and_edges() -> None:
    found = diarization(
        (0.0, 4.0, "a", 0.9), (3.0, 5.0, "b", 0.9), (6.0, 9.0, "a", 0.5), (10.0, 11.5, "a", 0.9),
        (12.0, 20.0, "b", 0.9),
    )  # fmt: skip
    # Overlap and an unsure turn are left out; what is left of 10 to 11.5 is too short.
    assert single_speaker_spans(found.annotation, "a", found.confidence) == [
        pytest.approx((0.1, 2.9))
    ]
    edges = [12.1, 12.1 + 7.8 / 3, 12.1 + 2 * 7.8 / 3, 19.9]
    assert single_speaker_spans(found.annotation, "b", found.confidence) == [
        pytest.approx((begin, end)) for begin, end in pairwise(edges)
    ]


def test_a_speaker_is_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diarize.training.single_speaker.MOST", 4.0)
    spans = single_speaker_spans(diarization((0.0, 30.0, "a", 1.0)).annotation, "a")
    assert sum(end - begin for begin, end in spans) == pytest.approx(4.0)


def test_samples_of_spans() -> None:
    samples = np.linspace(-1, 1, 16_000 * 70, dtype=np.float32)  # longer than two blocks
    recording = open_recording((samples, 16_000), start=5.0)
    (first,), (second, third) = read_spans(recording, [[(29.0, 36.0)], [(5.0, 6.0), (64.0, 69.9)]])
    for chunk, begin in ((first, 29.0), (second, 5.0), (third, 64.0)):
        begin = round(begin * 16_000)
        assert np.array_equal(chunk, samples[begin : begin + len(chunk)])
    assert [len(c) for c in (first, second, third)] == [112_000, 16_000, 94_400]


def test_splitting_leaves_every_third_chunk_for_the_identification_test() -> None:
    chunks = [np.full(10, i, np.float32) for i in range(7)]
    heard = SingleSpeakerSpeech("x", (tuple(chunks), tuple(chunks[:2]), tuple(chunks[:1])))
    enrolled, probed = heard.split()
    assert [[int(c[0]) for c in own] for own in enrolled.speakers] == [[0, 1, 3, 4, 6], [0], [0]]
    assert [[int(c[0]) for c in own] for own in probed.speakers] == [[2, 5], [1], []]
    assert heard.seconds == 100 / 16_000


def test_the_bundled_conversation(talk) -> None:
    recording = open_recording(talk)
    found = Diarizer(backend="ac").diarize(recording)
    heard = single_speaker_speech(recording, found.annotation, found.confidence)
    assert heard.uri == "talk"
    assert 0 < heard.seconds < 12
    assert all(sum(map(len, own)) >= 5 * 16_000 - 2 for own in heard.speakers)
