"""How well a model tells the speakers of recordings apart, on mixtures made of the recordings.

Where nobody knows the truth of the recordings, what a first pass is sure of serves instead. A
speaker's reference is the mean of f over windows of some chunks; the probes are windows of other
chunks, alone, and mixed in pairs at about equal level; the candidates are all speakers of the
recording and g of all pairs. The answer is a probability of the right candidate, a softmax of
squared distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor
from torch.nn.functional import normalize

from diarize.audio import SAMPLE_RATE
from diarize.embedding.model import Branches, CompositionalEmbedding, Encoder
from diarize.embedding.windows import BATCH
from diarize.features import mfcc
from diarize.training.losses import compose_all
from diarize.training.single_speaker import Chunk, SingleSpeakerSpeech

SECONDS = 1.4
"""Of a window: the shortest chunk (`single_speaker.SHORTEST`) is as long."""

SIGMA = 0.1
"""Variance of a window around its candidate: it makes distances of unit vectors probabilities."""

REFERENCES, SINGLES = 8, 6  # windows of each speaker
PAIRS = 24  # windows of each recording
ROUNDS = 4  # of a recording of which the truth is known, each with other windows
LEVELS = 3.0  # decibels: standard deviation of the first voice over the second


@dataclass(frozen=True)
class Answers:
    """How a model identifies the probes, one row for each.

    Attributes:
        right: whether the right candidate was the likeliest.
        log_likelihood: of the right candidate.
    """

    right: Float64[np.ndarray, " probes"]
    log_likelihood: Float64[np.ndarray, " probes"]


@dataclass(frozen=True)
class Trials:
    """Windows of one recording, through all layers of f but the last."""

    enrolment: Float[Tensor, "speakers windows pooled"]
    probes: Float[Tensor, "probes pooled"]
    expected: Int64[np.ndarray, " probes"]  # among the speakers, then all pairs


class IdentificationTest:
    """Probes of recordings, drawn once; recordings without two speakers have none.

    Args:
        enrolled: chunks from which the speakers are known.
        probed: chunks of the same speakers, from which the probes are cut.
        encoder: f, whose last layer is going to change.
        seed: of the probes.
    """

    def __init__(
        self,
        enrolled: Sequence[SingleSpeakerSpeech],
        probed: Sequence[SingleSpeakerSpeech],
        encoder: Encoder | Branches,
        seed: int,
    ) -> None:
        rng = np.random.default_rng([seed, 5])
        drawn = [_trials(a, b, encoder, rng) for a, b in zip(enrolled, probed, strict=True)]
        self.trials = [trials for trials in drawn if trials is not None]

    def __len__(self) -> int:
        return sum(len(trials.expected) for trials in self.trials)

    def answer(self, model: CompositionalEmbedding) -> Answers:
        """Let a model identify all probes."""
        right, likelihoods = [], []
        with torch.inference_mode():
            for trials in self.trials:
                centroids = normalize(model.encode.locate(trials.enrolment).mean(dim=1), dim=-1)
                candidates = compose_all(model.compose, centroids[None], 2)[0]
                cosines = model.encode.locate(trials.probes) @ candidates.T
                # |a - b|^2 = 2 - 2 a.b on the sphere.
                logs = (cosines / SIGMA).log_softmax(dim=1).cpu().double().numpy()
                right.append(logs.argmax(axis=1) == trials.expected)
                likelihoods.append(logs[np.arange(len(logs)), trials.expected])
        nothing = [np.zeros(0)]
        return Answers(
            np.concatenate(right or nothing).astype(np.float64),
            np.concatenate(likelihoods or nothing),
        )


def shares(
    speech: Sequence[SingleSpeakerSpeech], model: CompositionalEmbedding, seed: int
) -> Float64[np.ndarray, " sets"]:
    """Share of the windows of each set of each recording, of one speaker or two, that go to it."""
    answers: dict[tuple[int, int], list[float]] = {}
    enrolled, probed = zip(*(one.split() for one in speech), strict=True)
    for number in range(ROUNDS):
        test = IdentificationTest(enrolled, probed, model.encode, seed + number)
        right = iter(test.answer(model).right.tolist())
        for recording, trials in enumerate(test.trials):
            for members in trials.expected.tolist():
                answers.setdefault((recording, members), []).append(next(right))
    return np.array([np.mean(own) for _, own in sorted(answers.items())])


def heard(encoder: Encoder | Branches, windows: Sequence[Chunk]) -> Float[Tensor, "windows pooled"]:
    """Windows of one length through all layers of f but the last."""
    device = next(encoder.parameters()).device
    with torch.no_grad():
        return torch.cat(
            [
                encoder.pool(torch.from_numpy(mfcc(np.stack(windows[i : i + BATCH]))).to(device))
                for i in range(0, len(windows), BATCH)
            ]
        )


def cut(chunk: Chunk, length: int, rng: np.random.Generator) -> Chunk:
    """Cut a window out of a chunk at random; a shorter chunk is repeated."""
    begin = int(rng.integers(max(1, len(chunk) - length + 1)))
    return np.resize(chunk[begin : begin + length], length)


def mixed(first: Chunk, second: Chunk, rng: np.random.Generator) -> Chunk:
    """Two voices at once, brought to about one level."""
    decibels = float(rng.normal(0.0, LEVELS))
    first_rms, second_rms = (float(np.sqrt(np.square(c).mean())) + 1e-6 for c in (first, second))
    return first + second * np.float32(first_rms / second_rms * 10 ** (decibels / 20))


def _trials(
    enrolled: SingleSpeakerSpeech,
    probed: SingleSpeakerSpeech,
    encoder: Encoder | Branches,
    rng: np.random.Generator,
) -> Trials | None:
    known = [
        (a, b) for a, b in zip(enrolled.speakers, probed.speakers, strict=True) if len(a) and len(b)
    ]
    if len(known) < 2:
        return None
    length = round(SECONDS * SAMPLE_RATE)

    def window(chunks: Sequence[Chunk]) -> Chunk:
        return cut(chunks[int(rng.integers(len(chunks)))], length, rng)

    enrolment = [window(own) for own, _ in known for _ in range(REFERENCES)]
    probes = [window(other) for _, other in known for _ in range(SINGLES)]
    expected = [j for j in range(len(known)) for _ in range(SINGLES)]
    pairs = [(i, j) for i in range(len(known)) for j in range(i + 1, len(known))]
    for chosen in rng.integers(len(pairs), size=PAIRS).tolist():
        i, j = pairs[chosen]
        probes.append(mixed(window(known[i][1]), window(known[j][1]), rng))
        expected.append(len(known) + chosen)
    return Trials(
        heard(encoder, enrolment).reshape(len(known), REFERENCES, -1),
        heard(encoder, probes),
        np.array(expected, dtype=np.int64),
    )
