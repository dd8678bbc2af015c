"""Who holds a stretch, against counting milliseconds one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from diarize.formats.turns import Turn
from diarize.transcripts.holders import holders

SPANS = st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda t: (t[0], t[0] + t[1]))


def of(start: float, end: float, turns: list[Turn]) -> tuple[str, ...]:
    return holders(np.array([[start, end]]), turns)[0]


def test_most_of_it_then_who_else_is_heard() -> None:
    turns = [Turn(0.0, 2.0, "ann"), Turn(1.5, 5.0, "ben")]
    assert of(0.5, 1.0, turns) == ("ann",)
    assert of(1.0, 2.5, turns) == ("ann", "ben")  # a tie of a second, and hers began first
    assert of(1.2, 3.0, turns) == ("ben", "ann")
    assert of(1.6, 1.9, turns) == ("ann", "ben")


def test_the_nearest_turn_where_nobody_speaks() -> None:
    turns = [Turn(5.0, 6.0, "ann"), Turn(8.0, 9.0, "ben"), Turn(20.0, 21.0, "ann")]
    assert of(0.0, 1.0, turns) == ("ann",)
    assert of(6.5, 7.0, turns) == ("ann",)
    assert of(6.9, 7.5, turns) == ("ben",)
    assert of(30.0, 31.0, turns) == ("ann",)
    assert of(8.5, 8.5, turns) == ("ben",)  # a word of no length
    assert holders(np.array([[0.0, 1.0]]), []) == [()]
    assert holders(np.zeros((0, 2)), turns) == []


@settings(max_examples=60)
@given(st.lists(SPANS, max_size=6), st.lists(st.tuples(SPANS, st.sampled_from("abc")), max_size=6))
def test_shares_counted_one_by_one(
    stretches: list[tuple[int, int]], said: list[tuple[tuple[int, int], str]]
) -> None:
    turns = [Turn(start / 10, end / 10, name) for (start, end), name in said if end > start]
    found = holders(np.array(stretches, np.float64).reshape(-1, 2) / 10, turns)
    for (start, end), speakers in zip(stretches, found, strict=True):
        shares = {
            name: sum(
                any(s <= t < e and n == name for (s, e), n in said) for t in range(start, end)
            )
            for name in {turn.speaker for turn in turns}
        }
        heard = {name for name, share in shares.items() if share}
        if heard:
            assert set(speakers) == heard
            assert [shares[name] for name in speakers] == sorted(
                (shares[name] for name in heard), reverse=True
            )
        elif turns:
            away = {t: max(t.start - end / 10, start / 10 - t.end, 0) for t in turns}
            nearest = {t.speaker for t in turns if abs(away[t] - min(away.values())) < 1e-6}
            assert len(speakers) == 1 and speakers[0] in nearest
        else:
            assert speakers == ()
