from dataclasses import dataclass

import numpy as np
import pytest

from diarize.clustering.base import Regions, SampledClusterer, SpeakerBounds, as_generator
from diarize.clustering.checks import check_integer, check_number, check_rows
from diarize.sets import SpeakerSets


@pytest.mark.parametrize(
    ("number", "least", "most", "rows", "expected"),
    [
        (None, None, None, 100, (1, 20)),
        (None, None, None, 5, (1, 5)),
        (3, None, None, 100, (3, 3)),
        (3, 2, 4, 100, (3, 3)),
        (None, 2, None, 100, (2, 20)),
        (None, 30, None, 100, (30, 30)),
        (None, None, 30, 100, (1, 30)),
        (None, 4, 4, 100, (4, 4)),
    ],
)
def test_bounds(number, least, most, rows, expected):
    bounds = SpeakerBounds.resolve(number, least, most, rows)
    assert (bounds.low, bounds.high) == expected


def test_sets_that_are_too_many_are_not_looked_for():
    assert SpeakerBounds.resolve(None, None, None, 100, 3).high == 20
    assert SpeakerBounds.resolve(None, None, None, 100, 5).high == 15
    assert SpeakerBounds.resolve(None, None, None, 100, 6).high == 11  # composed in 198 550 ways
    assert SpeakerBounds.resolve(None, None, 500, 1000, 2).high == 99
    with pytest.raises(ValueError, match="20 speakers have 60459 sets of up to 6, more than") as e:
        SpeakerBounds.resolve(20, None, None, 100, 6)
    assert "\n" not in str(e.value)
    for huge in (3000, 10**12):
        with pytest.raises(ValueError, match=rf"^{huge} speakers have over a billion sets"):
            SpeakerBounds.resolve(huge, None, None, 0, huge)
    assert SpeakerBounds.resolve(None, None, 10**12, 1000, 10**12).high == 8
    with pytest.raises(ValueError, match="of 12 speakers are composed in 651030678 ways, more"):
        SpeakerBounds.resolve(12, None, None, 60, 12)


