"""The recipe that trains the activity network and measures what it hears."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import soundfile
import torch

from diarize.activity import Heard, VoiceCounts
from diarize.errors import InputError


@pytest.fixture(scope="module")
def measure(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("activity/measure.py")


@pytest.fixture(scope="module")
def teacher(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("activity/teacher.py")


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """Four seconds: A speaks for three of them, B during one of these."""
    folder = tmp_path / "talk"
    folder.mkdir()
    noise = 0.01 * np.random.default_rng(0).standard_normal(64_000)
    soundfile.write(folder / "a.wav", noise, 16_000)
    soundfile.write(folder / "without-a-reference.wav", noise, 16_000)
    lines = ((0.0, 3.0, "A"), (1.0, 1.0, "B"), (2.5, 0.25, "A"))
    (folder / "a.rttm").write_text(
        "".join(f"SPEAKER a 1 {b} {d} <NA> <NA> {who} <NA> <NA>\n" for b, d, who in lines)
    )
    return folder


def test_filters_pass_their_band(teacher: ModuleType) -> None:
    """An even and an odd one for each, of 950 to 1250 Hz."""
    even, odd = teacher.band_filters(torch.tensor([[-900.0]]), torch.tensor([[250.0]]))[:, 0]
    assert torch.allclose(even, even.flip(0)) and torch.allclose(odd, -odd.flip(0))
    assert even.max() == even[125] == 1
    for filter in (even, odd):
        gain = np.abs(np.fft.rfft(filter.numpy(), 16_000))  # a bin for each Hz
        assert gain[1000:1200].min() > 10 * max(gain[:700].max(), gain[1500:].max())


def test_how_many_speak(measure: ModuleType, recordings: Path) -> None:
    counts = measure.true_counts(recordings / "a.rttm", 4.0)
    assert counts.tolist() == [1] * 50 + [2] * 50 + [1] * 50 + [0] * 50


def test_errors_of_what_was_heard(measure: ModuleType) -> None:
    truth = np.repeat([0, 1, 2, 5], 50)
    sure = np.eye(4, dtype=np.float32)[[0, 1, 1, 3]].repeat(50, axis=0)
    tally = measure.Tally()
    tally.add(truth, Heard(np.array([[0.5, 3.5]]), VoiceCounts(0.0, sure)))
    assert tally.speech_error() == pytest.approx((25 / 150, 25 / 150))
    precision, recall, average = tally.overlap()
    assert (precision, recall) == (1.0, 0.5)
    assert average == pytest.approx(0.5 + 0.5 * 100 / 200)  # all else ranks equal
    assert tally.count_error() == pytest.approx(50 / 200)


def test_what_says_nothing_of_overlap(measure: ModuleType) -> None:
    tally = measure.Tally()
    tally.add(np.repeat([0, 2], 50), Heard(np.array([[1.0, 2.0]])))
    assert tally.speech_error() == (0.0, 0.0)
    assert tally.overlap() is None
    assert tally.count_error() == pytest.approx(0.5)


def test_recordings_are_paired(measure: ModuleType, recordings: Path, tmp_path: Path) -> None:
    assert measure.paired(recordings) == [(recordings / "a.wav", recordings / "a.rttm")]
    with pytest.raises(InputError, match="no such folder"):
        measure.paired(tmp_path / "nowhere")


def test_silero_at_all_thresholds(measure: ModuleType, recordings: Path) -> None:
    tallies = measure.hear_silero(measure.paired(recordings))
    assert list(tallies) == list(measure.THRESHOLDS)
    for tally in tallies.values():
        assert len(tally.speech) == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "--speech DIR with a speakers.tsv is needed"),
        (["--speech", "x", "--turns", "no"], "--turns DIR with ami-train"),
    ],
)
def test_what_is_missing(repo_root: Path, tmp_path: Path, options: list[str], reason: str) -> None:
    command = ["bash", str(repo_root / "recipes" / "activity" / "run.sh"), *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert not list(tmp_path.iterdir())


def test_how_sure_what_is_found_is(measure: ModuleType, talk: Path, recordings: Path) -> None:
    ((name, by, heard, left, mean),) = measure.of_sure([talk.parent], measure.DEFAULT_COUNTER)
    assert (name, by, left) == ("talk", "network", heard)
    assert 8 < float(heard) < 12
    assert float(mean) > 3
    noise = next(iter(measure.of_sure([recordings], measure.DEFAULT_COUNTER)))
    assert noise == ["a", "network", "0.0", "0.0", ""]
