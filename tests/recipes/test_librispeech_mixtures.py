"""The recipe for the paper's tables on mixtures of speech."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from diarize.errors import InputError
from diarize.mixing.speech import find_utterances
from diarize.mixing.voices import Voices

from .conftest import run_script


@pytest.fixture
def folder(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = repo_root / "recipes" / "librispeech_mixtures"
    monkeypatch.syspath_prepend(str(path))
    return path


@pytest.fixture
def trials(folder: Path) -> ModuleType:
    return importlib.import_module("trials")


def test_groups_are_different_and_everybody_has_his_turn(trials: ModuleType) -> None:
    groups = trials.draw_groups(35, 10, np.random.default_rng(0))
    assert all(len(set(group)) == 5 for group in groups)
    assert len({who for group in groups[:7] for who in group}) == 35
    assert np.bincount(np.concatenate(groups)).max() == 2
    few = trials.draw_groups(7, 10, np.random.default_rng(0))
    assert len({tuple(sorted(group)) for group in few}) == 10


@pytest.mark.parametrize(("n", "d", "kinds"), [(150, 2, 15), (75, 3, 25)])
def test_every_set_is_as_frequent(trials: ModuleType, n: int, d: int, kinds: int) -> None:
    lengths = [40_000, 50_000, 60_000, 70_000, 20_000]
    sets, begins = trials.draw_rows(lengths, n, d, np.random.default_rng(1))
    counts: dict[tuple[int, ...], int] = {}
    for row, starts in zip(sets, begins, strict=True):
        counts[tuple(row)] = counts.get(tuple(row), 0) + 1
        assert len(row) == len(starts)
        for speaker, start in zip(row, starts, strict=True):
            assert 0 <= start <= max(0, lengths[speaker] - trials.EXCERPT)
    assert len(counts) == kinds
    assert set(counts.values()) == {n // kinds}
    # All speech is heard, and as often: a third of the excerpts begins in each third of the room.
    first = [starts[row.index(0)] for row, starts in zip(sets, begins, strict=True) if 0 in row]
    thirds = np.histogram(first, bins=3, range=(0, lengths[0] - trials.EXCERPT))[0]
    assert np.ptp(thirds) <= 2
    assert trials._covered(0, sets, begins) == pytest.approx(lengths[0] / 16_000, rel=0.1)


def test_a_plan_that_is_there_is_the_one_of_its_vectors(trials: ModuleType, tmp_path: Path) -> None:
    for _ in range(2):
        trials.write_plan(tmp_path / "00.json", "{}")
    with pytest.raises(InputError, match=r"00.json: of other voices, or another seed"):
        trials.write_plan(tmp_path / "00.json", "[]")


def test_a_size_that_does_not_divide_is_refused(trials: ModuleType) -> None:
    with pytest.raises(InputError, match="n = 20 is no multiple of the 15 sets of up to 2"):
        trials.draw_rows([40_000] * 5, 20, 2, np.random.default_rng(0))


def test_a_mixture_is_the_mean_of_voices_at_one_level(trials: ModuleType) -> None:
    rng = np.random.default_rng(0)
    samples = rng.normal(0, 1000, 80_000).astype(np.int16)
    samples[40_000:] *= 8
    names = np.array(["a", "b"])
    voices = Voices(
        samples, np.array([0, 40_000]), np.array([40_000, 80_000]), names, names
    )  # fmt: skip
    sets, begins = [[0], [1], [0, 1]], [[100], [200], [100, 200]]
    rows = trials.mix(voices, [0, 1], sets, begins)
    np.testing.assert_allclose(rows[:2].std(axis=1), 0.05, rtol=1e-4)
    np.testing.assert_allclose(rows[2], (rows[0] + rows[1]) / 2, atol=1e-6)
    swapped = trials.mix(voices, [1, 0], [[1]], [[100]])  # speaker 1 of this trial is voice 0
    np.testing.assert_array_equal(swapped[0], rows[0])


def test_librispeech_as_it_is_published(folder: Path, tmp_path: Path) -> None:
    prepare = importlib.import_module("prepare")
    with pytest.raises(InputError, match=r"LibriSpeech: no SUBSET/SPEAKER/CHAPTER"):
        prepare.main(tmp_path / "LibriSpeech", tmp_path / "speech")
    for name in ("dev-clean/84/121123/84-121123-0000", "train-clean-100/19/198/19-198-0001"):
        path = tmp_path / "LibriSpeech" / f"{name}.flac"
        path.parent.mkdir(parents=True)
        path.touch()
    prepare.main(tmp_path / "LibriSpeech", tmp_path / "speech")
    (one,) = find_utterances(tmp_path / "speech", "dev-clean")
    assert (one.speaker, one.corpus) == ("84", "librispeech-dev-clean")
    assert one.path.is_file()
    (other,) = find_utterances(tmp_path / "speech", "train")
    assert other.speaker == "19"


def test_the_paper_figures_are_complete(folder: Path) -> None:
    lines = (folder / "published.tsv").read_text().splitlines()
    assert len(lines) == 1 + 9 * 5 + 8 * 3
    assert lines[0] == "d\tn\tmethod\tcri\tcri_se\tari\tari_se"
    assert "2\t150\tgcr\t94.6\t1.1\t77.2\t4.0" in lines
    assert "3\t2500\tosc\t87.2\t0.0\t\t" in lines


def test_the_smoke_run(folder: Path, tmp_path: Path, tiny_weights: Path) -> None:
    options = [
        "--smoke", "--work", tmp_path, "--model", tiny_weights,
        "--methods", "gcr ckm ac osc centroids",
    ]  # fmt: skip
    done = run_script(folder / "run.sh", *options)
    assert done.returncode == 0, done.stderr
    for line in (
        "dev-b: 6 speakers", "| GCR |", "| CKM |", "| CKM - OSC |", "| true centroids |",
        "**ARI (%), sets of up to 3**",
    ):  # fmt: skip
        assert line in done.stdout
    plan = json.loads((tmp_path / "smoke" / "test" / "d3_n25" / "01.json").read_text())
    assert len(plan["sets"]) == 25
    assert len(plan["speakers"]) == 5
