"""Turns to the millisecond."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyannote.core import Annotation, Segment, Timeline

from diarize.formats.turns import (
    Turn,
    annotated,
    exclusive,
    turns_of,
    written_tiers,
    written_turns,
)

TURNS = st.lists(
    st.tuples(st.floats(0, 100), st.floats(0.0001, 20), st.sampled_from("ab")), max_size=8
)


def annotate(turns: list[tuple[float, float, str]]) -> Annotation:
    annotation = Annotation()
    for number, (start, duration, speaker) in enumerate(turns):
        annotation[Segment(start, start + duration), number] = speaker
    return annotation


def test_rounding_and_order() -> None:
    turns = [(1.0, 0.5, "b"), (0.0005, 0.9999, "a"), (1.0, 0.5, "a"), (3.0, 0.0009, "a")]
    assert written_turns(annotate(turns)) == [
        Turn(0.001, 1.0, "a"), Turn(1.0, 1.5, "a"), Turn(1.0, 1.5, "b")
    ]  # fmt: skip


def test_a_millisecond_is_a_turn() -> None:
    turns = [(0.0015, 0.001, "a"), (1.0, 0.001, "a"), (2.0004, 0.001, "a"), (3.0, 0.00099, "a")]
    assert written_turns(annotate(turns)) == [
        Turn(0.002, 0.003, "a"), Turn(1.0, 1.001, "a"), Turn(2.0, 2.001, "a")
    ]  # fmt: skip


def test_what_lies_before_the_recording_is_left_out() -> None:
    turns = [(-0.5, 1.5, "a"), (-2.0, 1.0, "b"), (-1.0, 1.0, "c"), (-0.001, 0.002, "d")]
    assert written_turns(annotate(turns)) == [Turn(0.0, 0.001, "d"), Turn(0.0, 1.0, "a")]


@given(TURNS)
def test_all_is_within_half_a_millisecond(turns: list[tuple[float, float, str]]) -> None:
    written = written_turns(annotate(turns))
    long_enough = [turn for turn in turns if turn[1] >= 0.0011]
    assert len(long_enough) <= len(written) <= len(turns)
    for start, duration, speaker in long_enough:
        assert any(
            turn.speaker == speaker
            and abs(turn.start - start) <= 0.000501
            and abs(turn.end - start - duration) <= 0.0011
            for turn in written
        )
    for turn in written:
        assert turn.end - turn.start > 0.0009
        assert round(turn.start * 1000) / 1000 == turn.start


@given(st.floats(0, 1000), st.floats(0.01, 10), st.floats(0.01, 10))
def test_turns_that_touch_still_touch(start: float, first: float, second: float) -> None:
    annotation = Annotation()
    annotation[Segment(start, start + first)] = "a"
    annotation[Segment(start + first, start + first + second)] = "b"
    one, two = written_turns(annotation)
    assert one.end == two.start


@given(TURNS)
def test_tiers_are_disjoint_and_hold_all(turns: list[tuple[float, float, str]]) -> None:
    annotation = annotate(turns)
    tiers = written_tiers(annotation)
    for speaker, tier in tiers.items():
        assert all(a.end <= b.start for a, b in pairwise(tier))
        assert {turn.speaker for turn in tier} == {speaker}
        own = Timeline(
            Segment(t.start, t.end) for t in written_turns(annotation) if t[2] == speaker
        )
        assert sum(t.end - t.start for t in tier) == pytest.approx(own.support().duration())


def test_tiers_in_order_of_appearance() -> None:
    annotation = annotate([(3.0, 1.0, "a"), (1.0, 1.0, "b\nc"), (2.0, 0.5, "b c"), (4, 2, "a")])
    assert written_tiers(annotation) == {
        "b c": [Turn(1.0, 2.0, "b c"), Turn(2.0, 2.5, "b c")],
        "a": [Turn(3.0, 4.0, "a"), Turn(4.0, 6.0, "a")],
    }


def test_turns_as_an_annotation() -> None:
    turns = [Turn(1.0, 2.0, "a", 0.5), Turn(1.0, 2.0, "a"), Turn(3.0, 3.0, "b")]
    annotation, confidence = annotated(turns, "talk")
    assert annotation.uri == "talk"
    assert sorted(map(str, written_turns(annotation, confidence))) == sorted(map(str, turns[:2]))


def test_each_instant_to_one_speaker() -> None:
    turns = [
        Turn(0.0, 4.0, "a"), Turn(1.0, 2.0, "b"), Turn(3.0, 6.0, "c", 0.5), Turn(8.0, 9.0, "b"),
        Turn(8.0, 9.5, "c"),
    ]  # fmt: skip
    assert exclusive(turns[::-1]) == [
        Turn(0.0, 4.0, "a"), Turn(4.0, 6.0, "c", 0.5), Turn(8.0, 9.5, "c")
    ]  # fmt: skip


@given(TURNS)
def test_exclusive_turns_hold_all_speech_once(given: list[tuple[float, float, str]]) -> None:
    turns = written_turns(annotate(given))
    alone = exclusive(turns)
    assert all(a.end <= b.start for a, b in pairwise(alone))
    assert all(turn.end > turn.start for turn in alone)
    speech = Timeline(Segment(turn.start, turn.end) for turn in turns).support().duration()
    assert sum(turn.end - turn.start for turn in alone) == pytest.approx(speech)
    for turn in alone:  # by somebody who did speak
        assert any(t.speaker == turn.speaker and t.start <= turn.start <= t.end for t in turns)


def test_the_turns_of_a_recording_may_be_none() -> None:
    assert turns_of({"a": [], "b": [1]}, "a") == []
    assert turns_of({"a": [], "b": [1]}, "c") is None
    assert turns_of({"b": [1]}, "c") == [1]
