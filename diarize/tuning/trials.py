"""Options of a clustering, tuned on vectors whose sets are known."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.exceptions import ConvergenceWarning

from diarize import clustering
from diarize.clustering.composition import Compose
from diarize.errors import InputError, require_one_of
from diarize.progress import Hook
from diarize.scatter import Scatter
from diarize.scoring import (
    adjusted_rand_index,
    compositional_rand_index,
    hungarian_accuracy,
    id_cost,
)
from diarize.sets import SpeakerSets
from diarize.tuning.search import Params, Space, Tuning, search

INDICES: dict[str, Callable[[SpeakerSets, SpeakerSets], float]] = {
    "cri": compositional_rand_index,
    "ari": adjusted_rand_index,
    "accuracy": hungarian_accuracy,
    "id-cost": id_cost,
}
"""Metrics that compare sets of rows, of (inferred, truth)."""


@dataclass(frozen=True)
class Trial:
    """Vectors whose sets of speakers are known.

    Attributes:
        name: for messages.
        rows: the vectors.
        truth: their sets.
        scatter: what is known of how the rows of one speaker scatter; None: nothing.

    Raises:
        InputError: there are fewer than two rows, or the truth is of another length.
    """

    name: str
    rows: Float[np.ndarray, "n p"]
    truth: SpeakerSets
    scatter: Scatter | None = None

    def __post_init__(self) -> None:
        if len(self.rows) != len(self.truth):
            raise InputError(
                f"{self.name}: {len(self.rows)} rows, but true sets of {len(self.truth)}"
            )
        if len(self.rows) < 2:
            raise InputError(f"{self.name}: {len(self.rows)} rows, but an index compares two")


def tune(
    backend: str,
    trials: Sequence[Trial],
    *,
    compose: Compose | None,
    max_set_size: int = 2,
    n_speakers: int | None = None,
    space: Space | None = None,
    metric: str = "cri",
    budget: int | None = None,
    seed: int = 0,
    hook: Hook | None = None,
) -> Tuning:
    """Find the options of a backend that score best on the average of trials.

    Args:
        backend: name of a clustering.
        trials: vectors with truth.
        compose: g; None where `max_set_size` is 1.
        max_set_size: d, most speakers of one row.
        n_speakers: how many speakers each trial has; None: each fit infers it, unless `space` says
            otherwise.
        space: options and their candidates; None: those that the backend declares, less the
            penalty on the number of speakers where that is given.
        metric: a key of `INDICES`.
        budget: most combinations tried, drawn by chance where the grid has more; None: all.
        seed: of every fit, and of that drawing.
        hook: called as `hook("tuning", done, total)` now and then.

    Raises:
        ValueError: an unknown backend, option or metric, no trials, or no combination of options
            that can be used.
    """
    require_one_of("metric", metric, INDICES)
    if not trials:
        raise InputError("there are no trials to tune on")
    if space is None:
        space = declared_space(backend, counted=n_speakers is not None)
    common: dict[str, Any] = {"max_set_size": max_set_size, "compose": compose}
    if n_speakers is not None:
        if "n_speakers" in space:
            raise InputError("n_speakers is given, and candidates of it as well")
        common["n_speakers"] = n_speakers
    some = {name: candidates[0] for name, candidates in space.items() if len(candidates)}
    clustering.make(backend, **common, **some)  # refuses options that there are not

    def evaluate(params: Params, step: Callable[[], None]) -> list[float]:
        scores = []
        for trial in trials:
            estimator = clustering.make(
                backend, scatter=trial.scatter, random_state=seed, **common, **params
            )
            with warnings.catch_warnings():  # in a search the score says all
                warnings.simplefilter("ignore", ConvergenceWarning)
                estimator.fit(trial.rows, trial.truth if estimator.needs_truth else None)
            scores.append(INDICES[metric](estimator.sets_, trial.truth))
            step()
        return scores

    weights = [1.0] * len(trials)
    return search(backend, metric, space, evaluate, weights, budget=budget, seed=seed, hook=hook)


def declared_space(backend: str, *, counted: bool) -> dict[str, Sequence[Any]]:
    """What a backend declares as worth tuning."""
    tunables = clustering.make(backend).tunables
    return {
        name: candidates
        for name, candidates in tunables.items()
        if not (counted and name == "count_penalty")
    }
