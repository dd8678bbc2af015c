r"""Try one change of the training at a time, from the same weights, and judge it on `dev-a`.

    PYTHONPATH=recipes python recipes/embedding/trials.py SPEECH_DIR WORK/voices \
        --start start.safetensors --noise DIR --steps 500 nothing margin-head consistency

WORK is a folder in which a training has collected its voices (`run.sh`); `nothing` is that
training. Without --start the weights are drawn, as changes of f's sizes need them to be.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int64
from report import POOL, WAYS
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize, relu

from diarize.embedding import CompositionalEmbedding, EmbeddingConfig, load_model, save_model
from diarize.mixing.acoustics import read_noises
from diarize.mixing.speech import find_utterances
from diarize.mixing.voices import LOUDNESS, UNNAMED, Voices
from diarize.training.development import development_voices, make_episodes, set_accuracy
from diarize.training.episodes import Batch, EpisodeConfig, EpisodeMaker
from diarize.training.loading import loader
from diarize.training.loop import LoopConfig, Trainer, begin, runs_bf16
from diarize.training.losses import compose_all, reference_rounds, set_index
from diarize.training.rendering import Acoustics, Renderer
from diarize.training.shifts import SHIFTS

TRIPLET_MARGIN = 0.2  # of squared distances
HEAD_MARGIN, HEAD_SCALE, HEAD_WEIGHT = 0.2, 30.0, 0.5
# Voices and episodes of a step, by the share of the training that is over; as many windows each.
GROWTH = ((0.0, 5, 4), (0.25, 8, 3), (0.5, 12, 2), (0.75, 16, 2))
EPISODES = 150

Losses = dict[str, Tensor]


class TrialTrainer(Trainer):
    """The usual parts of the loss, and those of a trial."""

    def __init__(self, model: CompositionalEmbedding, config: LoopConfig, voices: Voices) -> None:
        super().__init__(model, config)

    def losses(self, batch: Batch, vectors: Float[Tensor, "e windows dim"]) -> Losses:
        """All parts by name."""
        return super().losses(batch, vectors) | self.extra(batch, vectors)

    def extra(self, batch: Batch, vectors: Float[Tensor, "e windows dim"]) -> Losses:
        """What a trial adds: nothing."""
        return {}


class TripletTrainer(TrialTrainer):
    """The paper's loss: every window nearer to its own set than to any other, by a margin."""

    def losses(self, batch: Batch, vectors: Float[Tensor, "e windows dim"]) -> Losses:
        """Hinges in place of the softmax over sets."""
        largest = self.config.max_set_size
        target = set_index(batch.members, largest)
        hinges = []
        for rows in reference_rounds(batch.members, batch.alone, batch.known):
            sets = compose_all(self.model.compose, vectors[:, rows], largest)
            away = 2 - 2 * torch.einsum("ewp,ecp->ewc", vectors, sets)
            own = away.gather(2, target.clamp(min=0)[..., None])
            hinge = relu(TRIPLET_MARGIN + own - away)
            hinge = hinge.scatter(2, target.clamp(min=0)[..., None], 0.0)
            asked = batch.known & (target >= 0)
            asked[:, rows] = False
            hinge = hinge[asked]
            hinges.append(hinge.sum() / (hinge > 0).sum().clamp(min=1))
        return {"windows": 10 * torch.stack(hinges).mean()}


class MarginTrainer(TrialTrainer):
    """Also tells all voices apart, by windows of one of them, with an additive margin."""

    def __init__(self, model: CompositionalEmbedding, config: LoopConfig, voices: Voices) -> None:
        super().__init__(model, config, voices)
        self.head = nn.Parameter(torch.randn(len(voices), model.config.dim))
        group = {"params": [self.head], "factor": 1.0, "lr": 0.0, "weight_decay": 0.0}
        self.optimiser.add_param_group(group)

    def extra(self, batch: Batch, vectors: Float[Tensor, "e windows dim"]) -> Losses:
        """The head's cross-entropy."""
        voices = batch.voices[:, None].expand(-1, batch.alone.shape[1], -1)
        owner = voices.gather(2, batch.members.int().argmax(dim=2, keepdim=True))[..., 0]
        owner = owner[batch.alone]
        cosines = vectors[batch.alone] @ normalize(self.head, dim=1).T
        margin = HEAD_MARGIN * nn.functional.one_hot(owner, len(self.head))
        return {"head": HEAD_WEIGHT * cross_entropy(HEAD_SCALE * (cosines - margin), owner)}


