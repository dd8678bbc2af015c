"""Modes beside a drawn partition."""

from __future__ import annotations

import numpy as np
import torch

from diarize.clustering.dpgmm.moves import log_joint
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.passes import Passes
from diarize.clustering.dpgmm.settling import settled


def test_the_posterior_rises_to_a_mode_and_no_cluster_is_empty():
    generator = np.random.default_rng(0)
    truth = np.arange(400) % 4
    x = 4 * generator.normal(size=(4, 2))[truth] + generator.normal(size=(400, 2))
    passes, prior = Passes(torch.from_numpy(x), True), NIW.from_data(x)
    scattered = np.where(generator.random(400) < 0.3, generator.integers(0, 4, 400), truth)
    scattered[0] = 4  # a cluster of one row

    def joint(labels: torch.Tensor) -> float:
        K = int(labels.max()) + 1
        assert set(labels.tolist()) == set(range(K))
        return log_joint(prior, passes.features.statistics(passes.sums(labels, K)), 1.0)

    begin = torch.from_numpy(scattered)
    found = settled(passes, begin, prior, 1.0)
    assert joint(found) > joint(begin) + 100
    assert torch.equal(settled(passes, found, prior, 1.0), found)
