"""Segmentation models of others: how many speak."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diarize.activity.hearing import hear
from diarize.activity.segmentation import SegmentationActivity, sizes_of
from diarize.audio import open_recording
from diarize.errors import InputError
from diarize.storage.cache import Cache

from ..networks import BANDS, PYANNOTE, SAMPLES, SEGMENTATION, write

LEVELS = (0.0, 0.1, 0.0, 0.3, 0.1)  # the fixture hears nobody, one, nobody, two, one
NUMBERS = (0, 1, 0, 2, 1)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return write(tmp_path / "segmentation.onnx", SEGMENTATION, PYANNOTE)


def steps(seconds: float) -> np.ndarray:
    """Stretches of equal length whose samples have one size each."""
    n = round(seconds * 16_000)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], n)
    sizes = np.array(LEVELS)[np.arange(n) * len(LEVELS) // n]
    return (signs * sizes).astype(np.float32)


def test_sizes_of_the_powerset() -> None:
    assert sizes_of(3, 2).argmax(axis=1).tolist() == [0, 1, 1, 1, 2, 2, 2]
    assert sizes_of(4, 4).argmax(axis=1).tolist() == [0] + [1] * 4 + [2] * 6 + [3] * 5
    with pytest.raises(InputError, match="sets of 3 out of 2"):
        sizes_of(2, 3)


@pytest.mark.parametrize("seconds", [2.5, 10.0, 12.34, 61.0])
def test_how_many_speak_is_heard_where_they_do(network: Path, seconds: float) -> None:
    recording = open_recording((steps(seconds), 16_000))
    heard = SegmentationActivity(model=network)(recording)
    assert heard.counts is not None
    probabilities = heard.counts.probabilities
    assert len(probabilities) == int(np.ceil(seconds / 0.02 - 1e-6))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    times = (np.arange(len(probabilities)) + 0.5) * 0.02
    where = times / seconds * len(LEVELS)
    clear = np.abs(where - np.round(where)) * seconds / len(LEVELS) > 0.06
    expected = np.array(NUMBERS)[np.minimum(where.astype(int), len(NUMBERS) - 1)]
    assert (heard.counts.probabilities.argmax(axis=1) == expected)[clear].all()
    fifth = seconds / 5
    regions = np.array([[fifth, 2 * fifth], [3 * fifth, seconds]])
    np.testing.assert_allclose(heard.regions, regions, atol=0.05)


def test_blocks_change_nothing(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = open_recording((steps(47.0), 16_000))
    whole = SegmentationActivity(model=network)(recording)
    monkeypatch.setattr("diarize.activity.segmentation.BATCH", 1)
    pieces = SegmentationActivity(model=network)(recording)
    assert whole.counts is not None and pieces.counts is not None
    np.testing.assert_allclose(whole.counts.probabilities, pieces.counts.probabilities, atol=1e-5)


def test_a_part_of_a_recording_keeps_the_time_of_the_file(network: Path) -> None:
    part = open_recording((steps(20.0), 16_000), start=3.0, end=19.0)
    heard = SegmentationActivity(model=network)(part)
    assert heard.counts is not None and heard.counts.start == 3.0
    np.testing.assert_allclose(heard.regions, [[4.0, 8.0], [12.0, 19.0]], atol=0.05)


def test_it_takes_the_place_of_our_network_and_is_kept(network: Path, tmp_path: Path) -> None:
    recording = open_recording((steps(5.0), 16_000))
    activity, cache = SegmentationActivity(model=network), Cache(tmp_path / "cache")
    heard = hear(recording, activity, True, cache)
    network.unlink()
    with pytest.raises(InputError, match="no such file"):
        hear(recording, activity, True)
    assert heard.counts is not None
    assert heard.counts.several(5.0).tolist() == pytest.approx(np.array([[3.0, 4.0]]), abs=0.05)
    write(network, SEGMENTATION, PYANNOTE)
    again = hear(recording, activity, True, cache)
    assert np.array_equal(again.regions, heard.regions)
    assert hear(recording, activity, False, cache).counts is None


@pytest.mark.parametrize(
    ("text", "told", "reason"),
    [
        (SEGMENTATION, PYANNOTE | {"sample_rate": 8000}, "made for 8000 Hz"),
        (SEGMENTATION, PYANNOTE | {"num_speakers": 4}, "11 sets of speakers were expected"),
        (SEGMENTATION, PYANNOTE | {"receptive_field_shift": 160}, "frames in a window"),
        (SEGMENTATION, PYANNOTE | {"window_size": 100}, "too short"),
        (SAMPLES, PYANNOTE, "no segmentation: its input x has the shape"),
        (BANDS, {}, "no segmentation: its input x has the shape"),
    ],
)
def test_what_is_no_segmentation_is_refused(
    tmp_path: Path, text: str, told: dict[str, int], reason: str
) -> None:
    path = write(tmp_path / "f.onnx", text, told)
    with pytest.raises(InputError, match=reason):
        SegmentationActivity(model=path).prepare()


def test_values_that_are_no_numbers_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "f.onnx", SEGMENTATION, PYANNOTE, offsets=np.full(7, np.nan))
    with pytest.raises(InputError, match=r"f\.onnx: gives values that are not finite"):
        SegmentationActivity(model=path).prepare()