@dataclass(frozen=True)
class BatchWithParts(Batch):
    """Also what each of the two voices of every pair is alone, the very same sound."""

    pairs: Int64[Tensor, " pairs"]
    parts: Float[Tensor, "voices frames 32"]


class _KeepingRenderer(Renderer):
    """Keeps the sound of every voice in its place, before they are added up."""

    def _in_rooms(
        self,
        rng: np.random.Generator,
        stretches: Tensor,
        voice: np.ndarray,
        where: np.ndarray,
        episodes: int,
    ) -> Tensor:
        self.window = where[:, 0]
        self.alone = super()._in_rooms(rng, stretches, voice, where, episodes)
        return self.alone


class PartsMaker(EpisodeMaker):
    """Makes the parts of the pairs beside the windows."""

    def __init__(
        self, voices: Voices, noises: list[np.ndarray], config: EpisodeConfig, steps: int
    ) -> None:
        super().__init__(voices, noises, config, seed=0)
        acoustics = config.acoustics
        self.renderer = _KeepingRenderer(voices, noises, acoustics, config.labelled, seed=0)

    def __getitem__(self, step: int) -> BatchWithParts:
        batch = super().__getitem__(step)
        config, renderer = self.config, self.renderer
        assert isinstance(renderer, _KeepingRenderer)
        first = config.speakers * config.singles
        place = renderer.window % config.windows
        sound = renderer.alone[(place >= first) & (place < first + config.pairs)]
        sound = sound * (LOUDNESS / sound.square().mean(dim=1, keepdim=True).sqrt().clamp(1e-5))
        pairs = torch.arange(first, first + config.pairs)
        return BatchWithParts(**vars(batch), pairs=pairs, parts=self._features(sound))


class ConsistentTrainer(TrialTrainer):
    """Also pulls f of a mixture and g of f of its parts together."""

    def extra(self, batch: Batch, vectors: Float[Tensor, "e windows dim"]) -> Losses:
        """One minus the cosine between the two."""
        assert isinstance(batch, BatchWithParts)
        kind = torch.device(self.device).type
        with torch.autocast(kind, torch.bfloat16, self.config.bf16 and runs_bf16(kind)):
            alone = self.model(batch.parts)
        a, b = alone.float().unflatten(0, (-1, 2)).unbind(1)
        mixed = vectors[:, batch.pairs].flatten(0, 1)
        return {"consistency": (1 - (self.model.compose(a, b) * mixed).sum(dim=1)).mean()}


class GrowingMaker(torch.utils.data.Dataset):
    """Episodes of few voices first, of many in the end."""

    def __init__(
        self, voices: Voices, noises: list[np.ndarray], config: EpisodeConfig, steps: int
    ) -> None:
        self.begins = [share * steps for share, _, _ in GROWTH]
        self.makers = [
            EpisodeMaker(voices, noises, replace(config, speakers=speakers, episodes=n), seed=0)
            for _, speakers, n in GROWTH
        ]

    def __getitem__(self, step: int) -> Batch:
        return self.makers[np.searchsorted(self.begins, step, side="right") - 1][step]


def without_shifts(voices: Voices) -> Voices:
    """Leave out the voices that were made last: those of other formants and pitch."""
    named = np.unique(voices.speakers[voices.corpora != UNNAMED])
    return voices[np.arange(len(voices) - len(SHIFTS) * len(named))]


def usual_maker(
    voices: Voices, noises: list[np.ndarray], config: EpisodeConfig, steps: int
) -> EpisodeMaker:
    """All steps' episodes are alike."""
    return EpisodeMaker(voices, noises, config, seed=0)


@dataclass(frozen=True)
class Change:
    """What is done otherwise."""

    voices: Callable[[Voices], Voices] = lambda voices: voices
    model: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    episodes: EpisodeConfig = field(default_factory=EpisodeConfig)
    trainer: type[TrialTrainer] = TrialTrainer
    maker: Callable[..., torch.utils.data.Dataset] = usual_maker


