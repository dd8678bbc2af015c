"""Narrow a joined model: fewer dimensions, the same voices, g of the paper's form learned anew.

    python recipes/embedding/narrow.py JOINED.safetensors VOICES_DIR OUT.safetensors --noise DIR...
        [--rooms DIR] [--dim 128] [--batches 700] [--epochs 10] [--seed 0]

VOICES_DIR is the folder `voices` of a training (`diarize train embedding --out`). f of the joined
model stands still. A projection of its vectors, begun as their principal components, and g in the
narrow space learn from it: g is to lie where the projected g of the joined model lies, and cosines
are to stay what they were. No labels are needed, so nothing can be learned by heart.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from diarize.embedding import CompositionalEmbedding, load_model, save_model
from diarize.embedding.model import Branches
from diarize.mixing.acoustics import noises_of
from diarize.mixing.voices import Voices
from diarize.training.episodes import EpisodeConfig, EpisodeMaker
from diarize.training.knowledge import measured
from diarize.training.rendering import Acoustics, training_rooms

RATE = 2e-3
PAIRS = 64  # of each episode, in a step
KEPT = 30.0  # weight of the cosines that are to stay
COMPOSED = 20.0  # weight of where unions lie

LIGHT = Acoustics(coded=0.05, noisy=0.3, rooms=0.25, telephone=0.2, one_place=0.9)
"""Every other batch is heard as in training, the rest in less of everything."""

Windows = Float[Tensor, "episodes windows joined"]


def windows(
    model: CompositionalEmbedding, makers: list[EpisodeMaker], count: int
) -> Iterator[tuple[Windows, int]]:
    """Vectors of batches, and how many of the first windows of each episode are of one voice."""
    for number in range(count):
        batch = makers[number % len(makers)][number]
        with torch.inference_mode():
            vectors = model(batch.features).unflatten(0, batch.known.shape)
        yield vectors.clone(), int(batch.alone[0].sum())


def narrowed(
    joined: CompositionalEmbedding, rows: Float[Tensor, "n joined"], dim: int
) -> CompositionalEmbedding:
    """The joined model with a projection onto the principal components, and a g to be learned."""
    config = replace(joined.config, dim=dim, part=joined.config.own)
    found = CompositionalEmbedding(config, joined.knowledge)
    flat = rows.double()
    axes = torch.linalg.eigh(flat.T @ flat)[1].flip(1)[:, :dim]
    assert isinstance(found.encode, Branches) and found.encode.join is not None
    with torch.no_grad():
        for own, encoder in zip(found.encode.encoders, joined.encode.encoders, strict=True):
            own.load_state_dict(encoder.state_dict())
        found.encode.join.weight.copy_(axes.T)
    return found


def learn(
    joined: CompositionalEmbedding,
    found: CompositionalEmbedding,
    batches: list[tuple[Windows, int]],
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
            vectors, alone = batches[number]
            left, right = torch.randint(0, alone, (2, PAIRS))
            with torch.no_grad():
                union = joined.compose(vectors[:, left], vectors[:, right])
            narrow = normalize(join(vectors), dim=-1)
            wanted = normalize(join(union), dim=-1)
            composed = compose(narrow[:, left], narrow[:, right])
            apart = 1 - (composed * wanted).sum(dim=-1).mean()
            some = torch.randperm(vectors.shape[1])[:PAIRS]
            before, after = (x[:, some] @ x[:, some].mT for x in (vectors, narrow))
            loss = COMPOSED * apart + KEPT * (before - after).square().mean()
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            slope.step()
            total += float(apart.detach())
        print(f"epoch {epoch}: 1 - cosine of unions {total / len(batches):.4f}", flush=True)


def main() -> None:
    """Do it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("joined")
    parser.add_argument("voices", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--noise", type=Path, nargs="*", default=[])
    parser.add_argument("--rooms", type=Path)
    for name, value in (("dim", 128), ("batches", 700), ("epochs", 10), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    told = parser.parse_args()
    torch.manual_seed(told.seed)
    voices, noises = Voices.load(told.voices), noises_of(told.noise)
    rooms = training_rooms(told.rooms, told.seed)
    makers = [
        EpisodeMaker(voices, noises, config, told.seed, rooms)
        for config in (EpisodeConfig(), EpisodeConfig(acoustics=LIGHT))
    ]
    joined = load_model(told.joined)
    batches = list(windows(joined, makers, told.batches))
    found = narrowed(joined, torch.cat([v.flatten(0, 1) for v, _ in batches]), told.dim)
    learn(joined, found.train(), batches, told.epochs)
    found = found.eval().requires_grad_(False)
    found.knowledge = measured(found, voices, joined.knowledge)
    save_model(found, told.out, half=True)


if __name__ == "__main__":
    main()
