"""Print how many windows lie nearest to a wrong set of voices, by centroids as in recordings.

    python recipes/embedding/confusion.py MODEL... --speech DIR MORE --noise DIR... --rooms DIR
        [--split dev-a] [--batches 20]

Episodes are as in training, of five voices that keep their places in one room. The centroid of a
voice is that of seven windows; an eighth goes to the nearest voice, and windows of two to the
nearest pair. Several models count side by side too: the means of their cosines.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int64
from sounds import USUAL
from torch import Tensor
from torch.nn.functional import normalize

from diarize.embedding import CompositionalEmbedding, load_model
from diarize.mixing.acoustics import noises_of
from diarize.mixing.speech import utterances_of
from diarize.mixing.voices import collect_voices
from diarize.training.episodes import Batch, EpisodeConfig, EpisodeMaker
from diarize.training.losses import compose_all, reference_rounds, set_index
from diarize.training.rendering import training_rooms

VOICES, WINDOWS = 5, 8
SECONDS = (1.1, 0.6)
PLACE = replace(USUAL, one_place=1.0)


@dataclass(frozen=True)
class Asked:
    """Cosines of windows with sets of one size, and which is theirs."""

    cosines: Float[Tensor, "windows sets"]
    target: Int64[Tensor, " windows"]


def asked(model: CompositionalEmbedding, batch: Batch) -> tuple[Asked, Asked]:
    """Windows of one voice, each left out of its centroid, and windows of two."""
    vectors = model(batch.features).unflatten(0, batch.known.shape)
    rounds = reference_rounds(batch.members, batch.alone, batch.known)
    target = set_index(batch.members, 2)
    total = sum(vectors[:, of] for of in rounds)
    alone = [
        torch.einsum("ewp,ecp->ewc", vectors[:, of], normalize(total - vectors[:, of], dim=-1))
        for of in rounds
    ]
    singles = Asked(torch.cat(alone, 1).flatten(0, 1), torch.arange(VOICES).repeat(len(rounds)))
    singles = replace(singles, target=singles.target.repeat(len(vectors)))
    sets = compose_all(model.compose, normalize(total, dim=-1), 2)[:, VOICES:]
    two = (~batch.alone) & (batch.members.sum(dim=-1) == 2)
    cosines = torch.einsum("ewp,ecp->ewc", vectors, sets)[two]
    return singles, Asked(cosines, target[two] - VOICES)


def wrong(of_models: Sequence[Asked]) -> Iterator[float]:
    """The share of windows that go to a wrong set: by each model, and by their mean."""
    target = of_models[0].target
    every = [one.cosines for one in of_models]
    if len(every) > 1:
        every.append(torch.stack(every).mean(dim=0))
    for cosines in every:
        yield float((cosines.argmax(dim=1) != target).float().mean())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--speech", type=Path, nargs="+", required=True)
    parser.add_argument("--noise", type=Path, nargs="*", default=[])
    parser.add_argument("--rooms", type=Path)
    parser.add_argument("--split", default="dev-a")
    parser.add_argument("--batches", type=int, default=20)
    told = parser.parse_args()
    torch.set_num_threads(1)
    models = [load_model(name) for name in told.models]
    voices = collect_voices(utterances_of(told.speech, told.split), (1.0,))
    noises, rooms = noises_of(told.noise), training_rooms(told.rooms, 0)
    names = [Path(name).stem for name in told.models]
    names += ["side by side"] if len(names) > 1 else []
    for seconds in SECONDS:
        config = EpisodeConfig(
            6, VOICES, WINDOWS, acoustics=PLACE, seconds=(seconds,), unanswered=0.0
        )
        maker = EpisodeMaker(voices, noises, config, 1, rooms)
        shares = []
        for number in range(told.batches):
            batch = maker[number]
            with torch.inference_mode():
                heard = [asked(model, batch) for model in models]
            shares.append([list(wrong(of)) for of in zip(*heard, strict=True)])
        for name, one, two in zip(names, *np.mean(shares, axis=0), strict=True):
            print(f"{name}, {seconds} s: {100 * one:.2f} % of one, {100 * two:.2f} % of two")


if __name__ == "__main__":
    main()
