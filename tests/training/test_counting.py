import dataclasses

import numpy as np
import pytest
import torch

from diarize.activity.counter import CounterConfig, VoiceCounter
from diarize.training.chunks import UNKNOWN, Shard
from diarize.training.counting import (
    CounterLoop,
    CounterTrainer,
    as_batch,
    draw_batch,
    judge,
)

TINY = CounterConfig(width=8, hidden=4, layers=1)


def drawn_shard(seed: int, chunks: int = 4) -> Shard:
    rng = np.random.default_rng(seed)
    spectra = rng.integers(80, 160, (chunks, 32, 256), dtype=np.uint8)
    speech = rng.integers(256, size=(chunks, 20), dtype=np.uint8)
    voices = rng.integers(5, size=(chunks, 32), dtype=np.uint8)
    return Shard(spectra, speech, voices, np.zeros((chunks, 32, 4), np.uint8))


@pytest.fixture
def shards() -> list[Shard]:
    return [drawn_shard(seed) for seed in range(20)]


def test_the_schedule() -> None:
    loop = CounterLoop()
    assert [loop.shards_at(step) for step in (0, 63, 64, 4499)] == [10, 10, 11, 80]
    assert loop.rate_at(0) == pytest.approx(loop.rate / loop.warmup)
    assert loop.rate_at(loop.warmup) == pytest.approx(loop.rate, rel=0.01)
    assert loop.rate_at(loop.steps // 2) == pytest.approx(loop.rate / 2)
    assert loop.rate_at(loop.steps) == pytest.approx(0.0)


def test_bytes_become_tensors() -> None:
    shard = drawn_shard(0)
    batch = as_batch(shard, TINY)
    assert batch.spectra.shape == (4, 32, 256)
    assert batch.hints.shape == (4, 16, 2)
    np.testing.assert_allclose(batch.spectra, shard.spectra * 0.12 - 14.0, rtol=1e-5, atol=1e-5)
    truth = np.eye(4)[np.minimum(shard.voices, 3)]
    np.testing.assert_array_equal(batch.wanted, truth)


def test_a_teacher_counts_as_much_as_the_truth() -> None:
    told = np.zeros((1, 2, 4), np.uint8)
    told[..., 1:3] = 127  # one or two, each as likely
    voices = np.array([[1, UNKNOWN]], np.uint8)
    shard = Shard(np.zeros((1, 2, 256), np.uint8), np.zeros((1, 20), np.uint8), voices, told)
    wanted = as_batch(shard, TINY).wanted
    np.testing.assert_allclose(wanted[0], [[0, 0.75, 0.25, 0], [0, 0.5, 0.5, 0]], atol=1e-6)


def test_a_batch_depends_on_seed_and_step_alone(shards: list[Shard]) -> None:
    loop = CounterLoop(batch=8, chunks=4, first=2)
    once, again = (draw_batch(shards, 5, loop, TINY, 1) for _ in range(2))
    for name, value in vars(once).items():
        torch.testing.assert_close(value, getattr(again, name), rtol=0, atol=0)
    for step, seed in ((6, 1), (5, 2)):
        assert not torch.equal(draw_batch(shards, step, loop, TINY, seed).spectra, once.spectra)


def test_some_chunks_have_no_hints(shards: list[Shard]) -> None:
    loop = CounterLoop(batch=200, chunks=4, first=20, unhinted=0.3)
    hints = draw_batch(shards, 0, loop, TINY, 0).hints
    assert 0.2 < (hints == 0).all(dim=(1, 2)).float().mean() < 0.4


def test_steps_lower_the_loss_and_the_twin_follows(shards: list[Shard]) -> None:
    torch.manual_seed(0)
    loop = CounterLoop(steps=40, warmup=2, batch=8, chunks=4, first=2, rate=1e-2)
    trainer = CounterTrainer(VoiceCounter(TINY), loop)
    batch = as_batch(shards[0], TINY)
    trainer.look_at(batch.spectra)
    losses = [trainer.advance(batch)["loss"] for _ in range(30)]
    assert losses[-1] < losses[0]
    averaged = dict(trainer.averaged.named_parameters())
    for name, value in trainer.model.named_parameters():
        if not name.startswith("voice."):  # what is fitted when all steps are taken
            assert not torch.equal(averaged[name], value)
        assert not averaged[name].requires_grad


class Knowing(VoiceCounter):
    """Answers what it is told to."""

    def __init__(self, counts: torch.Tensor) -> None:
        super().__init__(TINY)
        self.counts = counts

    def forward(self, spectra: torch.Tensor, hints: torch.Tensor) -> torch.Tensor:
        return 20 * torch.nn.functional.one_hot(self.counts, 4).float()


def test_figures_of_development() -> None:
    shard = drawn_shard(0)
    truth = as_batch(shard, TINY).wanted.argmax(dim=2)
    figures = judge(Knowing(truth), shard)
    assert figures["loss"] < 1e-3
    assert (figures["miss"], figures["false"]) == (0.0, 0.0)
    assert (figures["precision"], figures["recall"], figures["ap"]) == (1.0, 1.0, 1.0)
    figures = judge(Knowing(torch.ones_like(truth)), shard)
    silent, speech = (truth == 0).sum(), (truth > 0).sum()
    assert (figures["miss"], figures["false"]) == (0.0, pytest.approx(float(silent / speech)))
    assert (figures["precision"], figures["recall"]) == (0.0, 0.0)
    silence = dataclasses.replace(shard, voices=np.zeros_like(shard.voices))
    assert judge(Knowing(truth), silence)["ap"] == 0.0
