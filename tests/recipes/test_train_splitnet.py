"""SplitNet's training: it learns, it resumes, it says how well it splits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import train_splitnet as splitnet
from safetensors.torch import load_file
from train_splitnet import (
    SplitRecipe,
    drawn_tests,
    split_accuracy,
    swap_invariant_loss,
    train_splitnet,
)

from diarize.clustering.dpgmm.splitnet import SplitNetConfig, load_splitnet
from diarize.errors import InputError, TrainingError

from .conftest import run_script


@pytest.fixture
def small(monkeypatch):
    """Networks and tests that a moment suffices for."""
    config = SplitNetConfig(2, hidden=16, encoders=1, decoders=1, inducing=4, seeds=2, heads=2)
    monkeypatch.setattr(splitnet.SplitNetConfig, "of", lambda D: config)
    monkeypatch.setattr(splitnet, "TEST_SETS", 4)
    monkeypatch.setattr(splitnet, "TEST_ROWS", 32)
    return SplitRecipe(dimension=2, steps=6, batch=4, rows=(16, 24), every=2)


def test_a_training_that_was_stopped_ends_where_another_does(small, tmp_path):
    said = []
    whole = train_splitnet(small, tmp_path / "whole", report=lambda *line: said.append(line))
    assert [line[0] for line in said] == [2, 4, 6]
    assert said[0][2].keys() == {"easy", "medium", "hard"}
    train_splitnet(small, tmp_path / "parts", until=3)
    parts = train_splitnet(small, tmp_path / "parts")
    a, b = load_splitnet(whole).state_dict(), load_splitnet(parts).state_dict()
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_a_gradient_that_is_not_finite_stops_the_training(small, tmp_path, monkeypatch):
    def spoilt(recipe, step):
        rows, halves = batch_of(recipe, step)
        return (rows * torch.nan if step == 3 else rows), halves

    batch_of = SplitRecipe.batch_of
    monkeypatch.setattr(SplitRecipe, "batch_of", spoilt)
    with pytest.raises(TrainingError, match=r"^step 3: the gradient of .* is not finite"):
        train_splitnet(small, tmp_path)
    assert load_file(tmp_path / "broken-3.safetensors")["rows"].isnan().all()
    assert not (tmp_path / "splitnet.safetensors").exists()
    sound = load_file(tmp_path / "checkpoint.safetensors")
    assert all(tensor.isfinite().all() for tensor in sound.values())


def test_another_recipe_is_refused(small, tmp_path):
    train_splitnet(small, tmp_path, until=1)
    other = SplitRecipe(dimension=2, steps=6, batch=5, rows=(16, 24))
    with pytest.raises(InputError, match="training by another recipe"):
        train_splitnet(other, tmp_path)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match="damaged checkpoint"):
        train_splitnet(small, tmp_path)


def test_a_training_can_begin_with_weights_and_the_hardest_sets(small, tmp_path):
    first = train_splitnet(small, tmp_path / "first")
    again = replace(small, start=first, steps=2, rate=0.0)
    second = train_splitnet(again, tmp_path / "second")
    a, b = load_splitnet(first).state_dict(), load_splitnet(second).state_dict()
    assert all(torch.equal(a[name], b[name]) for name in a)  # at a rate of zero nothing is learned
    hard = replace(small, start=first).batch_of(0)[0]
    easy = small.batch_of(0)[0]
    assert not torch.equal(hard, easy)
    with pytest.raises(InputError, match="a network for 2 dimensions, not for 3"):
        train_splitnet(replace(again, dimension=3), tmp_path)


def test_it_learns(small, tmp_path):
    losses = []
    recipe = SplitRecipe(dimension=2, steps=60, batch=8, rows=(16, 24), every=30, rate=1e-2)
    train_splitnet(recipe, tmp_path, report=lambda step, loss, accuracy: losses.append(loss))
    assert losses[1] < losses[0]


def test_the_curriculum_grows_harder():
    recipe = SplitRecipe(dimension=2, steps=100, batch=64, rows=(32, 32))
    rates = [recipe.rate_at(step) for step in range(101)]
    assert max(rates) <= recipe.rate and rates[100] == pytest.approx(0)
    rows, halves = recipe.batch_of(99)
    again = recipe.batch_of(99)
    assert torch.equal(rows, again[0]) and torch.equal(halves, again[1])


def test_accuracy_is_of_partitions(small):
    tests = drawn_tests(2, 3)
    truth = iter([halves for _, halves in tests.values()])
    assert set(split_accuracy(lambda rows: ~next(truth), tests).values()) == {1.0}
    nothing = split_accuracy(lambda rows: np.zeros(rows.shape[:2], bool), tests)
    assert all(0.5 <= value < 1 for value in nothing.values())


def test_the_loss_knows_no_names_and_no_order():
    logits, halves = torch.randn(4, 30), (torch.rand(4, 30) < 0.4).float()
    loss = swap_invariant_loss(logits, halves)
    order = torch.randperm(30)
    assert torch.allclose(loss, swap_invariant_loss(logits, 1 - halves))
    assert torch.allclose(loss, swap_invariant_loss(-logits, halves))
    assert torch.allclose(loss, swap_invariant_loss(logits[:, order], halves[:, order]))
    sure = 20 * (2 * halves - 1)
    assert swap_invariant_loss(sure, halves).max() < 1e-6
    # Of each set by itself, not of all together.
    mixed = torch.cat([sure[:2], -sure[2:]])
    assert swap_invariant_loss(mixed, halves).max() < 1e-6


def test_the_script(repo_root, tmp_path):
    script = repo_root / "recipes" / "dpgmm" / "train_splitnet.py"
    done = run_script(script, "--dim", 2, "--out", tmp_path, "--until", 0)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'splitnet.safetensors'}\n"
    assert load_splitnet(tmp_path / "splitnet.safetensors").config.dimension == 2
