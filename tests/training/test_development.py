import numpy as np
import torch

from diarize.embedding.model import CompositionalEmbedding, EmbeddingConfig
from diarize.training.development import SETS, make_episodes, set_accuracy


def test_episodes_are_seeded_and_whole(hums):
    first, second = (make_episodes(hums, 3, seed=4) for _ in range(2))
    np.testing.assert_array_equal(first.queries, second.queries)
    assert first.references.shape == (3, SETS, 197, 32)


def test_an_untrained_model_guesses_better_than_chance_on_hums_and_never_beyond_one(hums):
    torch.manual_seed(0)
    model = CompositionalEmbedding(EmbeddingConfig(dim=8, hidden=8))
    found = set_accuracy(model, make_episodes(hums, 4, seed=0))
    for value in vars(found).values():
        assert 0 <= value <= 1
    assert abs(found.all - (5 * found.single + 10 * found.pair) / 15) < 1e-6
    assert found.all == found.mean  # an untrained g is the mean