CHANGES = {
    "nothing": Change(),
    "triplets": Change(trainer=TripletTrainer),
    "margin-head": Change(trainer=MarginTrainer),
    "consistency": Change(trainer=ConsistentTrainer, maker=PartsMaker),
    "growing": Change(maker=GrowingMaker),
    "no-triples": Change(episodes=EpisodeConfig.up_to(2)),
    "not-alike": Change(episodes=EpisodeConfig(alike=0.0)),
    "lengths": Change(episodes=EpisodeConfig(seconds=(0.7, 1.0, 1.5, 2.0, 2.5, 4.0))),
    "corpora-mixed": Change(episodes=EpisodeConfig(same_corpus=0.8)),
    "places-mixed": Change(episodes=EpisodeConfig(acoustics=Acoustics(one_place=0.0))),
    "no-shifts": Change(voices=without_shifts),
    "stack-2": Change(model=EmbeddingConfig(stack=2)),
    "stack-8": Change(model=EmbeddingConfig(stack=8)),
    "hidden-128": Change(model=EmbeddingConfig(hidden=128)),
    "layers-1": Change(model=EmbeddingConfig(layers=1)),
}


def learn(
    change: Change,
    voices: Voices,
    noises: list[np.ndarray],
    loop: LoopConfig,
    start: CompositionalEmbedding | None,
) -> tuple[CompositionalEmbedding, dict[str, float]]:
    """Train with a change; also the parts of the loss over the last tenth of the steps."""
    voices = change.voices(voices)
    torch.manual_seed(0)
    model = CompositionalEmbedding(change.model)
    trainer = change.trainer(model, loop, voices)
    maker = change.maker(voices, noises, change.episodes, loop.steps)
    begin(trainer, usual_maker(voices, [], EpisodeConfig(), 0), None, start)
    last: list[dict[str, float]] = []
    for batch in loader(maker, range(loop.steps), workers=1):
        parts = trainer.advance(batch)
        if trainer.step > 0.9 * loop.steps:
            last.append(parts)
    return model.eval(), {name: float(np.mean([p[name] for p in last])) for name in last[0]}


def main() -> None:
    """Train and judge with each change, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("speech", type=Path)
    parser.add_argument("voices", type=Path)
    parser.add_argument("changes", nargs="+", choices=CHANGES)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--noise", type=Path)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--rate", type=float, default=6e-4, help="falls to zero")
    parser.add_argument("--out", type=Path, default=Path("trials"), help="weights go there")
    given = parser.parse_args()
    voices = Voices.load(given.voices)
    noises = read_noises(given.noise) if given.noise else []
    start = load_model(given.start) if given.start else None
    if start and any(CHANGES[name].model != start.config for name in given.changes):
        parser.error(f"{given.start} has other sizes")
    unheard = development_voices(find_utterances(given.speech, "dev-a"), POOL)
    heard = [
        {name: make_episodes(own, EPISODES, seed=0, through=way) for name, own in unheard.items()}
        for way in WAYS.values()
    ]
    given.out.mkdir(parents=True, exist_ok=True)
    loop = LoopConfig(steps=given.steps, cooldown=given.steps, rate=given.rate, warmup=100)
    print("Set accuracy " + "; ".join(WAYS), "\n")
    print("| change | " + " | ".join(heard[0]) + " | seconds | loss |")
    print("|---" * (3 + len(heard[0])) + "|", flush=True)
    for name in given.changes:
        began = time.monotonic()
        model, parts = learn(CHANGES[name], voices, noises, loop, start)
        seconds = time.monotonic() - began
        save_model(model, given.out / f"{name}.safetensors")
        figures = [
            ", ".join(f"{set_accuracy(model, one[corpus]).all:.3f}" for one in heard)
            for corpus in heard[0]
        ]
        loss = ", ".join(f"{part} {value:.2f}" for part, value in parts.items())
        print(f"| {name} | " + " | ".join(figures) + f" | {seconds:.0f} | {loss} |", flush=True)


if __name__ == "__main__":
    main()
