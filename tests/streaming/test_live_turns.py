"""Turns as they were said, and the names in them."""

from __future__ import annotations

from pyannote.core import Annotation, Segment

from diarize.streaming.live_turns import LiveTurns


def test_a_turn_that_goes_on_is_one() -> None:
    said = LiveTurns()
    for begin, end, number in [(0.0, 1.0, 7), (1.0, 2.0, 7), (2.0, 3.0, 4), (4.0, 5.0, 4)]:
        turn = said.say(begin, end, {number})
        assert (turn.start, turn.end, turn.final) == (begin, end, False)
    first, second = ("LIVE_00",), ("LIVE_01",)
    assert said.turns == [(0.0, 2.0, first), (2.0, 3.0, second), (4.0, 5.0, second)]


def test_names_are_told_of_that_are_one_and_heard() -> None:
    said = LiveTurns()
    said.say(0.0, 1.0, {3})
    said.say(1.0, 2.0, {3, 5})
    said.say(2.0, 3.0, {8})
    assert said.merged({}) == {} and said.merged({8: 9}) == {}  # nobody ever heard 9
    merged = said.merged({8: 9, 9: 5})
    assert merged == {"LIVE_02": "LIVE_01"}
    now = said.annotation("talk", merged)
    assert now.uri == "talk"
    assert now.label_timeline("LIVE_01").support().duration() == 2.0
    assert len(said.annotation("talk", {}).labels()) == 3


def test_each_name_has_the_final_speaker_that_shares_most_time() -> None:
    said = LiveTurns()
    said.say(0.0, 4.0, {0})
    said.say(8.0, 9.0, {1})
    final = Annotation()
    final[Segment(0, 1), 0], final[Segment(1, 4), 1] = "SPEAKER_00", "SPEAKER_01"
    assert said.nearest(final) == {"LIVE_00": "SPEAKER_01", "LIVE_01": None}
    assert LiveTurns().nearest(final) == {}
