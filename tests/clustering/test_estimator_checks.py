"""Every backend of the table passes scikit-learn's own checks of an estimator."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from diarize.clustering import BACKENDS, make

FAST = {
    "ckm": {"n_restarts": 2, "max_speakers": 3},
    "fcm": {"n_restarts": 2, "max_speakers": 3},
    "gmm": {"max_speakers": 3},
    "ca": {"max_speakers": 3},
    "dpgmm": {"n_iter": 5},
}

OPTIONS = "check_do_not_raise_errors_in_init_or_set_params"


def differs_by_design(model):
    """The checks that a backend has to fail, each with its reason."""
    checks = {
        "check_estimators_empty_data_messages": "no speech is no rows, and no speakers",
        OPTIONS: "the types that all tests check; without them it is run below",
    }
    if model.needs_truth:
        checks["check_clustering"] = "it fits without y, and the truth is nothing but y"
    return checks


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [make(name, max_set_size=1, **FAST.get(name, {})) for name in BACKENDS],
    expected_failed_checks=differs_by_design,
)
def test_scikit_learn_finds_an_estimator(estimator, check):
    check(estimator)


def test_options_are_looked_at_by_fit_alone():
    code = (
        f"from sklearn.utils.estimator_checks import {OPTIONS} as check\n"
        "from diarize.clustering import BACKENDS, make\n"
        "for name in BACKENDS: check(name, make(name))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
