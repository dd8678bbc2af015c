"""g for the vectors of a network that stays as it is, on hums: fitted, written, used."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

import diarize.training.composition as module
from diarize.audio import open_recording
from diarize.embedding import embed_windows, load_encoder
from diarize.embedding.fitted import Place, save_fitted
from diarize.errors import InputError
from diarize.training import fitting
from diarize.training.composition import CompositionRecipe, fit_composition
from diarize.training.development import vectors_of
from diarize.training.episodes import EpisodeConfig
from diarize.training.fitting import MappedComposition, Seen, whitened

from ..making import write_hum, write_hums
from ..networks import DIM, SAMPLES, write


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six hums to fit to, five to report on."""
    return write_hums(tmp_path_factory.mktemp("speech"), 11, trained=6)


@pytest.fixture
def recipe(speech: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CompositionRecipe:
    monkeypatch.setattr(module, "DEVELOPMENT_EPISODES", 3)
    return CompositionRecipe(
        network=write(tmp_path / "f.onnx", SAMPLES),
        speech=[speech],
        split="train",
        development="dev",
        batches=3,
        passes=4,
        episodes=EpisodeConfig(
            episodes=1, speakers=4, pairs=4, triples=1, starts=2, changes=2, seconds=(0.6, 1.0)
        ),
    )


def test_what_is_fitted_is_used_with_the_network(recipe: CompositionRecipe) -> None:
    told: list[tuple[int, float]] = []
    fitted = fit_composition(
        recipe, workers=0, report=lambda done, loss, _: told.append((done, loss))
    )
    assert [done for done, _ in told] == [1, 2, 3, 4]
    assert told[-1][1] < told[0][1]
    save_fitted(fitted, recipe.network.with_suffix(".safetensors"))
    encoder = load_encoder(recipe.network)
    assert encoder.dim == DIM
    sound = open_recording((np.random.default_rng(0).normal(0, 0.1, 32_000), 16_000))
    vectors = embed_windows(encoder, sound, np.array([[0.0, 2.0]]))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    w1, w2 = encoder.compose.hadamard_matrices()
    assert np.abs(w1 - np.eye(DIM)).max() > 1e-4 and np.abs(w2).max() > 1e-4


def test_the_same_recipe_gives_the_same_g(recipe: CompositionRecipe) -> None:
    first, second = (fit_composition(recipe, workers=0) for _ in range(2))
    assert np.array_equal(first.place.matrix, second.place.matrix)
    assert torch.equal(first.compose.w2.weight, second.compose.w2.weight)


def test_the_pass_that_is_best_on_unheard_voices_is_kept(
    recipe: CompositionRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    accuracies = iter([0.5, 0.9, 0.7, 0.2])
    kept = {}

    def judged(fit: MappedComposition, development: object) -> dict[str, object]:
        value = next(accuracies)
        kept[value] = fit.place().matrix
        figures = fitting.SetAccuracy(value, value, value, value, value)
        return {"hums": figures}

    monkeypatch.setattr(fitting, "accuracy_of", judged)
    fitted = fit_composition(recipe, workers=0)
    assert np.array_equal(fitted.place.matrix, kept[0.9])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"split": "none"}, "none"),
        ({"episodes": EpisodeConfig(speakers=8)}, "6 speakers, but 8 meet in training"),
        ({"network": Path("lstm-compositional")}, "no ONNX file"),
        ({"network": Path("missing.onnx")}, "no such file"),
    ],
)
def test_what_cannot_be_fitted(
    recipe: CompositionRecipe, change: dict[str, object], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        fit_composition(dataclasses.replace(recipe, **change), workers=0)  # type: ignore[arg-type]


def test_a_silent_speaker_is_left_out(recipe: CompositionRecipe, tmp_path: Path) -> None:
    for n in range(4):
        (tmp_path / f"s{n}").mkdir()
        write_hum(tmp_path / f"s{n}" / "a.wav", 80 + 23 * n, spoken=float(n > 0))
    with pytest.raises(InputError, match="3 speakers, but 4 meet in training"):
        fit_composition(
            dataclasses.replace(recipe, speech=[tmp_path], split=None, development=None), workers=0
        )


def test_the_map_begins_by_making_voices_scatter_more_alike_in_all_directions() -> None:
    rng = np.random.default_rng(0)
    spread = np.diag([3.0, 1.0, 0.3, 0.1])
    centres = rng.normal(size=(40, 4)) * 2 + 5
    vectors = centres[:, None] + rng.normal(size=(40, 50, 4)) @ spread  # (voices, windows, 4)
    seen = [
        Seen(
            torch.from_numpy(vectors[[v]].astype(np.float32)),
            torch.ones(1, 50, 1, dtype=torch.bool),
            torch.ones(1, 50, dtype=torch.bool),
            torch.ones(1, 50, dtype=torch.bool),
            torch.tensor([[v]]),
            1.0,
        )
        for v in range(40)
    ]
    place = whitened(seen)
    np.testing.assert_allclose(place.mean, vectors.mean(axis=(0, 1)), atol=1e-4)
    around = (vectors - vectors.mean(axis=1, keepdims=True)) @ place.matrix
    before, after = (np.linalg.eigvalsh(c) for c in (spread**2, np.cov(around.reshape(-1, 4).T)))
    assert after[-1] / after[0] < before[-1] / before[0] / 4  # shrunk, not all the way


def test_vectors_of_episodes_are_the_same_each_time(hums: object, tmp_path: Path) -> None:
    from diarize.embedding.foreign import ForeignEncoder

    encoder = ForeignEncoder(write(tmp_path / "f.onnx", SAMPLES))
    references, queries = vectors_of(encoder.rows, encoder.vectors, hums, 2, seed=4)  # type: ignore[arg-type]
    assert references.shape == queries.shape == (2, 15, DIM)
    again, _ = vectors_of(encoder.rows, encoder.vectors, hums, 2, seed=4)  # type: ignore[arg-type]
    assert torch.equal(references, again)
    unchanged = Place.unchanged(DIM)
    np.testing.assert_allclose(unchanged(references[0].numpy()), references[0], atol=1e-6)
