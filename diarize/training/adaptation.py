"""Adapt f to somebody's own recordings, without labels, by combination assignment.

A first pass of diarization says how many speakers each recording has, about how much each of them
speaks, and what they surely say alone. f is then trained to cluster the windows of these stretches:
greedy assignment to the recording's clusters, whose sizes have the first pass's shares as their
prior, two views of a window (itself, and a neighbour in its turn with noise) sharing their cluster.
g stays as it is, and three things hold f in place: mixtures of two windows lie where g has their
parts, windows lie near to where they lay, and training stops when the rehearsal on held-out chunks
gets worse. What is not better there than the model was is not written.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from diarize.audio import SAMPLE_RATE, Recording
from diarize.clustering.combination import assign
from diarize.embedding import load_model, pick_device
from diarize.embedding.model import CompositionalEmbedding
from diarize.mixing.acoustics import coloured_noise
from diarize.pipeline import Diarizer, Hook
from diarize.training.assignment import OnlineClustering
from diarize.training.held import HeldSpeech, held_speech
from diarize.training.rehearsal import Answers, Rehearsal, cut, embed, features_of, mixed

CENTROID_WINDOWS = 8
"""Windows of a speaker whose mean is his first centroid."""


@dataclass(frozen=True)
class AdaptationConfig:
    """How f is adapted; tuned on conversations of dev-a over a telephone and in a room.

    Attributes:
        steps: most steps.
        every: steps between two rehearsals.
        patience: rehearsals in a row without improvement after which training ends.
        rate: learning rate of f and the centroids.
        recordings: of one step.
        windows: of each of them.
        seconds: window lengths; every step draws one.
        sigma: variance of a cluster of unit vectors.
        mixtures: weight of the distance of mixtures from g of their parts.
        start: weight of the distance from the vectors of the model that one begins with.
        snr: decibels of a neighbour's level over the noise that is laid under it.
    """

    steps: int = 120
    every: int = 20
    patience: int = 2
    rate: float = 3e-4
    recordings: int = 4
    windows: int = 12
    seconds: tuple[float, ...] = (1.4, 1.7, 2.0)
    sigma: float = 0.1
    mixtures: float = 1.0
    start: float = 1.0
    snr: tuple[float, float] = (15.0, 35.0)


@dataclass(frozen=True)
class Adaptation:
    """What came of it.

    Attributes:
        model: f and g; those that one began with where nothing was gained.
        steps: that the model took; 0: nothing was gained.
        speakers, seconds: what was learned from: speakers, each of one recording, and their speech.
        before, after: how the model answered the rehearsal, without and with these steps.
    """

    model: CompositionalEmbedding
    steps: int
    speakers: int
    seconds: float
    before: Answers
    after: Answers


@dataclass(frozen=True)
class View:
    """The windows of one step, as MFCC, and whose clusters they may join."""

    windows: Float32[np.ndarray, "n frames 32"]
    neighbours: Float32[np.ndarray, "n frames 32"]
    mixtures: Float32[np.ndarray, "m frames 32"]
    parts: Int64[np.ndarray, "m 2"]  # of each mixture, among the windows
    recording: Int64[np.ndarray, " n"]


def adapt(
    recordings: Sequence[Recording],
    diarizer: Diarizer,
    config: AdaptationConfig | None = None,
    hook: Hook | None = None,
) -> Adaptation:
    """Adapt the diarizer's model to recordings; its options are those of the first pass.

    Args:
        recordings: of the kind that is to be diarized.
        diarizer: of the first pass; its seed is that of all that is drawn.
        config: how.
        hook: progress.

    Raises:
        InputError: a recording, or an option of the diarizer, that cannot be used.
    """
    config = config or AdaptationConfig()
    diarizer.prepare()
    heard = []
    for done, recording in enumerate(recordings):
        heard.append(held_speech(diarizer, recording))
        if hook:
            hook("first pass", done + 1, len(recordings))
    model = load_model(diarizer.model, pick_device(diarizer.device))
    return adapt_to(heard, model, config, diarizer.seed, hook)


def adapt_to(
    heard: Sequence[HeldSpeech],
    model: CompositionalEmbedding,
    config: AdaptationConfig,
    seed: int,
    hook: Hook | None = None,
) -> Adaptation:
    """Adapt a model to speech whose speakers a first pass has told apart."""
    useful = [one for one in heard if len(one.speakers) > 1]
    taught, asked = zip(*(one.parted() for one in useful), strict=True) if useful else ((), ())
    rehearsal = Rehearsal(taught, asked, seed)
    before = rehearsal.answer(model)
    best, best_steps, after = model, 0, before
    torch.manual_seed(seed)
    trained = _Training(taught, model, config, seed) if len(rehearsal) else None
    idle = 0
    for step in range(1, config.steps + 1 if trained else 0):
        assert trained is not None
        trained.advance(step)
        if hook:
            hook("adapting", step, config.steps)
        if step % config.every == 0:
            answers = rehearsal.answer(trained.model)
            if answers.log_likelihood.mean() > after.log_likelihood.mean():
                best, best_steps, after, idle = deepcopy(trained.model), step, answers, 0
            else:
                idle += 1
                if idle == config.patience:
                    break
    if not _surely_better(before, after):
        best, best_steps, after = model, 0, before
    return Adaptation(
        model=best.eval().requires_grad_(False),
        steps=best_steps,
        speakers=sum(len(one.speakers) for one in useful),
        seconds=sum(one.seconds for one in useful),
        before=before,
        after=after,
    )


def _surely_better(before: Answers, after: Answers) -> bool:
    """Is the mean gain over the questions more than two of its standard errors?"""
    gain = after.log_likelihood - before.log_likelihood
    return len(gain) > 1 and bool(gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain)))


class _Training:
    """f on its way, the clusters of all recordings, and what f was."""

    def __init__(
        self,
        taught: Sequence[HeldSpeech],
        model: CompositionalEmbedding,
        config: AdaptationConfig,
        seed: int,
    ) -> None:
        self.taught, self.start, self.config, self.seed = taught, model, config, seed
        self.model = deepcopy(model)
        encoder = self.model.encode.requires_grad_(True)
        owners = [r for r, one in enumerate(taught) for _ in one.speakers]
        self.owner = torch.tensor(owners, device=next(model.parameters()).device)
        rng = np.random.default_rng([seed, 6])
        clusters = [chunks for one in taught for chunks in one.speakers]
        # The share of each speaker in the first pass, as far as that is sure.
        prior = [float(sum(map(len, chunks))) for chunks in clusters]
        self.clustering = OnlineClustering(
            self.model,
            torch.stack([self._place(chunks, rng) for chunks in clusters]),
            sigma=config.sigma,
            prior=prior,
            regulariser=posterior,
            parameters=encoder.parameters(),
            rate=config.rate,
            on_sphere=True,
            seed=seed,
        )

    def _place(
        self, chunks: Sequence[np.ndarray], rng: np.random.Generator
    ) -> Float[Tensor, " dim"]:
        """Where a speaker lies to begin with."""
        length = round(self.config.seconds[-1] * SAMPLE_RATE)
        windows = [cut(chunks[i % len(chunks)], length, rng) for i in range(CENTROID_WINDOWS)]
        with torch.inference_mode():
            mean = embed(self.start, features_of(windows)).mean(dim=0)
        return normalize(mean, dim=-1).clone()

    def advance(self, step: int) -> None:
        """Take one step."""
        config, model = self.config, self.model.train()
        view = draw_view(self.taught, config, np.random.default_rng([self.seed, 7, step]))
        with torch.no_grad():
            lay = embed(self.start, view.windows)
        windows, neighbours = embed(model, view.windows), embed(model, view.neighbours)
        recording = torch.from_numpy(view.recording).to(self.owner.device)
        allowed = recording[:, None] == self.owner
        fit = self.clustering.loss(torch.stack([windows, neighbours]), allowed)
        first, second = windows.detach()[torch.from_numpy(view.parts).T]
        meant = model.compose(first, second)
        apart = (embed(model, view.mixtures) - meant).square().sum(dim=1).mean()
        moved = (windows - lay).square().sum(dim=1).mean()
        held = (config.mixtures * apart + config.start * moved) / (2 * config.sigma)
        self.clustering.step(fit + held)
        self.model.eval()


def posterior(
    distances: Float[Tensor, "views n k"],
    sigma: float,
    prior: Float[Tensor, " k"],
    generator: torch.Generator,
) -> Float[Tensor, ""]:
    """Minus the log probability of the clusters that combination assignment chooses.

    `combination` itself has its least where all unit vectors coincide, and f would lose what it
    knows; here clusters of one recording must stay apart.
    """
    shared = distances.detach().mean(dim=0).cpu().numpy()
    labels = torch.from_numpy(assign(shared, sigma, prior.cpu().numpy())).to(distances.device)
    logits = -distances / (2 * sigma)
    return cross_entropy(logits.flatten(0, 1), labels.repeat(len(distances)))


def draw_view(
    taught: Sequence[HeldSpeech], config: AdaptationConfig, rng: np.random.Generator
) -> View:
    """Draw the windows of a step: speakers by how much they say, neighbours from the same chunk."""
    length = round(float(rng.choice(config.seconds)) * SAMPLE_RATE)
    chosen = rng.choice(len(taught), min(config.recordings, len(taught)), replace=False)
    windows: list[np.ndarray] = []
    neighbours: list[np.ndarray] = []
    mixtures: list[np.ndarray] = []
    parts: list[tuple[int, int]] = []
    owners: list[int] = []
    for r in chosen.tolist():
        chunks = [(j, c) for j, own in enumerate(taught[r].speakers) for c in own]
        sizes = np.array([len(c) for _, c in chunks], np.float64)
        drawn = rng.choice(len(chunks), config.windows, p=sizes / sizes.sum())
        base = len(windows)
        for row in drawn.tolist():
            chunk = chunks[row][1]
            windows.append(cut(chunk, length, rng))
            neighbours.append(_under_noise(cut(chunk, length, rng), config.snr, rng))
            owners.append(r)
        held = [chunks[row][0] for row in drawn.tolist()]
        for i in range(config.windows // 2):
            j = int(rng.integers(config.windows))
            if held[i] != held[j]:
                mixtures.append(mixed(windows[base + i], windows[base + j], rng))
                parts.append((base + i, base + j))
    if not mixtures:  # one voice was drawn throughout: with itself it is itself
        mixtures, parts = [windows[0]], [(0, 0)]
    return View(
        features_of(windows),
        features_of(neighbours),
        features_of(mixtures),
        np.array(parts, dtype=np.int64),
        np.array(owners, dtype=np.int64),
    )


def _under_noise(
    window: np.ndarray, snr: tuple[float, float], rng: np.random.Generator
) -> np.ndarray:
    level = float(np.sqrt(np.square(window).mean())) * 10 ** (-rng.uniform(*snr) / 20)
    return window + coloured_noise(rng, len(window)) * np.float32(level)
