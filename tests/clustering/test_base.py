import numpy as np
import pytest

from diarize.clustering.base import ConvergenceMonitor, SpeakerBounds, check_rows


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


@pytest.mark.parametrize(
    ("number", "least", "most", "rows", "reason"),
    [
        (0, None, None, 9, "n_speakers"),
        (None, -1, None, 9, "min_speakers"),
        (None, 3, 2, 9, "is more than"),
        (2, 3, None, 9, "contradicts"),
        (4, None, 3, 9, "contradicts"),
        (10, None, None, 9, "only 9"),
    ],
)
def test_contradictory_bounds_are_refused(number, least, most, rows, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        SpeakerBounds.resolve(number, least, most, rows)
    assert "\n" not in str(caught.value)


def test_sets_that_are_too_many_are_not_looked_for():
    assert SpeakerBounds.resolve(None, None, None, 100, 3).high == 20
    assert SpeakerBounds.resolve(None, None, None, 100, 6).high == 13
    assert SpeakerBounds.resolve(None, None, 500, 1000, 2).high == 99
    with pytest.raises(ValueError, match="20 speakers have 60459 sets of up to 6, more than") as e:
        SpeakerBounds.resolve(20, None, None, 100, 6)
    assert "\n" not in str(e.value)


def test_the_monitor_keeps_histories_of_the_chosen_restarts():
    monitor = ConvergenceMonitor(3)
    monitor.record(np.array([3.0, 2.0, 1.0]))
    monitor.keep(np.array([0, 2]))
    monitor.record(np.array([2.0, 0.5]))
    np.testing.assert_array_equal(np.stack(monitor.history), [[3.0, 1.0], [2.0, 0.5]])
    assert monitor.settled.shape == (2,)


def test_rows_that_are_no_numbers_are_named():
    rows = np.zeros((4, 2))
    rows[2, 1] = np.nan
    with pytest.raises(ValueError, match="row 2"):
        check_rows(rows)


def test_rows_whose_squares_leave_the_range_of_float32_are_widened():
    for size, kept in ((1.0, True), (1e14, True), (1e-11, True), (1e16, False), (1e-20, False)):
        rows = np.array([[size, 0.0], [-size, 0.0]], dtype=np.float32)
        checked = check_rows(rows)
        assert checked.dtype == (np.float32 if kept else np.float64)
        assert np.array_equal(checked, rows)
    assert check_rows(np.zeros((3, 2), np.float32)).dtype == np.float32
    assert check_rows(np.zeros((0, 2), np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match=r"row 1 of X holds a value beyond 1e\+100"):
        check_rows([[1.0], [-1e120]])
