"""Passes against numpy, and their draws against probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from scipy.stats import chisquare

from diarize.clustering.dpgmm.passes import Passes


def passes_of(n=50, D=2):
    return Passes(torch.from_numpy(np.random.default_rng(0).normal(size=(n, D))), True)


def test_labels_are_drawn_as_often_as_they_are_probable():
    n = 4000
    passes = Passes(torch.full((n, 1), 0.5, dtype=torch.float64), True)
    scores = np.array([0.0, 1.0, -500.0, 0.5, -1e6])
    weights = np.zeros((5, 3))
    weights[:, 0] = scores
    luck = 1 - torch.rand(n, generator=torch.Generator().manual_seed(0))
    counts = np.bincount(passes.draw(weights, luck), minlength=5)
    expected = softmax(scores) * n
    assert counts[[2, 4]].sum() == 0
    assert chisquare(counts[[0, 1, 3]], expected[[0, 1, 3]]).pvalue > 0.01


def test_the_edges_of_luck_draw_clusters_that_are_possible():
    passes = passes_of(n=2)
    weights = np.zeros((4, passes.features.size))
    weights[:, 0] = [-1e9, 3.0, 3.0, -1e9]
    luck = torch.tensor([2.0**-24, 1.0])
    assert passes.draw(weights, luck).tolist() == [1, 2]


def test_halves_are_drawn_by_the_odds_of_their_cluster(monkeypatch):
    n = 4000
    passes = Passes(torch.zeros((n, 1), dtype=torch.float64), True)
    monkeypatch.setattr("diarize.clustering.dpgmm.passes.PASS_VALUES", 999 * passes.features.size)
    labels = torch.arange(n) % 2
    odds = np.array([[0.5, 0.0, 0.0], [-2.0, 0.0, 0.0]])
    luck = torch.rand(n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    halves, sums = passes.draw_halves(labels, odds, luck)
    for k, odd in enumerate([0.5, -2.0]):
        assert halves[labels == k].double().mean() == pytest.approx(expit(odd), abs=0.03)
        assert sums[k, 1, 0] == halves[labels == k].sum()
    assert sums[:, :, 0].sum() == n
