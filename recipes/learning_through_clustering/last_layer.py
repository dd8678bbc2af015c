"""The last layer of f, trained by combination assignment on speech that a first pass was sure of.

    python last_layer.py RECORDING... --out MODEL.safetensors [--steps 400] [--backend ckm]

After `diarize adapt`'s alignment. A first pass of diarization says how many speakers each recording
has, about how much each of them speaks, and what they surely say alone. The last layer of f is
trained to cluster the windows of these stretches: greedy assignment to the recording's clusters,
whose sizes have the first pass's shares as their prior, two views of a window (itself, and a
neighbour in its turn with noise) sharing their cluster. g stays as it is, and three things hold f
in place: mixtures of two windows lie where g has their parts, windows lie near to where they lay,
and training stops when the rehearsal on held-out recordings gets worse. What is not surely better
there than the aligned model was is not kept. All other layers stay as they are, so that what they
make of the windows is computed once.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from online import OnlineClustering, squared
from steps.trained import MODEL
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from diarize.audio import SAMPLE_RATE, open_recording
from diarize.clustering.ca import assign
from diarize.embedding import load_model, pick_device, save_model
from diarize.embedding.model import Branches, CompositionalEmbedding, Encoder
from diarize.mixing.acoustics import coloured_noise
from diarize.pipeline import Diarizer
from diarize.training.adaptation import (
    RECORDINGS_TO_SPARE,
    aligned,
    first_pass,
    rehearsal,
    surely_better,
)
from diarize.training.held import HeldSpeech
from diarize.training.rehearsal import cut, heard, mixed

STRANGERS = 0.5
"""Cosine of the centroids of two recordings' speakers below which they are not the same person."""


@dataclass(frozen=True)
class AdaptationConfig:
    """How f is adapted; tuned on conversations of dev-a over a telephone and in a room.

    Attributes:
        steps: most steps.
        every: steps between two rehearsals.
        patience: rehearsals in a row without improvement after which training ends.
        rate: learning rate of the last layer and the centroids.
        windows: of each speaker, drawn once.
        batch: windows of one step; as many mixtures, of which there are half as many as windows.
        seconds: length of a window.
        sigma: variance of a cluster of unit vectors.
        compact: weight of the distance of windows from their cluster's centroid.
        mixtures: weight of the distance of mixtures from g of their parts.
        start: weight of the distance from the vectors of the model that one begins with.
        snr: decibels of a neighbour's level over the noise that is laid under it.
    """

    steps: int = 400
    every: int = 20
    patience: int = 3
    rate: float = 3e-4
    windows: int = 24
    batch: int = 256
    seconds: float = 1.7
    sigma: float = 0.1
    compact: float = 0.3
    mixtures: float = 1.0
    start: float = 1.0
    snr: tuple[float, float] = (15.0, 35.0)


@dataclass(frozen=True)
class Lessons:
    """Windows of all recordings, through all layers of f but the last.

    Speakers are counted through all recordings.
    """

    windows: Float[Tensor, "n pooled"]
    neighbours: Float[Tensor, "n pooled"]
    mixtures: Float[Tensor, "m pooled"]
    parts: Int64[np.ndarray, "m 2"]  # of each mixture, among the windows
    speakers: Int64[np.ndarray, " n"]
    recordings: Int64[np.ndarray, " k"]  # of the speakers


class LastLayer:
    """The last layer of f on its way, the clusters of all recordings, and what f was."""

    def __init__(
        self,
        taught: Sequence[HeldSpeech],
        model: CompositionalEmbedding,
        config: AdaptationConfig,
        seed: int,
    ) -> None:
        self.config = config
        self.model = deepcopy(model)
        self.rng = np.random.default_rng([seed, 6])
        self.lessons = draw_lessons(taught, model.encode, config, self.rng)
        lessons = self.lessons
        device = lessons.windows.device
        with torch.no_grad():
            self.start = model.encode.locate(lessons.windows)
        speakers = torch.from_numpy(lessons.speakers).to(device)
        owner = torch.from_numpy(lessons.recordings).to(device)
        own = torch.eye(len(owner), device=device)[speakers]
        centroids = normalize(own.T @ self.start, dim=-1)
        same = owner[:, None] == owner
        self.allowed = same[speakers]
        self.rivals = (same | (centroids @ centroids.T < STRANGERS))[speakers]
        layers = nn.ModuleList(e.project for e in self.model.encode.encoders).requires_grad_(True)
        # The share of each speaker in the first pass, as far as that is sure.
        prior = [float(sum(map(len, chunks))) for one in taught for chunks in one.speakers]
        self.clustering = OnlineClustering(
            self.model.encode.locate,
            centroids,
            sigma=config.sigma,
            prior=prior,
            parameters=layers.parameters(),
            rate=config.rate,
            on_sphere=True,
            seed=seed,
        )

    def advance(self) -> None:
        """Take one step."""
        config, lessons, place = self.config, self.lessons, self.model.encode.locate
        rows = self._draw(len(lessons.windows))
        windows, neighbours = place(lessons.windows[rows]), place(lessons.neighbours[rows])
        views = torch.stack([windows, neighbours])
        distances = squared(views, self.clustering.centroids)
        fit = cluster_loss(
            distances, self.allowed[rows], self.rivals[rows], self.clustering.prior, config
        )
        mixed_rows = self._draw(len(lessons.mixtures))
        first, second = lessons.windows[torch.from_numpy(lessons.parts[mixed_rows.cpu().numpy()]).T]
        meant = self.model.compose(place(first), place(second)).detach()
        apart = (place(lessons.mixtures[mixed_rows]) - meant).square().sum(dim=1).mean()
        moved = (windows - self.start[rows]).square().sum(dim=1).mean()
        held = (config.mixtures * apart + config.start * moved) / (2 * config.sigma)
        self.clustering.step(fit + held)

    def _draw(self, n: int) -> Int64[Tensor, " drawn"]:
        chosen = self.rng.choice(n, min(n, self.config.batch), replace=False)
        return torch.from_numpy(chosen).to(self.start.device)


