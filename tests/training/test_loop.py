from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from diarize.embedding.model import CompositionalEmbedding, EmbeddingConfig
from diarize.errors import TrainingError
from diarize.training import loop
from diarize.training.development import Episodes, SetAccuracy
from diarize.training.episodes import Batch, EpisodeConfig, EpisodeMaker
from diarize.training.loop import LoopConfig, Trainer, train

SMALL = EmbeddingConfig(dim=16, hidden=8, layers=1)
EPISODES = EpisodeConfig(
    episodes=1, speakers=4, pairs=2, triples=1, starts=2, changes=2, seconds=(0.6,)
)
LOOP = LoopConfig(steps=6, warmup=2, cooldown=2, every=2, bf16=False)


def trainer() -> Trainer:
    torch.manual_seed(0)
    return Trainer(CompositionalEmbedding(SMALL), LOOP)


@pytest.fixture(scope="module")
def maker(hums):
    return EpisodeMaker(hums, [], EPISODES, seed=0)


def test_the_loss_falls(maker):
    learner, batch = trainer(), maker[0]
    learner.config = LoopConfig(steps=60, rate=5e-3, warmup=1, cooldown=1, bf16=False)
    losses = [sum(learner.advance(batch).values()) for _ in range(40)]
    assert losses[-1] < 0.7 * losses[0]


class Broken(EpisodeMaker):
    """Makes the same episodes, and in one of them features that are no numbers."""

    def __init__(self, maker: EpisodeMaker, item: int) -> None:
        vars(self).update(vars(maker), item=item)

    def __getitem__(self, item: int) -> Batch:
        batch = super().__getitem__(item)
        spoilt = batch.features * torch.nan
        return replace(batch, features=spoilt) if item == self.item else batch


def test_a_gradient_that_is_not_finite_stops_before_the_weights_are_touched(maker, tmp_path):
    learner, same = trainer(), trainer()
    with pytest.raises(TrainingError) as stopped:
        train(learner, Broken(maker, 3), tmp_path, {}, workers=0)
    path = tmp_path / "broken-3.safetensors"
    reason = str(stopped.value)
    assert reason.startswith("step 3: the gradient of encode.")
    assert reason.endswith(f"training stops before it, its batch is in {path}")
    kept = load_file(path)
    assert kept["features"].isnan().all()
    assert torch.equal(kept["members"], maker[3].members)
    (tmp_path / "again").mkdir()
    train(same, maker, tmp_path / "again", {}, workers=0, until=3)
    for name, value in same.model.state_dict().items():
        torch.testing.assert_close(learner.model.state_dict()[name], value, rtol=0, atol=0)
    learner.load(tmp_path / "checkpoint.safetensors")  # of the step before, and sound
    assert learner.step == 2
    assert all(value.isfinite().all() for value in learner.model.state_dict().values())


def test_an_interruption_between_checkpoints_is_no_candidate(maker, tmp_path, monkeypatch):
    nothing = np.zeros((1, 15, 2, 32), np.float32)
    episodes = {"hums": Episodes(nothing, nothing)}
    monkeypatch.setattr(loop, "set_accuracy", lambda *_: SetAccuracy(1, 1, 1, 1, 1))
    learner = trainer()
    train(learner, maker, tmp_path, episodes, workers=0, until=3)
    assert learner.best.step == 2
    again = trainer()
    again.load(tmp_path / "checkpoint.safetensors")
    assert (again.best.step, again.best.figure) == (2, 1.0)
    for name, value in again.finished().state_dict().items():
        assert torch.equal(value, learner.best.weights[name])
    train(again, maker, tmp_path, episodes, workers=0)
    assert again.best.step == 6  # of equals the later


def test_f_is_trained_alone_where_sets_have_one_voice(maker):
    learner = Trainer(trainer().model, LoopConfig(steps=6, warmup=1, max_set_size=1, bf16=False))
    before = {k: v.clone() for k, v in learner.model.state_dict().items()}
    for step in range(2):
        learner.advance(maker[step])
    moved = {k for k, v in learner.model.state_dict().items() if not torch.equal(v, before[k])}
    assert moved
    assert not any(name.startswith("compose") for name in moved)


def test_the_rate_rises_stays_and_falls():
    learner = trainer()
    learner.config = LoopConfig(steps=100, rate=1.0, warmup=10, cooldown=20)
    rates = [learner.rate(step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == rates[80] == 1.0
    assert rates[90] == pytest.approx(0.5)
    assert rates[99] == pytest.approx(0.05)
