"""The Jaccard error rate against a literal implementation on exact rationals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyannote.core import Annotation, Segment, Timeline

from diarize.scoring.elements import decompose
from diarize.scoring.jer import jaccard_errors

Turns = list[tuple[str, int, int]]  # speaker, start, end in tenths of a second


def turns(names: str) -> st.SearchStrategy[Turns]:
    turn = st.tuples(st.sampled_from(names), st.integers(0, 60), st.integers(1, 25))
    return st.lists(turn.map(lambda t: (t[0], t[1], t[1] + t[2])), max_size=7)


def annotation(given_turns: Turns) -> Annotation:
    result = Annotation(uri="talk")
    for track, (speaker, start, end) in enumerate(given_turns):
        result[Segment(start / 10, end / 10), track] = speaker
    return result


def tenths(given_turns: Turns, region: tuple[int, int]) -> dict[str, set[int]]:
    """The tenths of a second in which each speaker speaks; speakers without any are left out."""
    spoken: dict[str, set[int]] = {}
    for name, start, end in given_turns:
        spoken.setdefault(name, set()).update(set(range(start, end)) & set(range(*region)))
    return {name: time for name, time in spoken.items() if time}


def literal_jer(reference: Turns, hypothesis: Turns, region: tuple[int, int]) -> Fraction | None:
    """Mean over reference speakers of (missed + false alarm) / union, under the best pairing."""
    said, heard = tenths(reference, region), tenths(hypothesis, region)
    if not said:
        return None
    partners = [*heard.values(), *[None] * len(said)]
    best = Fraction(len(said))
    for chosen in set(itertools.permutations(range(len(partners)), len(said))):
        total = Fraction(0)
        for time, index in zip(said.values(), chosen, strict=True):
            other = partners[index]
            if other is None:
                total += 1
            else:
                total += Fraction(len(time ^ other), len(time | other))
        best = min(best, total)
    return best / len(said)


@settings(max_examples=80, deadline=None)
@given(
    turns("ABC"),
    turns("wxyz"),
    st.tuples(st.integers(0, 50), st.integers(1, 90)).map(lambda t: (t[0], t[0] + t[1])),
)
def test_equals_the_literal_definition(
    reference: Turns, hypothesis: Turns, region: tuple[int, int]
) -> None:
    uem = Timeline([Segment(region[0] / 10, region[1] / 10)])
    errors = jaccard_errors(decompose(annotation(reference), annotation(hypothesis), uem))
    expected = literal_jer(reference, hypothesis, region)
    if expected is None:
        assert len(errors) == 0
    else:
        assert errors.mean() == pytest.approx(float(expected), abs=1e-12)


def test_collar_and_overlap_do_not_matter() -> None:
    reference = annotation([("A", 0, 50), ("B", 30, 60)])
    hypothesis = annotation([("x", 0, 40)])
    free = jaccard_errors(decompose(reference, hypothesis))
    bound = jaccard_errors(decompose(reference, hypothesis, collar=1.0, skip_overlap=True))
    assert free.tolist() == bound.tolist() == pytest.approx([0.2, 1.0])
