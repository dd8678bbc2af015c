"""A search over combinations of options: all of them, or a sample drawn by chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from diarize.errors import InputError
from diarize.progress import Hook

Params = Mapping[str, Any]
Space = Mapping[str, Sequence[Any]]
"""Option -> its candidates."""

METRICS = {"cri": True, "ari": True, "accuracy": True, "id-cost": False, "der": False}
"""What can be optimised -> whether more of it is better."""


@dataclass(frozen=True)
class Outcome:
    """How one combination of options did.

    Attributes:
        params: the options.
        score: mean over trials; NaN where the combination cannot be used.
        standard_error: of that mean; NaN with fewer than two trials.
        failure: why it cannot be used, in one line; None where it can.
    """

    params: Params
    score: float
    standard_error: float
    failure: str | None = None

    @classmethod
    def of(cls, params: Params, scores: Sequence[float], weights: Sequence[float]) -> Outcome:
        """From the scores of all trials; the weights say how much each counts."""
        values = np.asarray(scores, np.float64)
        shares = np.asarray(weights, np.float64) / np.sum(weights)
        mean = float(shares @ values)
        n = len(values)
        # Of a ratio of sums; with equal weights the deviation of the mean, as it is known.
        error = math.nan
        if n > 1:
            error = math.sqrt(n / (n - 1) * ((shares * (values - mean)) ** 2).sum())
        return cls(params, mean, error)


@dataclass(frozen=True)
class Tuning:
    """What a search found.

    Attributes:
        backend: whose options they are.
        metric: what was optimised, a key of `METRICS`.
        table: every combination that was tried, the best first; of equals, the one that comes
            first in the grid.
        n_combinations: how many the whole grid has.
        n_trials: over how many trials each score is the mean.
    """

    backend: str
    metric: str
    table: tuple[Outcome, ...]
    n_combinations: int
    n_trials: int

    @property
    def params(self) -> dict[str, Any]:
        """The best combination."""
        return dict(self.table[0].params)

    @property
    def score(self) -> float:
        """Mean score of the best combination."""
        return self.table[0].score


def search(
    backend: str,
    metric: str,
    space: Space,
    evaluate: Callable[[Params, Callable[[], None]], Sequence[float]],
    weights: Sequence[float],
    *,
    budget: int | None,
    seed: int,
    hook: Hook | None,
) -> Tuning:
    """Score combinations of a space.

    Args:
        backend: for the answer.
        metric: one of `METRICS`.
        space: candidates of each option; combinations are tried in an order in which the last
            option changes fastest.
        evaluate: gives the score of each trial for a combination, and calls what it is given after
            every trial; a ValueError says that the combination cannot be used.
        weights: how much each trial counts.
        budget: most combinations tried; None: all. Where it does not cover the grid, the first
            combination is among them (the defaults, if they stand first), the others are drawn.
        seed: of that drawing.
        hook: called as `hook("tuning", done, total)`, in trials.

    Raises:
        InputError: an option has no candidate, the budget is no positive number, or no combination
            can be used.
    """
    empty = next((name for name, candidates in space.items() if not len(candidates)), None)
    if empty is not None:
        raise InputError(f"{empty}: no candidate to try")
    if budget is not None and budget < 1:
        raise InputError(f"a budget is a positive number of combinations, not {budget}")
    total = math.prod(len(candidates) for candidates in space.values())
    chosen = range(total) if budget is None or budget >= total else _sample(total, budget, seed)
    steps = _Steps(hook, len(chosen) * len(weights))
    outcomes = []
    for number, params in enumerate(_combinations(space, chosen)):
        steps.reach(number * len(weights))
        try:
            outcomes.append(Outcome.of(params, evaluate(params, steps.step), weights))
        except ValueError as error:
            outcomes.append(Outcome(params, math.nan, math.nan, str(error)))
    steps.reach(steps.total)
    usable = [outcome for outcome in outcomes if outcome.failure is None]
    if not usable:
        raise InputError(f"no combination of options can be used: {outcomes[0].failure}")
    best_first = sorted(
        usable, key=lambda outcome: outcome.score, reverse=METRICS[metric]
    )  # stable, also when reversed
    failed = [outcome for outcome in outcomes if outcome.failure is not None]
    return Tuning(backend, metric, (*best_first, *failed), total, len(weights))


class _Steps:
    """Progress in trials."""

    def __init__(self, hook: Hook | None, total: int) -> None:
        self.hook, self.done, self.total = hook, 0, total

    def reach(self, done: int) -> None:
        self.done = done
        if self.hook:
            self.hook("tuning", done, self.total)

    def step(self) -> None:
        self.reach(self.done + 1)


def _sample(total: int, size: int, seed: int) -> Sequence[int]:
    """0 and other numbers below `total`, ascending; the grid may be too large to be listed."""
    draw, numbers = Random(seed), {0}
    while len(numbers) < size:
        numbers.add(draw.randrange(total))
    return sorted(numbers)


def _combinations(space: Space, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The combinations of these numbers, the last option changing fastest."""
    for number in numbers:
        chosen = []
        for name, candidates in reversed(list(space.items())):
            number, place = divmod(number, len(candidates))
            chosen.append((name, candidates[place]))
        yield dict(reversed(chosen))