def test_rows_whose_squares_leave_the_range_of_float32_are_widened():
    for size, kept in ((1.0, True), (1e14, True), (1e-11, True), (1e16, False), (1e-20, False)):
        rows = np.array([[size, 0.0], [-size, 0.0]], dtype=np.float32)
        checked = check_rows(rows)
        assert checked.dtype == (np.float32 if kept else np.float64)
        assert np.array_equal(checked, rows)
    assert check_rows(np.zeros((3, 2), np.float32)).dtype == np.float32
    assert check_rows(np.zeros((0, 2), np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match=r"row 1 of X holds a value beyond 1e\+100"):
        check_rows([[1.0, 0.0], [0.0, -1e120]])


def test_rows_whose_sum_is_too_large_may_be_used():
    rows = np.full((4, 2), 1e38, dtype=np.float32)
    assert np.array_equal(check_rows(rows), rows)
    assert check_rows([[1e100], [-1e100]]).dtype == np.float64
    assert check_rows([[1, 2]]).dtype == check_rows([[True]]).dtype == np.float64


def test_integers_and_numbers_of_options():
    for value in (2, np.int32(2), 5):
        check_integer("k", value, 2)
    for value in (1, True, 2.0, "2", None):
        with pytest.raises(ValueError, match=r"^k must be an integer of at least 2, got "):
            check_integer("k", value, 2)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        check_integer("k", 0)
    for value in (0, 0.0, 0.5, np.float32(0.5), np.int64(3), 1e300):
        check_number("x", value)
    check_number("x", -1.0, -1.0)
    check_number("x", -1e300, -np.inf)
    for value in (True, "1", None, 1j, np.complex128(1)):
        with pytest.raises(ValueError, match=r"^x must be a number, got "):
            check_number("x", value)
    for value in (-1e-9, np.inf, np.nan, 10**400):
        with pytest.raises(ValueError, match=r"^x must be a finite number of at least 0, got "):
            check_number("x", value)


def test_a_seed_is_a_seed_whatever_its_kind():
    def draw(state):
        return as_generator(state).integers(2**40)

    assert draw(7) == np.random.default_rng(7).integers(2**40)
    generator = np.random.default_rng(0)
    assert as_generator(generator) is generator
    assert draw(np.random.RandomState(1)) == draw(np.random.RandomState(1))
    assert draw(np.random.RandomState(1)) != draw(np.random.RandomState(2))
    assert draw(None) != draw(None)


@dataclass(kw_only=True, eq=False, repr=False)
class Signs(SampledClusterer):
    """Rows below zero are one speaker, the others another; who is asked for first comes first."""

    sample_size: int | None = None

    def _cluster(self, rows, criterion, generator):
        self.seen_ = rows
        return self._within

    def _within(self, bounds):
        self.bounds_ = bounds
        return Regions(
            ids=(self.seen_[:, 0] >= 0).astype(np.int64),
            sets=SpeakerSets.from_labels([2, 0]),  # nobody is 1
            centers=np.array([[-1.0], [1.0]]),
            offsets=np.zeros(2),
            centroids=np.array([[1.0], [9.0], [-1.0]]),
        )


def test_the_answer_of_a_clustering():
    model = Signs(max_set_size=1)
    assert model.fit_predict([[-2.0], [3.0], [-1.0]]).tolist() == [0, 1, 0]
    assert model.sets_.to_lists() == [[0], [1], [0]]  # in order of first appearance
    assert model.centroids_.tolist() == [[-1.0], [1.0]]
    assert (model.n_speakers_, model.n_features_in_, model.sampled_) == (2, 1, None)
    assert (model.bounds_.low, model.bounds_.high) == (1, 3)
    nothing = Signs(max_set_size=1).fit(np.zeros((0, 1)))
    assert (len(nothing.sets_), nothing.n_speakers_, nothing.centroids_.shape) == (0, 0, (0, 1))


def test_the_rest_of_a_sample_goes_to_the_nearest_center():
    rows = np.arange(-20.0, 20.0)[:, None] + 0.5
    model = Signs(max_set_size=1, sample_size=5, random_state=0).fit(rows)
    assert model.sampled_ == len(model.seen_) == 5
    assert (np.diff(model.seen_[:, 0]) > 0).all()
    assert model.bounds_.high == 5
    assert model.sets_ == SpeakerSets.from_labels(np.repeat([0, 1], 20))
    most = Signs(max_set_size=1, sample_size=39, random_state=0).fit(rows)
    assert len(np.unique(most.seen_)) == 39
    again = Signs(max_set_size=1, sample_size=5, random_state=0).fit(rows)
    assert np.array_equal(again.seen_, model.seen_)
    wide = Signs(max_set_size=1, sample_size=5, min_speakers=7).fit(rows)
    assert (wide.sampled_, wide.bounds_.low, wide.bounds_.high) == (7, 7, 7)
    for size in (40, 41, None):
        assert Signs(max_set_size=1, sample_size=size).fit(rows).sampled_ is None
    with pytest.raises(ValueError, match="sample_size must be an integer of at least 1, got 0"):
        Signs(max_set_size=1, sample_size=0).fit(rows)


def test_sets_need_a_composition_and_few_speakers():
    rows = np.zeros((500, 1))
    with pytest.raises(ValueError, match=r"^max_set_size=2 needs a composition function"):
        Signs().fit(rows)
    with pytest.raises(ValueError, match="max_set_size must be an integer of at least 1, got 0"):
        Signs(max_set_size=0).fit(rows)
    assert Signs(max_speakers=500, compose=np.maximum).fit(rows).bounds_.high == 99

    class Single(Signs):
        finds_overlap = False

    assert Single(max_speakers=500, compose=np.maximum).fit(rows).bounds_.high == 500
