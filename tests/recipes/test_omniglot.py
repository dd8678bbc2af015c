"""The recipe of hand-written characters: its parts, and all of it on made-up ones."""

from __future__ import annotations

import sys
import zipfile
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.append(str(Path(__file__).resolve().parents[2] / "recipes"))

from omniglot import augment, episodes, images, made_up, train, trials
from omniglot.model import Embedding, load_model, save_model

from diarize.errors import InputError
from diarize.formats.embeddings import read_embeddings
from diarize.formats.sets import read_sets

from .conftest import run_script


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("omniglot")
    made_up.main(path)
    return path


@pytest.fixture(scope="module")
def drawings(folder: Path) -> images.Drawings:
    return images.read_archive(folder / f"{images.TRAIN}.zip")


@pytest.fixture
def tiny() -> Embedding:
    torch.manual_seed(0)
    return Embedding(channels=2, dim=8).eval()


def chance(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_no_character_is_in_two_parts(folder: Path) -> None:
    known, held_out, unknown = images.split(folder)
    assert known.alphabets == ["Ones", "Threes"]
    assert held_out.alphabets == ["Twos"]
    assert unknown.alphabets == ["Fours"]  # "Ones" is in both archives


def test_archives_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs images_background_small1\.zip and"):
        images.split(tmp_path)
    path = tmp_path / f"{images.TRAIN}.zip"
    path.write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"small1.zip: cannot be read"):
        images.read_archive(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "nothing")
    with pytest.raises(InputError, match=r"small1.zip: holds no ALPHABET"):
        images.read_archive(path)


def test_symmetries_are_turns_and_mirror_images() -> None:
    image = torch.rand(1, 40, 40, generator=chance())
    which = torch.arange(8)
    seen = augment.render(image.expand(8, 40, 40), augment.symmetry_maps(which), side=40)
    torch.testing.assert_close(seen[0], image[0], atol=1e-4, rtol=0)
    expected = [torch.rot90(m, k) for m in (image[0], image[0].flip(1)) for k in range(4)]
    matches = [[i for i, e in enumerate(expected) if torch.allclose(s, e, atol=1e-4)] for s in seen]
    assert sorted(matches) == [[i] for i in range(8)]


def test_sets_are_told_apart_where_vectors_are_their_sets(
    drawings: images.Drawings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(
        drawings: images.Drawings, sets: list[list[int]], _: object, rows: list[list[int]]
    ) -> torch.Tensor:
        drawn = [row for i, chosen in enumerate(rows) for row in chosen if sets[i]]
        assert len(set(drawn)) == 30 * len(sets) // 20  # no drawing twice in an episode
        for chosen, members in zip(rows, sets, strict=True):
            assert all(row in drawings.rows[c] for row, c in zip(chosen, members, strict=True))
        return torch.stack([torch.eye(len(drawings))[members].sum(dim=0) for members in sets])

    class Known:
        def embed(self, canvases: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.normalize(canvases, dim=-1)

        def compose(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.normalize(a + b, dim=-1)

    monkeypatch.setattr(episodes, "draw", draw)
    monkeypatch.setattr(episodes, "EPISODES_AT_ONCE", 1)
    found = episodes.set_accuracy(Known(), drawings, 3, seed=0)  # type: ignore[arg-type]
    assert found == episodes.SetAccuracy(1.0, 1.0, 1.0, 1.0, 1.0)


def test_training_goes_on_where_it_stopped(
    drawings: images.Drawings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "EVERY", 2)
    monkeypatch.setattr(train, "CANVASES", 1)
    monkeypatch.setattr(train, "PHASES", ((0, 3, 16),))
    monkeypatch.setattr(train, "learning_rate", lambda step, steps, cooldown: 1e-3)
    weights = []
    for name, stops in (("whole", [4]), ("halves", [2, 4])):
        work = tmp_path / name
        work.mkdir()
        for steps in stops:
            torch.manual_seed(0)
            model = Embedding(channels=2, dim=8)
            train.train(model, drawings, drawings, work, steps=steps, cooldown=1, seed=0)
        weights.append(load_model(work / "model.pt").state_dict())
    for name, value in weights[0].items():
        torch.testing.assert_close(value, weights[1][name], msg=name)


def test_trials(tiny: Embedding, drawings: images.Drawings, tmp_path: Path) -> None:
    trials.write_trials(tiny, drawings, tmp_path, 30, 2, [0, 1])
    place = tmp_path / "d2_n30"
    assert sorted(path.name for path in place.iterdir()) == [
        "00.json", "00.npz", "01.json", "01.npz",
    ]  # fmt: skip
    vectors, sets = read_embeddings(place / "00.npz").embeddings, read_sets(place / "00.json")
    assert vectors.shape == (30, 8)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    lists = sets.to_lists()
    kinds = [list(c) for size in (1, 2) for c in combinations(range(5), size)]
    assert sorted(lists) == sorted(kinds * 2)
    assert lists != read_sets(place / "01.json").to_lists()
    # What is there stays; what is missing becomes the same again.
    before = [(place / name).read_bytes() for name in ("00.npz", "01.json")]
    (place / "01.npz").unlink()
    trials.write_trials(tiny, drawings, tmp_path, 30, 2, [0, 1])
    assert [(place / name).read_bytes() for name in ("00.npz", "01.json")] == before
    with pytest.raises(InputError, match="n = 31 is no multiple of the 15 sets"):
        trials.make_trial(tiny, drawings, 31, [0])


def test_trials_of_another_model_are_not_mixed_in(
    tiny: Embedding, folder: Path, tmp_path: Path
) -> None:
    save_model(tiny, tmp_path / "model.pt")
    arguments = [str(folder), str(tmp_path), "--sizes", "15", "--valid-size", "15", "--trials", "1"]
    trials.main(arguments)
    trials.main(arguments)
    torch.nn.init.zeros_(tiny.compose.w1.weight)
    save_model(tiny, tmp_path / "model.pt")
    with pytest.raises(InputError, match="are of another model"):
        trials.main(arguments)


def test_all_of_it_on_made_up_characters(repo_root: Path, tmp_path: Path) -> None:
    script = repo_root / "recipes" / "omniglot" / "run.sh"
    done = run_script(script, "--smoke", "--work", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| test (8) |" in done.stdout
    assert "**CRI (%), sets of up to 2**" in done.stdout
    for method in ("GCR", "CAP", "CKM", "AP", "AC", "FCM", "GMM", "OSC", "true centroids"):
        assert f"| {method} |" in done.stdout
    assert (tmp_path / "smoke" / "scores.tsv").is_file()
