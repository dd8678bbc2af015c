"""Tuning on vectors with truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diarize.clustering import BACKENDS, make
from diarize.errors import InputError
from diarize.scoring import adjusted_rand_index, compositional_rand_index
from diarize.sets import SpeakerSets
from diarize.tuning import Trial, Tuning, tune

TRUTH = SpeakerSets.from_lists([[0]] * 6 + [[1]] * 6 + [[2]] * 6 + [[0, 1]] * 4)


def trial(seed: int) -> Trial:
    """Three speakers and a mixture of two, in five dimensions."""
    noise = np.random.default_rng(seed).normal(0, 0.05, (len(TRUTH), 5))
    return Trial(f"t{seed}", TRUTH.membership @ np.eye(3, 5) + noise, TRUTH)


TRIALS = [trial(seed) for seed in range(2)]


def tuned(backend: str, **options: Any) -> Tuning:
    return tune(backend, TRIALS, **{"compose": np.maximum, **options})


def test_the_score_is_that_of_the_clustering_itself() -> None:
    for metric, index in (("cri", compositional_rand_index), ("ari", adjusted_rand_index)):
        found = tuned("gcr", space={"n_base_clusters": (3, 4), "threshold": (0.3,)}, metric=metric)
        for outcome in found.table:
            scores = [
                index(make("gcr", compose=np.maximum, **outcome.params).fit(t.rows).sets_, t.truth)
                for t in TRIALS
            ]
            assert outcome.score == pytest.approx(np.mean(scores))
        assert found.params == {"n_base_clusters": 4, "threshold": 0.3}
        assert found.score == 1.0
        assert (found.backend, found.metric) == ("gcr", metric)


def test_the_cost_of_wrong_ids_is_as_low_as_can_be() -> None:
    space = {"n_base_clusters": (3, 4), "threshold": (0.3,)}
    for metric, best in (("id-cost", 0.0), ("accuracy", 1.0)):
        found = tuned("gcr", space=space, metric=metric)
        assert found.params == {"n_base_clusters": 4, "threshold": 0.3}
        assert found.score == best


def test_declared_candidates_are_the_space() -> None:
    found = tuned("ac", max_set_size=1, compose=None)
    tunables = make("ac").tunables
    assert [outcome.params.keys() for outcome in found.table] == [tunables.keys()] * len(
        tunables["distance_threshold"]
    )


def test_a_given_number_needs_no_penalty_on_numbers() -> None:
    found = tuned("ckm", n_speakers=3, budget=2)
    assert found.n_combinations == len(make("ckm").tunables["set_penalty"])
    assert all(outcome.params.keys() == {"set_penalty"} for outcome in found.table)


def test_the_number_of_speakers_may_be_tuned_by_name() -> None:
    space = {"n_speakers": (2, 3), "n_restarts": (8,)}
    assert tuned("ckm", space=space).params == {"n_speakers": 3, "n_restarts": 8}


def test_one_seed_one_answer() -> None:
    space = {"set_penalty": (0.0, 0.2), "n_restarts": (2,)}
    first, again = (tuned("ckm", space=space, n_speakers=3, seed=3) for _ in range(2))
    assert first == again


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_every_backend_can_be_tuned(backend: str) -> None:
    found = tuned(backend, budget=1, n_speakers=3)
    assert 0 <= found.score <= 1
    if make(backend).needs_truth and not make(backend).tunables:
        assert found.params == {}


def test_a_combination_that_contradicts_the_trials_is_passed_over() -> None:
    found = tuned("gcr", n_speakers=3, space={"n_base_clusters": (2, 4)})
    assert found.params == {"n_base_clusters": 4}
    assert found.table[1].failure is not None


@pytest.mark.parametrize(
    ("backend", "options", "reason"),
    [
        ("ckn", {}, "did you mean ckm"),
        ("ckm", {"space": {"set_penalties": (1,)}}, "did you mean set_penalty"),
        ("ckm", {"metric": "der"}, "metric der: not one of cri, ari"),
        ("ckm", {"compose": None}, "needs a composition function"),
        ("ckm", {"n_speakers": 3, "space": {"n_speakers": (2,)}}, "n_speakers is given"),
    ],
)
def test_what_cannot_be_tuned_is_refused(
    backend: str, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        tuned(backend, **options)


def test_trials_that_cannot_be_used() -> None:
    with pytest.raises(InputError, match="there are no trials"):
        tune("ckm", [], compose=np.maximum)
    with pytest.raises(InputError, match="t: 22 rows, but true sets of 3"):
        Trial("t", TRIALS[0].rows, TRUTH[:3])
    with pytest.raises(InputError, match="t: 1 rows, but an index compares two"):
        Trial("t", TRIALS[0].rows[:1], TRUTH[:1])
