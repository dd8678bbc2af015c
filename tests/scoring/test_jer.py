"""The Jaccard error rate against a literal implementation on exact rationals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.scoring import score_files
from diarize.scoring.elements import decompose
from diarize.scoring.jer import jaccard_errors

from .drawn import annotation


def test_collar_and_overlap_do_not_matter() -> None:
    reference = annotation([("A", 0, 50), ("B", 30, 60)])
    hypothesis = annotation([("x", 0, 40)])
    free = jaccard_errors(decompose(reference, hypothesis))
    bound = jaccard_errors(decompose(reference, hypothesis, collar=1.0, skip_overlap=True))
    assert free.tolist() == bound.tolist() == pytest.approx([0.2, 1.0])


def spoken(
    given_turns: list[tuple[str, Fraction, Fraction]],
) -> dict[str, list[tuple[Fraction, Fraction]]]:
    """The disjoint stretches of each speaker's speech; turns without length are none."""
    stretches: dict[str, list[tuple[Fraction, Fraction]]] = {}
    for name, start, end in sorted(given_turns, key=lambda turn: turn[1]):
        own = stretches.setdefault(name, [])
        if own and start <= own[-1][1]:
            own[-1] = (own[-1][0], max(own[-1][1], end))
        elif start < end:
            own.append((start, end))
    return {name: own for name, own in stretches.items() if own}


def exact_jer(reference: list, hypothesis: list) -> list[Fraction]:
    """The errors of the reference speakers under the best pairing, in any order."""
    said, heard = list(spoken(reference).values()), list(spoken(hypothesis).values())
    errors: dict[tuple[int, int], Fraction] = {}
    for (row, ours), (column, theirs) in itertools.product(enumerate(said), enumerate(heard)):
        shared = sum(
            (max(min(e, f) - max(s, t), Fraction(0)) for s, e in ours for t, f in theirs),
            Fraction(0),
        )
        either = sum((e - s for s, e in ours + theirs), Fraction(0)) - shared
        errors[row, column] = 1 - shared / either
    columns = [*range(len(heard)), *[-1] * len(said)]
    pairings = set(itertools.permutations(columns, len(said)))
    costs = [
        [errors.get((row, column), Fraction(1)) for row, column in enumerate(pairing)]
        for pairing in pairings
    ]
    return min(costs, key=sum)


def draw_turns(generator: np.random.Generator, names: str) -> list[tuple[str, Fraction, Fraction]]:
    """Six turns of some of the speakers, or of none; boundaries are whole microseconds."""
    some = names[: generator.integers(0, len(names) + 1)]
    turns = []
    for _ in range(6 if some else 0):
        start = Fraction(int(generator.integers(10**8)), 10**6)
        # 2: pyannote.core takes a single microsecond for no length.
        length = Fraction(int(generator.choice([0, 2, 10**3, 10**7, 3 * 10**7])), 10**6)
        turns.append((some[generator.integers(len(some))], start, start + length))
    return turns


def test_equals_dscore_on_exact_rationals(
    effort: int, record_property: Callable[[str, object], None]
) -> None:
    generator = np.random.default_rng(0)
    cases, largest = 100 * effort, 0.0
    references, hypotheses, exact = {}, {}, {}
    for case in range(cases):
        drawn = [draw_turns(generator, "ABC"), draw_turns(generator, "wxy")]
        uri = f"talk{case}"
        exact[uri] = exact_jer(*drawn)
        for found, said in zip((references, hypotheses), drawn, strict=True):
            found[uri] = Annotation(uri=uri)
            for track, (name, start, end) in enumerate(said):
                found[uri][Segment(float(start), float(end)), track] = name
    report = score_files(references, hypotheses)
    for uri, errors in exact.items():
        ours = report.files[uri].jer
        if not errors:  # dscore: 100 with, 0 without a hypothesis; not in the total either way
            assert ours is None
            continue
        assert ours is not None
        largest = max(largest, abs(ours - float(sum(errors) / len(errors))))
    every = [error for errors in exact.values() for error in errors]
    assert report.total.jer == pytest.approx(float(sum(every) / len(every)), abs=1e-12)
    assert largest < 1e-12
    record_property(
        "figure", f"JER on exact rationals: {cases} random pairs, largest difference {largest:.1e}"
    )
