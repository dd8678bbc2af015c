"""Every backend of the table keeps the contract."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from diarize.clustering import BACKENDS, describe, make
from diarize.scatter import Axes, Scatter
from diarize.sets import SpeakerSets

from .conftest import unit, unit_mean

FAST = {"ckm": {"n_restarts": 8}, "dpgmm": {"n_iter": 20, "n_chains": 2}}
COMPOSING = {"ckm", "gcr", "cap"}  # the others may overlook mixtures
COMMON = {
    "n_speakers", "min_speakers", "max_speakers", "max_set_size", "compose", "scatter",
    "random_state",
}  # fmt: skip

AXES = Axes(np.zeros(5), np.eye(2, 5), np.eye(2), 2 * np.eye(2))
SPEECH = Scatter(0.38, 25.0, axes=AXES)

backends = pytest.mark.parametrize("name", sorted(BACKENDS))


def build(name, **params):
    return make(name, **{"compose": unit_mean, "random_state": 0, **FAST.get(name, {}), **params})


def fit(model, rows, truth=None):
    return model.fit(rows, truth) if model.needs_truth else model.fit(rows)


@backends
def test_fit_returns_itself_with_everything_learned(name, make_world):
    world = make_world(share=0.0 if name == "osc" else 0.3)
    model = build(name, n_speakers=3)
    assert fit(model, world.rows, world.truth) is model
    assert isinstance(model.sets_, SpeakerSets)
    assert len(model.sets_) == len(world.rows)
    assert model.sets_ == model.sets_.by_first_appearance()
    assert np.array_equal(model.labels_, model.sets_.labels)
    assert model.n_speakers_ == model.sets_.n_speakers == 3
    assert model.centroids_.shape == (3, 16)
    assert model.n_features_in_ == 16
    assert model.sampled_ is None
    labels = model.fit_predict(world.rows, world.truth)
    assert np.array_equal(labels, model.labels_)


@backends
def test_centroids_belong_to_their_speakers(name, make_world):
    world = make_world(share=0.2)
    model = fit(build(name, n_speakers=3), world.rows, world.truth)
    for speaker, centroid in enumerate(model.centroids_):
        alone = model.sets_.membership[:, speaker] & (model.sets_.sizes == 1)
        assert np.allclose(unit(world.rows[alone].mean(axis=0)), unit(centroid), atol=0.1)


@backends
def test_speakers_who_leave_give_their_rows_to_others(name, make_world):
    world = make_world(share=0.0)
    model = fit(build(name, n_speakers=3, max_set_size=1), world.rows, world.truth)
    stay = model.moved_to(world.rows, model.centroids_)
    assert stay.sets_ == model.sets_
    two = model.moved_to(world.rows, model.centroids_[1:])
    assert model.n_speakers_ == 3
    assert two.n_speakers == two.n_speakers_ == 2
    kept = model.sets_.membership[:, 0] == 0
    assert two.sets_[kept].by_first_appearance() == model.sets_[kept].by_first_appearance()
    assert (two.sets_.sizes > 0).all()


@backends
def test_who_is_nowhere_nearest_holds_a_row_all_the_same(name, make_world):
    world = make_world(share=0.0)
    model = fit(build(name, n_speakers=3, max_set_size=1), world.rows, world.truth)
    far = unit(-world.rows.mean(axis=0))
    assert model.moved_to(world.rows, np.stack([*model.centroids_, far])).n_speakers_ == 4
    two = np.stack([*model.centroids_, far, far])
    assert model.moved_to(world.rows, two).n_speakers_ == 5


@backends
def test_nobody_takes_the_only_row_of_another(name, make_world):
    world = make_world(share=0.0)
    model = fit(build(name, n_speakers=3, max_set_size=1), world.rows, world.truth)
    rows = unit(np.array([[1.0, 0.0, 0.0], *([[0.0, 1.0, 0.0]] * 5)]))
    near = unit(np.array([[1.0, 0.0, 0.0], [1.0, 0.01, 0.0], [0.0, 1.0, 0.0]]))
    assert model.moved_to(rows, near).n_speakers_ == 3


@backends
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_seed_one_answer(name, dtype, make_world):
    world = make_world(n=40, noise=0.8, dtype=dtype)
    first, second = (fit(build(name, max_speakers=4), world.rows, world.truth) for _ in range(2))
    assert first.sets_ == second.sets_
    assert np.array_equal(first.centroids_, second.centroids_)


@backends
def test_bounds_on_speakers_bind(name, make_world):
    world = make_world(n=60, k=3)
    if build(name).needs_truth:
        return  # the truth wins
    for k in (1, 2, 5):
        assert fit(build(name, n_speakers=k), world.rows).n_speakers_ == k
    assert fit(build(name, max_speakers=2), world.rows).n_speakers_ <= 2
    assert fit(build(name, min_speakers=5, max_speakers=6), world.rows).n_speakers_ >= 5
    bounded = fit(build(name, min_speakers=2, max_speakers=3), world.rows)
    assert 2 <= bounded.n_speakers_ <= 3
    agreed = fit(build(name, n_speakers=2, min_speakers=1, max_speakers=4), world.rows)
    assert agreed.n_speakers_ == 2


@backends
@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"min_speakers": 3, "max_speakers": 2}, "min_speakers=3 is more than max_speakers=2"),
        ({"n_speakers": 2, "min_speakers": 3}, "contradicts"),
        ({"n_speakers": 4, "max_speakers": 3}, "contradicts"),
        ({"n_speakers": 0}, "n_speakers must be an integer of at least 1"),
        ({"min_speakers": 2.0}, "min_speakers must be an integer"),
        ({"max_speakers": True}, "max_speakers must be an integer"),
        ({"n_speakers": 5}, "5 speakers asked for, but there are only 4 rows"),
        ({"min_speakers": 5}, "only 4 rows"),
        ({"max_set_size": 0}, "max_set_size must be an integer of at least 1"),
        ({"scatter": 0.4}, "scatter must be a Scatter or None, got 0.4"),
        ({"scatter": SPEECH}, "scatter is of vectors of 5 dimensions, but X has 4"),
    ],
)
def test_options_that_make_no_sense_are_refused(name, params, reason):
    model = build(name).set_params(**params)
    with pytest.raises(ValueError, match=reason) as caught:
        fit(model, np.eye(4), [[0]] * 4)
    assert "\n" not in str(caught.value)


@backends
def test_every_option_is_looked_at(name):
    for option, default in build(name).get_params().items():
        if option in COMMON or option == "base" or isinstance(default, bool):
            continue
        below = [] if option in type(build(name)).negative or isinstance(default, str) else [-1]
        for wrong in ("much", np.nan, *below):
            model = build(name).set_params(**{option: wrong})
            with pytest.raises(ValueError, match=option) as caught:
                fit(model, np.eye(4), [[0]] * 4)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "params", "reason"),
    [
        ("ap", {"preference": -np.inf}, "preference must be a finite number"),
        ("ap", {"damping": 0.4}, "damping must be a finite number of at least 0.5"),
        ("ap", {"damping": 1.0}, "damping must be below 1"),
        ("cap", {"preference": 0.5}, "preference must be at most 0"),
        ("cap", {"damping": 1.0}, "damping must be less than 1"),
        ("ckm", {"n_restarts": 0}, "n_restarts must be an integer of at least 1, got 0"),
        ("ckm", {"max_iter": 2.5}, "max_iter must be an integer of at least 1, got 2.5"),
        ("ckm", {"tol": "small"}, "tol must be a number, got 'small'"),
        ("dpgmm", {"init": "means"}, "init must be one of"),
        ("dpgmm", {"log_alpha": 1e9 * 1e300}, "log_alpha"),
        ("fcm", {"fuzzifier": 1.0}, "fuzzifier must be above 1"),
        ("gcr", {"order": "x"}, "order must be one of nearest, elimination, got 'x'"),
        ("gmm", {"covariance_type": "round"}, "covariance_type must be one of full, tied"),
        ("gmm", {"threshold": 1.1}, "threshold must be at most 1"),
    ],
)
def test_values_of_options_beyond_their_range_are_refused(name, params, reason):
    with pytest.raises(ValueError, match=reason):
        fit(build(name).set_params(**params), np.eye(4))


@backends
def test_the_number_of_speakers_is_inferred_and_order_and_rotation_do_not_matter(name, make_world):
    if name in ("osc", "dpgmm", "ckm"):
        return  # is told sets; wants more rows for full covariances; takes long, see test_ckm.py
    rng = np.random.default_rng(0)
    for k in (1, 2, 4):
        world = make_world(n=90, k=k, share=0.0, seed=k)
        order = rng.permutation(90) if name != "links" else np.arange(90)  # links hears in order
        rotation = np.linalg.qr(rng.normal(size=(16, 16)))[0]
        turned = torch.from_numpy(rotation)

        def rotated(a, b, numpy_turn=rotation, turn=turned):
            turn = turn if isinstance(a, torch.Tensor) else numpy_turn
            return unit_mean(a @ turn.T, b @ turn.T) @ turn

        plain = fit(build(name, max_speakers=5), world.rows, world.truth)
        assert plain.sets_ == world.truth.by_first_appearance()
        mixed = build(name, compose=rotated, max_speakers=5)
        fit(mixed, world.rows[order] @ rotation, world.truth[order])
        assert mixed.sets_ == world.truth[order].by_first_appearance()


@backends
def test_many_rows_are_sampled_and_the_rest_assigned(name, make_world):
    if "sample_size" not in build(name).get_params():
        return
    world = make_world(n=250, k=3, share=0.0)
    model = fit(build(name, n_speakers=3, sample_size=120), world.rows)
    assert model.sampled_ == 120
    assert model.sets_ == world.truth.by_first_appearance()
    assert fit(build(name, n_speakers=3, sample_size=None), world.rows).sampled_ is None
    # A sample is never too small for the speakers asked for.
    assert fit(build(name, n_speakers=5, sample_size=2), world.rows).n_speakers_ == 5


@backends
def test_what_has_not_converged_says_so(name, make_world):
    if name not in ("ap", "cap", "ckm", "fcm", "gmm"):
        return
    rows, price = make_world(n=60, noise=0.8).rows, {"preference": -1.0}
    model = build(name, max_iter=1, **price if name.endswith("ap") else {"n_speakers": 3})
    with pytest.warns(ConvergenceWarning, match=f"{name.upper()} has not converged after max_iter"):
        model.fit(rows)


@backends
def test_a_composition_is_asked_for_where_it_is_used(name, make_world):
    world = make_world(n=40)
    model = build(name, compose=None, max_speakers=4)
    if model.composes:
        with pytest.raises(ValueError, match="max_set_size=2 needs a composition function"):
            fit(model, world.rows, world.truth)
        return

    def never(a, b):
        raise AssertionError("g was called")

    given = fit(build(name, compose=never, max_speakers=4), world.rows, world.truth)
    assert fit(model, world.rows, world.truth).sets_ == given.sets_


@backends
@pytest.mark.parametrize(("p", "scale"), [(255, 1.0), (256, 1e-3), (256, 1.0), (256, 10.0)])
def test_neither_width_nor_scale_says_what_rows_are(name, p, scale):
    rng = np.random.default_rng(0)
    centers, truth = unit(rng.normal(size=(4, p))), rng.integers(4, size=400)
    rows = scale * (centers[truth] + 0.05 / p**0.5 * rng.normal(size=(400, p)))
    model = fit(build(name, max_set_size=1), rows, SpeakerSets.from_labels(truth))
    assert model.sets_ == SpeakerSets.from_labels(truth).by_first_appearance()


@backends
def test_unit_rows_of_unknown_scatter_are_no_voices(name):
    if name == "links":
        return  # its thresholds are cosines
    if name == "dpgmm":
        return  # so few rows are too little for its full covariances
    rng = np.random.default_rng(0)
    basis, truth = np.linalg.qr(rng.normal(size=(64, 5)))[0].T, rng.integers(4, size=400)
    centers = unit(basis[0] + np.sqrt(0.0637) * basis[1:])  # at squared distances of 0.12
    rows = unit(centers[truth] + np.sqrt(0.0004 / 64) * rng.normal(size=(400, 64)))
    model = fit(build(name, max_set_size=1), rows, SpeakerSets.from_labels(truth))
    assert model.sets_ == SpeakerSets.from_labels(truth).by_first_appearance()
    voices = build(name, max_set_size=1, scatter=Scatter(0.38, 25.0))
    assert voices.needs_truth or fit(voices, rows).n_speakers_ == 1


@backends
@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (np.array([[0.0, 1.0], [np.nan, 1.0]]), "row 1 of X holds NaN"),
        (np.array([[0.0, 1.0], [0.0, 1.0], [np.inf, 1.0]]), "row 2 of X holds an infinite value"),
        (np.array([np.inf, -np.inf])[:, None], "row 0 of X holds an infinite value"),
        (np.zeros(3), "X must be a 2-D array .* got 1-D"),
        (np.zeros((3, 0)), "no columns"),
        (np.array([["a"]]), "real numbers"),
        (np.array([[1j]]), "real numbers"),
    ],
)
def test_rows_that_cannot_be_used_are_refused(name, rows, reason):
    with pytest.raises(ValueError, match=reason):
        fit(build(name), rows, [[0]] * len(rows))


@backends
def test_values_so_large_that_their_sum_is_not_finite_are_fine(name):
    rows = np.array([[3e38, 0.0], [3e38, 0.0]], dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        assert fit(build(name, n_speakers=1, max_set_size=1), rows, [[0], [0]]).n_speakers_ == 1


@backends
def test_links_are_refused_where_they_cannot_be_used(name):
    model = build(name)
    if model.takes_constraints:
        return
    for link in ("must_link", "cannot_link"):
        with pytest.raises(ValueError, match=f"cannot use {link}"):
            model.fit(np.eye(3), [[0]] * 3, **{link: [(0, 1)]})
        assert model.fit(np.eye(3), [[0]] * 3, **{link: []}) is model


@backends
@pytest.mark.parametrize("d", [1, 2, 3])
def test_tiny_inputs_have_plain_answers(name, d):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (
            np.eye(3)[:1],
            np.eye(3, dtype=np.float32)[:2],
            np.eye(3),
            np.ones((3, 3), dtype=np.float32) / np.float32(3**0.5),
            np.full((3, 3), 7),
            np.zeros((4, 3)),
            5 * np.repeat(np.eye(3)[:2], 3, axis=0),
        ):
            truth = [[0]] * len(rows)
            model = fit(build(name, max_set_size=d), rows, truth)
            assert len(model.sets_) == len(rows)
            assert (model.sets_.sizes >= 1).all()
            if len(np.unique(rows, axis=0)) == 1:
                assert model.n_speakers_ == 1
            exact = fit(build(name, max_set_size=d, n_speakers=len(rows)), rows, truth)
            assert exact.needs_truth or exact.n_speakers_ == len(rows)


@backends
def test_no_rows_no_speakers(name):
    for params in ({}, {"n_speakers": 3}, {"min_speakers": 2}):
        model = fit(build(name, **params), np.zeros((0, 5)), [])
        assert model.n_speakers_ == 0
        assert len(model.sets_) == 0
        assert model.labels_.shape == (0,)
        assert model.centroids_.shape == (0, 5)


@backends
def test_larger_sets_appear_only_where_they_are_allowed(name, make_world):
    world = make_world(n=240, k=3, share=0.6)
    model = build(name, n_speakers=3, max_set_size=1, compose=None)
    if not model.needs_truth:
        assert fit(model, world.rows).sets_.sizes.max() == 1
        largest = fit(build(name, n_speakers=3), world.rows).sets_.sizes.max()
        assert largest <= (2 if model.finds_overlap else 1)
        assert largest == 2 or name not in COMPOSING


@backends
def test_names_of_speakers_do_not_depend_on_the_rows_before(name, make_world):
    world = make_world(n=50)
    model = fit(build(name, n_speakers=3), world.rows, world.truth)
    first = [row.argmax() for row in model.sets_.membership.T]
    assert first == sorted(first)


@backends
def test_every_backend_has_a_line_about_itself(name):
    line = describe(name)
    assert 20 < len(line) < 120
    assert line.endswith(".")
    assert make(name).get_params().keys() >= COMMON


def test_unknown_names_are_answered_with_near_ones():
    with pytest.raises(ValueError, match=r"no backend 'cmk' \(did you mean .*ckm"):
        make("cmk")
    with pytest.raises(ValueError, match=r"there are .*oracle"):
        describe("something else")
    with pytest.raises(ValueError, match=r"no option 'n_restart' \(did you mean n_restarts\?\)"):
        make("ckm", n_restart=3)
    with pytest.raises(ValueError, match="it has compose, count_penalty"):
        make("ac", zzz=3)


def test_the_table_imports_nothing_heavy():
    code = (
        "import sys, diarize.clustering; "
        "print([m for m in ('torch', 'sklearn', 'scipy', 'numpy') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


@backends
def test_what_can_be_tuned_has_candidates_that_can_be_used(name, make_world):
    world = make_world(n=30)
    model = build(name)
    for option, candidates in model.tunables.items():
        assert option in model.get_params() and option not in COMMON
        assert len(set(candidates)) == len(candidates) > 1
        for candidate in (candidates[0], candidates[-1]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fit(build(name, **{option: candidate}), world.rows, world.truth)


@backends
def test_two_who_are_as_alike_as_one_voice_are_one_speaker(name):
    """Tight groups that lie apart, but near each other: people who say one thing and another."""
    rng = np.random.default_rng(3)
    directions = np.eye(24)
    groups = [unit(directions[who] + 0.3 * directions[4 + n]) for who in (0, 1) for n in range(3)]
    rows = unit(np.concatenate([group + 0.01 * rng.normal(size=(30, 24)) for group in groups]))
    truth = SpeakerSets(np.repeat(np.eye(2, dtype=bool), 90, axis=0))
    known = Scatter(variance=0.01, dimension=24.0)

    def found(alike, **bounds):
        scatter = replace(known, alike=alike)
        model = build(name, scatter=scatter, max_set_size=1, **bounds)
        return fit(model, rows, truth)

    one_voice = 0.8  # the cosine of two groups of one person is 0.92, of two persons' 0 to 0.08
    model = found(one_voice)
    cosines = unit(model.centroids_) @ unit(model.centroids_).T
    assert model.needs_truth or cosines[np.triu_indices(len(cosines), 1)].max(initial=-1) < 0.8
    if name != "dpgmm":  # which takes all of them for one, to begin with
        assert np.array_equal(model.sets_.membership, truth.membership)
    assert found(one_voice, min_speakers=4).n_speakers_ >= (2 if model.needs_truth else 4)
    assert found(one_voice, n_speakers=6 if not model.needs_truth else 2).n_speakers_ >= 2
    # Rows that are no unit vectors are not spoken of.
    assert fit(build(name, scatter=replace(known, alike=0.8), max_set_size=1), 3 * rows, truth)


def test_more_are_asked_for_only_as_far_as_they_can_be_found():
    for name, params, most in (
        ("ckm", {"n_speakers": 5}, 7),
        ("ckm", {"n_speakers": 15, "max_set_size": 5, "compose": unit_mean}, 15),
        ("gcr", {"n_speakers": 5, "n_base_clusters": 6}, 6),
    ):
        model = make(name, **{"max_set_size": 1, **params})
        model.ask_for_more(100, 2)
        assert model.n_speakers == most
