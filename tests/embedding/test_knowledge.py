"""What is known of an embedding travels with its weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from diarize.embedding import (
    CompositionalEmbedding,
    EmbeddingConfig,
    Knowledge,
    load_model,
    save_model,
)
from diarize.embedding.knowledge import KEY, SCATTER
from diarize.errors import InputError
from diarize.scatter import Axes, Likeness, Scatter

SMALL = EmbeddingConfig(dim=4, hidden=4, layers=1, stack=2, window=1.0)


def own_knowledge() -> Knowledge:
    rng = np.random.default_rng(0)
    axes = Axes(
        *(rng.normal(size=s).astype("f").astype(float) for s in (4, (2, 4), (2, 2), (2, 2)))
    )
    scatter, likeness = Scatter(0.2, 9.0, axes=axes), Likeness(offset=-9.0, known=0.5)
    return Knowledge(window=3.0, offset=-1.0, scatter=scatter, likeness=likeness)


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    path, own = tmp_path / "own.safetensors", own_knowledge()
    save_model(CompositionalEmbedding(SMALL, own), path)
    again = load_model(path).knowledge
    assert replace(again, scatter=SCATTER) == replace(own, scatter=SCATTER)
    assert replace(again.scatter, axes=None) == Scatter(0.2, 9.0)
    assert again.scatter.axes is not None and own.scatter.axes is not None
    for name, value in vars(own.scatter.axes).items():
        assert np.array_equal(getattr(again.scatter.axes, name), value)
    first = path.read_bytes()
    save_model(load_model(path), path)
    assert path.read_bytes() == first


def test_weights_that_say_nothing_are_of_the_kind_that_ships(tmp_path: Path) -> None:
    path = tmp_path / "old.safetensors"
    save_model(CompositionalEmbedding(SMALL), path)
    header = {"diarize.embedding": json.dumps(vars(SMALL))}
    save_file(load_file(path), path, metadata=header)
    assert load_model(path).knowledge == Knowledge()


def test_the_model_that_ships_brings_its_own() -> None:
    known = load_model().knowledge
    assert replace(known, scatter=replace(known.scatter, axes=None)) == Knowledge()
    axes = known.scatter.axes
    assert axes is not None and axes.axes.shape == (20, 128)
    assert np.trace(axes.within) / np.trace(axes.total) == pytest.approx(0.101, abs=0.005)


@pytest.mark.parametrize(
    "change",
    [
        [],
        {"window": 0.0},
        {"fine_step": 1e-9},
        {"step": "x"},
        {"colour": 1},
        {"known": float("nan")},
        {"offset": True},
        {"scatter": 3},
        {"scatter": {"variance": -1.0, "dimension": 2.0}},
        {"scatter": {"variance": 1.0}},
    ],
)
def test_what_cannot_be_is_refused(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_model(CompositionalEmbedding(SMALL), path)
    header = {"diarize.embedding": json.dumps(vars(SMALL)), KEY: json.dumps(change)}
    if change == []:
        header[KEY] = "3"
    save_file(load_file(path), path, metadata=header)
    with pytest.raises(InputError, match=r"x\.safetensors: weights that do not fit") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


def test_axes_of_another_embedding_are_refused(tmp_path: Path) -> None:
    other = CompositionalEmbedding(replace(SMALL, dim=5), own_knowledge())
    save_model(other, tmp_path / "x.safetensors")
    with pytest.raises(InputError, match="its axes are of 4 dimensions, it has 5"):
        load_model(tmp_path / "x.safetensors")
