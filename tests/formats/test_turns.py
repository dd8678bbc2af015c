"""Turns to the millisecond."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pyannote.core import Annotation, Segment

from diarize.formats.turns import Turn, written_turns

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
