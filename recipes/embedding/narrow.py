"""Put trained models side by side, as branches of one, and narrow their vectors.

    python recipes/embedding/narrow.py VOICES_DIR OUT.safetensors MODEL MODEL... --noise DIR...
        [--rooms DIR] [--dim 128] [--batches 700] [--epochs 10] [--seed 0]
    python recipes/embedding/narrow.py PACK OUT.safetensors MODEL MODEL... --device cuda [--all]

Models err in different places, so that the mean of their cosines is right more often than each.
Each is a name that ships or a weights file, of one branch or several, all of whose branches have
the same sizes; all models count alike. VOICES_DIR is the folder `voices` of a training (`diarize
train embedding --out`), PACK what `timed.py` packed, with which sound is made on the device and
axes stay as they were. The branches stand still; a projection of their vectors, side by side, and g
of the paper's form learn that mean: of windows, and of what g makes of two of them. No labels are
needed, so nothing can be learned by heart.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from packs import is_pack
from quick_episodes import episodes_on
from sounds import EDGES
from torch import Tensor
from torch.nn.functional import normalize

from diarize.embedding import CompositionalEmbedding, load_model, save_model
from diarize.embedding.model import Branches
from diarize.mixing.acoustics import noises_of
from diarize.mixing.voices import Voices
from diarize.training.episodes import Batch, EpisodeConfig, EpisodeMaker
from diarize.training.knowledge import measured
from diarize.training.rendering import Acoustics, training_rooms

RATE = 2e-3
PAIRS = 64  # of each episode, in a step

LIGHT = Acoustics(coded=0.05, noisy=0.3, rooms=0.25, telephone=0.2, one_place=0.9)
"""Every other batch is heard as in training, the rest in less of everything."""


class Heard(NamedTuple):
    """Windows of a batch, as each model hears them.

    Attributes:
        branches: vectors of all branches side by side, before any are joined.
        vectors: of each model.
        alone: how many of the first windows of each episode are of one voice.
    """

    branches: Float[Tensor, "episodes windows side_by_side"]
    vectors: list[Float[Tensor, "episodes windows _"]]
    alone: int


def heard(models: Sequence[CompositionalEmbedding], made: Iterable[Batch]) -> Iterator[Heard]:
    """Vectors of batches."""
    for batch in made:
        shape = batch.known.shape
        branches: list[Tensor] = []
        vectors: list[Tensor] = []
        for encode in (model.encode for model in models):
            with torch.no_grad():
                own = [encoder(batch.features) for encoder in encode.encoders]
                vectors.append(encode.joined(own) if isinstance(encode, Branches) else own[0])
            branches += own
        side_by_side = torch.cat(branches, dim=-1).reshape(*shape, -1)
        yield Heard(
            side_by_side, [v.reshape(*shape, -1) for v in vectors], int(batch.alone[0].sum())
        )


def wanted(
    models: Sequence[CompositionalEmbedding], batch: Heard, pairs: Float[Tensor, "2 n"]
) -> Float[Tensor, "episodes rows rows"]:
    """Mean cosines of the windows, and the unions of some pairs, with each other."""
    left, right = pairs
    total = torch.zeros((), device=batch.branches.device)
    for model, own in zip(models, batch.vectors, strict=True):
        with torch.no_grad():
            rows = torch.cat([own, model.compose(own[:, left], own[:, right])], dim=1)
        total = total + rows @ rows.mT
    return total / len(models)


def narrowed(
    models: Sequence[CompositionalEmbedding], batches: Sequence[Heard], dim: int
) -> CompositionalEmbedding:
    """All branches in one model, and a projection onto the principal components of the models.

    Raises:
        ValueError: branches of other sizes.
    """
    first = models[0]
    encoders = [encoder for model in models for encoder in model.encode.encoders]
    sizes = {replace(m.config, dim=m.config.own, branches=1, part=0) for m in models}
    if len(sizes) > 1:
        raise ValueError("models whose branches have the same sizes are put side by side")
    config = replace(first.config, dim=dim, branches=len(encoders), part=first.config.own)
    device = batches[0].branches.device
    found = CompositionalEmbedding(config, first.knowledge).to(device)
    rows = torch.cat([torch.cat(batch.vectors, dim=-1) for batch in batches])
    rows = rows.flatten(0, 1).double()
    axes = torch.linalg.eigh(rows.T @ rows)[1].flip(1)[:, :dim]
    branches = torch.cat([batch.branches for batch in batches]).flatten(0, 1).double()
    projection = torch.linalg.lstsq(branches, rows @ axes).solution
    assert isinstance(found.encode, Branches) and found.encode.join is not None
    with torch.no_grad():
        for own, encoder in zip(found.encode.encoders, encoders, strict=True):
            own.load_state_dict(encoder.state_dict())
        found.encode.join.weight.copy_(projection.T)
    return found


def learn(
    models: Sequence[CompositionalEmbedding],
    found: CompositionalEmbedding,
    batches: Sequence[Heard],
    epochs: int,
) -> None:
    """Learn the projection and g."""
    assert isinstance(found.encode, Branches) and found.encode.join is not None
    join, compose = found.encode.join, found.compose
    slower = {"params": [join.weight], "lr": 0.2 * RATE}
    optimiser = torch.optim.Adam([slower, {"params": list(compose.parameters())}], lr=RATE)
    steps = epochs * len(batches)
    slope = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / 50, 2 * (1 - step / steps))
    )
    for epoch in range(epochs):
        total = 0.0
        for number in torch.randperm(len(batches)).tolist():
            batch = batches[number]
            pairs = torch.randint(0, batch.alone, (2, PAIRS))
            short = normalize(join(batch.branches), dim=-1)
            unions = compose(short[:, pairs[0]], short[:, pairs[1]])
            rows = torch.cat([short, unions], dim=1)
            loss = (rows @ rows.mT - wanted(models, batch, pairs)).square().mean()
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            slope.step()
            total += float(loss.detach())
        print(f"epoch {epoch}: cosines are off by {(total / len(batches)) ** 0.5:.4f}", flush=True)


def main() -> None:
    """Do it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("voices", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--noise", type=Path, nargs="*", default=[])
    parser.add_argument("--rooms", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--all", action="store_true")
    for name, value in (("dim", 128), ("batches", 700), ("epochs", 10), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    told = parser.parse_args()
    torch.manual_seed(told.seed)
    models = [load_model(name).to(told.device) for name in told.models]
    packed = is_pack(told.voices)
    made = _packed(told) if packed else _rendered(told)
    batches = list(heard(models, islice(made, told.batches)))
    found = narrowed(models, batches, told.dim)
    learn(models, found.train(), batches, told.epochs)
    found = found.cpu().eval().requires_grad_(False)
    if not packed:
        found.knowledge = measured(found, Voices.load(told.voices), models[0].knowledge)
    save_model(found, told.out, small=not packed)


def _rendered(told: argparse.Namespace) -> Iterator[Batch]:
    voices, noises = Voices.load(told.voices), noises_of(told.noise)
    rooms = training_rooms(told.rooms, told.seed)
    makers = [
        EpisodeMaker(voices, noises, config, told.seed, rooms)
        for config in (EpisodeConfig(), EpisodeConfig(acoustics=LIGHT))
    ]
    return (makers[number % 2][number] for number in count())


def _packed(told: argparse.Namespace) -> Iterator[Batch]:
    sounds = (replace(heard, edges=EDGES) for heard in (Acoustics(), LIGHT))
    configs = [EpisodeConfig(24, acoustics=heard) for heard in sounds]
    episodes = episodes_on(told.device)(told.voices, configs[0], told.device, told.seed, told.all)
    for number in count():
        episodes.config = configs[number % 2]
        yield episodes.batch()


if __name__ == "__main__":
    main()