def train_further(
    speech: Sequence[HeldSpeech],
    model: CompositionalEmbedding,
    config: AdaptationConfig,
    seed: int,
) -> tuple[CompositionalEmbedding, int]:
    """Train the last layer of a model: what is kept, and the steps that it took; 0: nothing is."""
    useful = [one for one in speech if len(one.speakers) > 1]
    judge = rehearsal(useful, model, seed)
    if not len(judge):
        return model, 0
    start = judge.answer(model)
    trained = LastLayer(lessons_of(useful), model, config, seed)
    best, best_steps, after, idle = model, 0, start, 0
    for step in range(1, config.steps + 1):
        trained.advance()
        if step % config.every == 0:
            answers = judge.answer(trained.model)
            if answers.log_likelihood.mean() > after.log_likelihood.mean():
                best, best_steps, after, idle = deepcopy(trained.model), step, answers, 0
            else:
                idle += 1
                if idle == config.patience:
                    break
    if not surely_better(start, after):
        return model, 0
    return best.eval().requires_grad_(False), best_steps


def lessons_of(useful: Sequence[HeldSpeech]) -> list[HeldSpeech]:
    """What is trained on: recordings that are not rehearsed, or, of one or two, other chunks."""
    if len(useful) < RECORDINGS_TO_SPARE:
        return [one.parted()[0] for one in useful]
    return [one for i, one in enumerate(useful) if i % 3 != 2]


def cluster_loss(
    distances: Float[Tensor, "views n k"],
    allowed: Bool[Tensor, "n k"],
    rivals: Bool[Tensor, "n k"],
    prior: Float[Tensor, " k"],
    config: AdaptationConfig,
) -> Float[Tensor, ""]:
    """Minus the log probability of the clusters that combination assignment chooses, of a row.

    The first term of (5) alone has its least where all unit vectors coincide, and f would forget
    what it knows; relative to the other clusters it must keep them apart. A share of it is added,
    without which speakers scatter more and more of them are counted.

    Args:
        distances: squared, of the views of the rows from the clusters.
        allowed: clusters of the row's recording: one of these is chosen.
        rivals: those, and clusters of other recordings that are surely other speakers.
        prior: over the clusters.
        config: of which `sigma` and `compact` are used.
    """
    shared = distances.detach().mean(dim=0).masked_fill(~allowed, torch.inf).cpu().numpy()
    labels = torch.from_numpy(assign(shared, config.sigma, prior.cpu().numpy()))
    labels = labels.to(distances.device).repeat(len(distances))
    fits = distances / (2 * config.sigma)
    logits = (-fits).masked_fill(~rivals, -torch.inf).flatten(0, 1)
    return cross_entropy(logits, labels) - config.compact * logits.gather(1, labels[:, None]).mean()


def draw_lessons(
    taught: Sequence[HeldSpeech],
    encoder: Encoder | Branches,
    config: AdaptationConfig,
    rng: np.random.Generator,
) -> Lessons:
    """Draw windows of each speaker, neighbours from the same chunks, and mixtures of speakers.

    A recording's mixtures are half as many as its windows.
    """
    length = round(config.seconds * SAMPLE_RATE)
    windows: list[np.ndarray] = []
    neighbours: list[np.ndarray] = []
    mixtures: list[np.ndarray] = []
    parts: list[tuple[int, int]] = []
    for one in taught:
        base = len(windows)
        for chunks in one.speakers:
            for _ in range(config.windows):
                chunk = chunks[int(rng.integers(len(chunks)))]
                windows.append(cut(chunk, length, rng))
                neighbours.append(_under_noise(cut(chunk, length, rng), config.snr, rng))
        for _ in range((len(windows) - base) // 2):
            i, j = rng.choice(len(one.speakers), 2, replace=False) * config.windows
            i, j = (base + int(at + rng.integers(config.windows)) for at in (i, j))
            mixtures.append(mixed(windows[i], windows[j], rng))
            parts.append((i, j))
    sizes = [len(one.speakers) for one in taught]
    return Lessons(
        heard(encoder, windows),
        heard(encoder, neighbours),
        heard(encoder, mixtures),
        np.array(parts, dtype=np.int64),
        np.repeat(np.arange(sum(sizes)), config.windows),
        np.repeat(np.arange(len(taught)), sizes),
    )


def _under_noise(
    window: np.ndarray, snr: tuple[float, float], rng: np.random.Generator
) -> np.ndarray:
    level = float(np.sqrt(np.square(window).mean())) * 10 ** (-rng.uniform(*snr) / 20)
    return window + coloured_noise(rng, len(window)) * np.float32(level)


def main() -> None:
    """Read the options, align, train, write the model."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recordings", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--backend", default="ckm")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    diarizer = Diarizer(backend=options.backend, seed=options.seed, model=MODEL)
    recordings = [open_recording(path) for path in options.recordings]
    speech, change = first_pass(recordings, diarizer)
    shipped = load_model(diarizer.model, pick_device(diarizer.device))
    model = aligned(speech, shipped, change, options.seed).model
    model, steps = train_further(speech, model, AdaptationConfig(steps=options.steps), options.seed)
    save_model(model, options.out)
    print(f"{steps} steps were kept")


if __name__ == "__main__":
    main()
