"""The recipe of learning through clustering, on digits and on made-up idx files."""

from __future__ import annotations

import gzip
import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import soundfile
import torch

from diarize.embedding import EmbeddingConfig
from diarize.errors import InputError
from diarize.mixing.voices import Voices
from diarize.training.episodes import EpisodeConfig

from .conftest import run_script


@pytest.fixture
def idx(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(repo_root / "recipes"))
    return importlib.import_module("steps.idx")


def packed(values: np.ndarray) -> bytes:
    """An idx file of bytes."""
    axes = np.array(values.shape, ">u4").tobytes()
    return bytes([0, 0, 8, values.ndim]) + axes + values.astype(np.uint8).tobytes()


@pytest.fixture
def fashion(tmp_path: Path) -> Path:
    """Made-up images of 28 by 28 pixels: ten classes, each with its own lines."""
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 10
    lines = rng.integers(0, 2, (10, 28, 1)) * np.ones((10, 28, 28)) * 200
    images = lines[labels] + rng.integers(0, 50, (300, 28, 28))
    folder = tmp_path / "fashion"
    folder.mkdir()
    (folder / "train-images-idx3-ubyte").write_bytes(packed(images))
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(packed(labels)))
    return folder


def test_idx_files(idx: ModuleType, fashion: Path) -> None:
    images, labels = idx.read_idx_pair(fashion, "train")
    assert images.shape == (300, 28, 28) and images.dtype == np.uint8
    assert labels.tolist() == [i % 10 for i in range(300)]
    with pytest.raises(InputError, match=r"t10k-images-idx3-ubyte: no such file, nor .*\.gz"):
        idx.read_idx_pair(fashion, "t10k")
    for content, reason in (
        (b"\0\0\x08", "no idx file"),
        (b"\0\0\x09\x01\0\0\0\x01\0", "no idx file"),
        (packed(labels)[:-1], "cut off"),
    ):
        (fashion / "bad").write_bytes(content)
        with pytest.raises(InputError, match=reason):
            idx.read_idx(fashion / "bad")
    (fashion / "torn.gz").write_bytes(gzip.compress(packed(labels))[:20])
    with pytest.raises(InputError, match=r"torn\.gz: cannot be unpacked"):
        idx.read_idx(fashion / "torn")
    (fashion / "t10k-images-idx3-ubyte").write_bytes(packed(images))
    (fashion / "t10k-labels-idx1-ubyte").write_bytes(packed(labels[:9]))
    with pytest.raises(InputError, match="no label for each image"):
        idx.read_idx_pair(fashion, "t10k")


def test_the_smoke_run(repo_root: Path, fashion: Path, tmp_path: Path) -> None:
    script = repo_root / "recipes" / "learning_through_clustering" / "run.sh"

    def run(*options: object) -> str:
        done = run_script(script, "--smoke", "--work", tmp_path / "work", *options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    printed = run("--idx", fashion, "--stop-stage", "3")
    assert "\ndigits\n" in printed and "\ndigits, imb 3\n" in printed
    assert "\nfashion\n" in printed and "\nfashion, imb 3\n" in printed
    ours = [line for line in printed.splitlines() if line.startswith("| combination assignment |")]
    assert [line.split(" | ")[1] for line in ours] == ["even", "matching", "even"] * 2
    collapsed = next(line for line in printed.splitlines() if line.startswith("| none |"))
    assert float(collapsed.split(" | ")[5].split()[0]) > 2  # nearly log 10
    assert run("--stage", "0", "--stop-stage", "0") == ""  # all was there

    printed = run("--stage", "4")
    rows = [line for line in printed.splitlines() if line.startswith("| digits |")]
    assert len(rows) == 9  # shares of labels and of withheld classes
    assert (tmp_path / "work" / "smoke" / "semi-supervised.svg").stat().st_size > 1000


def test_few_labels_are_the_same_for_each_class(
    recipe_module: Callable[[str], ModuleType], repo_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(repo_root / "recipes"))
    monkeypatch.syspath_prepend(str(repo_root / "recipes" / "learning_through_clustering"))
    module = recipe_module("learning_through_clustering/semi_supervised.py")
    y = np.repeat(np.arange(6), 50)
    kept, known = module.choose(y, 0.1, 1, np.random.default_rng(0))
    assert set(y[kept]) == {2, 3, 4, 5}
    assert np.bincount(y[kept][known]).tolist() == [0, 0, 5, 5, 5, 5]
    kept, known = module.choose(y, 1.0, 0, np.random.default_rng(0))
    assert known.all() and len(kept) == 300


def test_windows_of_speech_have_no_average(
    recipe_module: Callable[[str], ModuleType],
    repo_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(repo_root / "recipes"))
    monkeypatch.syspath_prepend(str(repo_root / "recipes" / "learning_through_clustering"))
    module = recipe_module("learning_through_clustering/semi_supervised.py")
    time = np.arange(16 * 16_000) / 16_000
    for name, pitch in (("a", 100), ("b", 170)):
        hum = np.sign(np.sin(2 * np.pi * pitch * time)) * (1 + 0.5 * np.sin(9 * time))
        soundfile.write(tmp_path / f"{name}.wav", 0.1 * hum, 16_000)
    (tmp_path / "speakers.tsv").write_text("path\tspeaker\tsplit\na.wav\ta\tx\nb.wav\tb\tx\n")
    examples = module.of_speech(tmp_path, "x")
    for x, y in (examples.train, examples.probe, examples.test):
        assert set(y.tolist()) == {0, 1}
        assert x.mean(dim=1).abs().max() < 1e-3


def test_training_with_the_forest(
    recipe_module: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = recipe_module("learning_through_clustering/forest_training.py")
    small = EmbeddingConfig(dim=8, hidden=8, layers=1)
    monkeypatch.setattr(module, "EmbeddingConfig", lambda: small)
    episodes = EpisodeConfig(episodes=1, speakers=3, pairs=3, triples=0, starts=1, changes=1)
    monkeypatch.setattr(module, "EPISODES", replace(episodes, seconds=(0.6,)))
    rng = np.random.default_rng(0)
    samples = rng.integers(-3000, 3000, 8 * 32_000).astype(np.int16)
    starts = np.arange(8) * 32_000
    names = np.array([f"s{i}" for i in range(8)])
    voices = Voices(samples, starts, starts + 32_000, names, names[[0] * 8])
    for loss in module.LOSSES:
        folder = tmp_path / loss
        model = module.learn(voices, loss, 0.2, 2, folder)
        again = module.learn(voices, loss, 0.2, 2, folder)  # it is there
        assert all(
            torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True)
        )
