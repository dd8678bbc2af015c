"""What single speakers say: which stretches of a first pass are believed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyannote.core import Annotation, Segment, Timeline

from diarize.audio import open_recording
from diarize.pipeline import Diarizer
from diarize.timeline import Diarization
from diarize.training.single_speaker import (
    CHUNK,
    EDGE,
    MOST,
    SUREST,
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
    spans = single_speaker_spans(found.annotation, found.confidence)
    assert list(spans) == ["a", "b"]
    assert spans["a"] == [pytest.approx((0.1, 2.9))]
    edges = [12.1, 12.1 + 7.8 / 3, 12.1 + 2 * 7.8 / 3, 19.9]
    assert spans["b"] == [pytest.approx((begin, end)) for begin, end in pairwise(edges)]


def test_a_speaker_is_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diarize.training.single_speaker.MOST", 4.0)
    spans = single_speaker_spans(diarization((0.0, 30.0, "a", 1.0)).annotation)
    assert sum(end - begin for begin, end in spans["a"]) == pytest.approx(4.0)


@given(
    st.lists(
        st.tuples(st.integers(0, 200), st.integers(1, 80), st.sampled_from("abc"), st.booleans()),
        max_size=25,
    ),
    st.sampled_from([0.1, 0.37]),
)
def test_spans_are_those_of_each_turn_without_the_overlap(
    turns: list[tuple[int, int, str, bool]], unit: float
) -> None:
    said, confidence = Annotation(), {}
    for number, (begin, length, name, sure) in enumerate(turns):
        track = str(number)
        segment = Segment(begin * unit, begin * unit + length * unit)
        said[segment, track] = name
        confidence[segment, track] = 0.9 if sure else 0.5
    expected: dict[str, list[tuple[float, float]]] = {name: [] for name in said.labels()}
    left = dict.fromkeys(expected, MOST)
    for segment, track, name in said.itertracks(yield_label=True):
        if confidence[segment, track] < SUREST:
            continue
        for alone in Timeline([segment]).extrude(said.get_overlap()):
            begin, end = alone.start + EDGE, min(alone.end - EDGE, alone.start + EDGE + left[name])
            if end - begin >= 0.5:
                parts = max(1, round((end - begin) / CHUNK))
                expected[name] += pairwise(np.linspace(begin, end, parts + 1).tolist())
                left[name] -= end - begin
    assert single_speaker_spans(said, confidence, 0.5) == expected


def test_overlap_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    found = diarization(*((2.5 * n, 2.5 * n + 3.0, "abcd"[n % 4], 1.0) for n in range(8)))
    overlap = Annotation.get_overlap
    monkeypatch.setattr(
        Annotation, "get_overlap", lambda turns: looked.append(turns) or overlap(turns)
    )
    recording = open_recording((np.zeros(16_000 * 25, np.float32), 16_000))
    heard = single_speaker_speech(recording, found.annotation, least=1.0)
    assert len(heard.speakers) == 4
    assert looked == [found.annotation]


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
