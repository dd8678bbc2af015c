"""Fit f and g to somebody's own recordings, of which it is written down who speaks when.

Each step has windows of the recordings, which are to go to their own sets among those of their
recording, and windows of other speech, which are to stay where the start weights put them: labels
teach what is new, and the start weights themselves what is not to be forgotten. Recordings held
back judge: if they do not say that it is better, the weights stay those of the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from diarize.embedding import CompositionalEmbedding, load_model, pick_device, save_model
from diarize.formats.labelled import Labelled
from diarize.mixing.acoustics import noises_of
from diarize.mixing.speech import utterances_of
from diarize.mixing.voices import UNLABELLED_SPEEDS, Voices, collect_voices
from diarize.progress import Hook
from diarize.scoring.report import standard_error
from diarize.storage.weights import DEFAULT_MODEL
from diarize.training.checkpoints import SpeechRecipe, has_begun, recipe_text, write_recipe
from diarize.training.episodes import Batch, EpisodeConfig, EpisodeMaker
from diarize.training.identification import shares
from diarize.training.labelled import split_recordings, voices_of
from diarize.training.loop import LoopConfig, Trainer, begin, train
from diarize.training.rendering import Acoustics, training_rooms
from diarize.training.single_speaker import single_speaker_speech
from diarize.training.steps import Report

SHORTEST_TAUGHT = 0.5
"""Seconds of the shortest stretch that is learned from, as the shortest window of training."""

LEAST_TAUGHT = 2.0
"""Seconds that a speaker must say alone, all in all, to be learned from."""

MOST_SPEAKERS = 8
"""Of one recording in an episode."""

AS_THEY_ARE = Acoustics(rooms=0.0, one_place_rooms=0.0, noisy=0.3, snr=(10.0, 30.0), coded=0.0)
"""The recordings have a room, a line and noise already."""


def fitting_loop(steps: int = 300, **others: Any) -> LoopConfig:
    """Few steps; the rate falls over the last two thirds of them, unless told otherwise."""
    usual = {"rate": 1e-3, "warmup": 20, "cooldown": 2 * steps // 3, "every": 50}
    return LoopConfig(steps=steps, **(usual | others))


@dataclass(frozen=True, kw_only=True)
class FittingRecipe(SpeechRecipe):
    """All that a fit to recordings is made of.

    Attributes:
        recordings: folders of recordings with RTTM files of the same stem.
        speech: folders of single-speaker speech, so that nothing is forgotten; none: the voices of
            the recordings, through other rooms and lines.
        start: weights to begin with, a model's name or file.
        kept: weight of what is to stay as it is.
        loop: steps.
    """

    recordings: Sequence[Path]
    speech: Sequence[Path] = ()
    start: str | Path = DEFAULT_MODEL
    kept: float = 60.0
    loop: LoopConfig = field(default_factory=fitting_loop)


@dataclass(frozen=True)
class FitResult:
    """What came of it.

    Attributes:
        weights: where they are.
        better: whether they are new; otherwise they are those of the start.
        before, after: share of the held-back windows that go to their set, the mean over all sets
            of all recordings, with the start weights and the new ones.
        error: standard error of their difference.
        taught, held: recordings that were learned from, and held back.
    """

    weights: Path
    better: bool
    before: float
    after: float
    error: float
    taught: int
    held: int


@dataclass(frozen=True)
class FittingBatch(Batch):
    """Windows of recordings, and others beside them of which nobody asks whose they are."""

    beside: Float[Tensor, "others ..."]


class FittingMaker(torch.utils.data.Dataset[Batch]):
    """Item t is the batch of step t: episodes of recordings, one maker for each number of speakers.

    `shares` say how often each of them is drawn; `beside` makes the windows beside them.
    """

    def __init__(
        self,
        own: Sequence[EpisodeMaker],
        shares: Sequence[float],
        beside: EpisodeMaker,
        seed: int,
    ) -> None:
        self.own, self.shares, self.beside, self.seed = own, shares, beside, seed

    def __getitem__(self, step: int) -> FittingBatch:
        rng = np.random.default_rng([self.seed, 6, step])
        batch = self.own[int(rng.choice(len(self.own), p=self.shares))][step]
        return FittingBatch(**vars(batch), beside=self.beside[step].features)


class Fitter(Trainer):
    """Moves the last layers of f, and g; the windows beside them are to stay where they were."""

    def __init__(
        self, start: CompositionalEmbedding, config: LoopConfig, kept: float, device: str
    ) -> None:
        self.start, self.kept = deepcopy(start).to(device).requires_grad_(False), kept
        model = deepcopy(start)
        model.compose.requires_grad_(True)
        for layer in model.encode.last_layers:
            layer.requires_grad_(True)
        super().__init__(model, config, device)

    def losses(self, batch: Batch, vectors: Float[Tensor, "e windows dim"]) -> dict[str, Tensor]:
        """Those of the labels, and how far f and g of the windows beside them have moved."""
        assert isinstance(batch, FittingBatch)
        with torch.no_grad():
            heard = self.start.encode.pool(batch.beside)  # which the model hears alike
            before, union = self._placed(self.start, heard)
        after, composed = self._placed(self.model, heard)
        moved = 2 - (after * before).sum(dim=-1).mean() - (composed * union).sum(dim=-1).mean()
        return super().losses(batch, vectors) | {"kept": self.kept * moved}

    @staticmethod
    def _placed(
        model: CompositionalEmbedding, heard: Float[Tensor, "others pooled"]
    ) -> tuple[Float[Tensor, "others dim"], Float[Tensor, "others dim"]]:
        """Windows through f, and unions of each with the one before it."""
        vectors = model.encode.locate(heard)
        return vectors, model.compose(vectors, vectors.roll(1, 0))


def fit_recordings(
    recipe: FittingRecipe,
    folder: Path,
    *,
    device: str = "cpu",
    workers: int = 1,
    until: int | None = None,
    hook: Hook | None = None,
    report: Report | None = None,
) -> FitResult | None:
    """Fit to recordings, or go on where it was interrupted; as `train_embedding`, alone.

    Returns:
        What came of it; None if it was stopped before the last step.

    Raises:
        InputError: as there, or recordings, labels or a model that cannot be used.
    """
    own_device = pick_device(device)
    written = recipe_text(recipe, every=0)
    begun = has_begun(written, folder)
    start = load_model(recipe.start)
    taught, held = split_recordings(recipe.recordings)
    rooms, noises = training_rooms(recipe.rooms, recipe.seed), noises_of(recipe.noise)
    if not begun:
        _collect(recipe, taught, folder, hook)
        write_recipe(written, folder)
    maker = _maker(recipe, folder, rooms, noises)
    trainer = Fitter(start, recipe.loop, recipe.kept, own_device)
    begin(trainer, maker, folder / "checkpoint.safetensors", start)
    train(trainer, maker, folder, {}, workers=workers, until=until, hook=hook, report=report)
    if trainer.step < recipe.loop.steps:
        return None
    fitted = trainer.model.cpu().eval().requires_grad_(False)
    asked = [single_speaker_speech(*one, least=0.0) for one in held]
    before, after = (shares(asked, model, recipe.seed) for model in (start, fitted))
    gains = after - before
    error = standard_error(gains)
    # Where one set alone is better, the mean is its error: rounding is not to decide.
    better = bool(gains.mean() > error + 1e-9)
    weights = folder / "model.safetensors"
    save_model(fitted if better else start, weights)
    figures = float(before.mean()), float(after.mean()), error
    return FitResult(weights, better, *figures, len(taught), len(held))


def _maker(
    recipe: FittingRecipe, folder: Path, rooms: np.ndarray, noises: list[np.ndarray]
) -> FittingMaker:
    """What makes batches of the voices in the folder."""
    own = Voices.load(folder / "voices")
    beside = Voices.load(folder / "beside") if recipe.speech else own
    speakers = np.unique(own.corpora, return_inverse=True, return_counts=True)
    together = np.minimum(speakers[2], MOST_SPEAKERS)[speakers[1]]  # voices of each one's recording
    sizes, counts = np.unique(together, return_counts=True)
    makers = [
        EpisodeMaker(own[together == size], noises, episodes_of(int(size)), recipe.seed, rooms)
        for size in sizes
    ]
    n = min(MOST_SPEAKERS, len(np.unique(beside.speakers)))
    config = replace(
        EpisodeConfig(),
        episodes=1,
        speakers=n,
        same_corpus=0.95 if recipe.speech else 0.0,
        triples=4 if n > 2 else 0,
    )
    other = EpisodeMaker(beside, noises, config, recipe.seed + 1, rooms)
    return FittingMaker(makers, (counts / counts.sum()).tolist(), other, recipe.seed)


def episodes_of(speakers: int) -> EpisodeConfig:
    """Episodes of recordings with so many speakers."""
    return EpisodeConfig(
        episodes=3,
        speakers=speakers,
        singles=max(2, MOST_SPEAKERS // speakers),
        pairs=8,
        triples=4 if speakers > 2 else 0,
        starts=4,
        changes=4,
        same_corpus=1.0,
        acoustics=AS_THEY_ARE,
    )


def _collect(
    recipe: FittingRecipe, taught: Sequence[Labelled], folder: Path, hook: Hook | None
) -> None:
    """Keep the voices of the recordings, and those beside them."""
    if recipe.speech:
        utterances = utterances_of(recipe.speech, recipe.split)
        collect_voices(utterances, (1.0,), hook).save(folder / "beside")
    said = (
        single_speaker_speech(*one, shortest=SHORTEST_TAUGHT, least=LEAST_TAUGHT) for one in taught
    )
    voices_of(said, UNLABELLED_SPEEDS).save(folder / "voices")
