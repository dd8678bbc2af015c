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


def test_sound_may_change_on_its_way(hums):
    heard = []

    def through(rng, sides):
        heard.append((rng.random(), sides.shape))
        return sides * np.float32(0.5)

    changed, plain = make_episodes(hums, 2, seed=4, through=through), make_episodes(hums, 2, seed=4)
    assert [shape for _, shape in heard] == [(2, SETS, 32_000)] * 2
    quieter = changed.queries - plain.queries
    assert quieter[..., 0].mean() < -5  # the level is the first coefficient
    assert abs(quieter[..., 1:].mean()) < 0.5
    again = [draw for draw, _ in heard]
    make_episodes(hums, 2, seed=4, through=through)
    assert [draw for draw, _ in heard[2:]] == again
