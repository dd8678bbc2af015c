from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from diarize.streaming.turns import by_sets


def test_overlap_is_a_stretch_of_its_own() -> None:
    found = [(0.0, 4.0, "a"), (3.0, 6.0, "b"), (7.0, 8.0, "a")]
    assert list(by_sets(found, 1.0, 7.5)) == [
        (1.0, 3.0, {"a"}),
        (3.0, 4.0, {"a", "b"}),
        (4.0, 6.0, {"b"}),
        (7.0, 7.5, {"a"}),
    ]


times = st.integers(0, 12)


@given(st.lists(st.tuples(times, times, st.sampled_from("abc")), max_size=8), times, times)
def test_every_instant_has_its_set(found: list[tuple[int, int, str]], begin: int, end: int) -> None:
    stretches = list(by_sets([(float(b), float(e), n) for b, e, n in found], begin, end))
    for before, after in pairwise(stretches):
        assert before[1] <= after[0]
        assert before[1] < after[0] or before[2] != after[2]
    for time in (i + 0.5 for i in range(12)):
        expected = {n for b, e, n in found if b <= time < e and begin <= time < end}
        told = [names for b, e, names in stretches if b <= time < e]
        assert told == ([expected] if expected else [])
