"""The search itself: which combinations, in which order, and what is made of their scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from diarize.errors import InputError
from diarize.tuning.search import Outcome, Tuning, search

SPACE = {"a": (1, 2, 3), "b": ("x", "y")}
GRID = [{"a": a, "b": b} for a in SPACE["a"] for b in SPACE["b"]]


def run(scores: Any, *, metric: str = "cri", space: Any = SPACE, **options: Any) -> Tuning:
    """Search with two trials whose scores a function of the combination gives."""

    def evaluate(params: Any, step: Any) -> Sequence[float]:
        values = scores(params)
        for _ in values:
            step()
        return values

    given = {"budget": None, "seed": 0, "hook": None, **options}
    return search("ckm", metric, space, evaluate, [1.0, 1.0], **given)


def tried(found: Tuning) -> list[dict[str, Any]]:
    return [dict(outcome.params) for outcome in found.table]


def test_the_whole_grid_is_tried_in_order() -> None:
    found = run(lambda params: [0.5, 0.5])  # all are equal: the order stays
    assert tried(found) == GRID
    assert (found.n_combinations, found.n_trials) == (6, 2)
    assert found.params == GRID[0]


def test_the_best_comes_first_whichever_way_the_metric_points() -> None:
    def value(params: Any) -> list[float]:
        return [params["a"] / 10, params["a"] / 10]

    assert [row["a"] for row in tried(run(value))] == [3, 3, 2, 2, 1, 1]
    assert run(value).score == pytest.approx(0.3)
    assert run(value).params == {"a": 3, "b": "x"}
    assert run(value, metric="der").params == {"a": 1, "b": "x"}


def test_no_option_is_a_grid_of_one() -> None:
    found = run(lambda params: [0.25, 0.75], space={})
    assert tried(found) == [{}]
    assert found.score == 0.5


@pytest.mark.parametrize("budget", [1, 4, 6, 100])
def test_a_budget_is_a_sample_without_repetition(budget: int) -> None:
    samples = [tried(run(lambda params: [0.5, 0.5], budget=budget, seed=seed)) for seed in range(9)]
    first = samples[0]
    assert first == tried(run(lambda params: [0.5, 0.5], budget=budget, seed=0))
    assert len(first) == min(budget, 6)
    assert all(row in GRID for row in first)
    assert sum(first.count(row) for row in first) == len(first)
    assert (samples == [first] * 9) == (budget == 1 or budget >= 6)
    assert all(sample[0] == GRID[0] for sample in samples)  # the defaults, if they stand first


def test_a_grid_too_large_to_be_listed() -> None:
    space = {name: tuple(range(10)) for name in "abcdefghijklmnopqrstuvwxyz"}
    found = run(lambda params: [params["a"] / 10] * 2, space=space, budget=3)
    assert found.n_combinations == 10**26
    assert len(found.table) == 3


def test_mean_and_standard_error() -> None:
    scores = [0.2, 0.4, 0.9]
    plain = Outcome.of({}, scores, [1.0, 1.0, 1.0])
    assert plain.score == pytest.approx(np.mean(scores))
    assert plain.standard_error == pytest.approx(np.std(scores, ddof=1) / math.sqrt(3))
    weighted = Outcome.of({}, [0.1, 0.4], [300.0, 100.0])
    assert weighted.score == pytest.approx((0.1 * 300 + 0.4 * 100) / 400)
    assert math.isnan(Outcome.of({}, [0.3], [1.0]).standard_error)


def test_a_combination_that_cannot_be_used_comes_last_with_its_reason() -> None:
    def some(params: Any) -> list[float]:
        if params["a"] != 2:
            raise ValueError(f"a={params['a']} is odd")
        return [0.1, 0.2]

    found = run(some)
    assert found.params == {"a": 2, "b": "x"}
    assert [outcome.failure for outcome in found.table[:3]] == [None, None, "a=1 is odd"]
    assert math.isnan(found.table[-1].score)


def test_progress_is_complete_also_when_combinations_fail() -> None:
    def some(params: Any) -> list[float]:
        if params["a"] == 2:
            raise ValueError("no")
        return [0.1, 0.2]

    calls: list[tuple[str, float, float]] = []
    run(some, hook=lambda *call: calls.append(call))
    done = [call[1] for call in calls]
    assert done == sorted(done) and done[0] == 0 and done[-1] == 12
    assert {call[0] for call in calls} == {"tuning"} and {call[2] for call in calls} == {12}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"budget": 0}, "a budget is a positive number of combinations, not 0"),
        ({"space": {"a": ()}}, "a: no candidate to try"),
    ],
)
def test_what_cannot_be_searched_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        run(lambda params: [0.5, 0.5], **options)


def test_no_usable_combination_is_an_error() -> None:
    def none(params: Any) -> list[float]:
        raise ValueError("nothing will do")

    with pytest.raises(InputError, match="no combination of options can be used: nothing will do"):
        run(none)
