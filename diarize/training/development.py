"""Set accuracy on speakers that training has never heard.

The protocol: 5 speakers, segments of 2 s, one reference segment for each speaker through f and the
ten pairs of references through g; the queries are real segments, one for each set (5 of one
speaker, 10 mixed at equal level), and each goes to the nearest of the 15. The paper's literal
variant takes the references of the pairs through f, from recordings of the pairs, and the queries
of the pairs through g.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from torch import nn

from diarize.audio import SAMPLE_RATE
from diarize.embedding.encoder import Rows
from diarize.embedding.model import CompositionalEmbedding
from diarize.errors import InputError
from diarize.features import mfcc
from diarize.mixing.speech import Utterance
from diarize.mixing.voices import Voices, collect_voices, to_float
from diarize.progress import Hook
from diarize.training.losses import compose_all

SPEAKERS = 5
PAIRS = tuple((i, j) for i in range(SPEAKERS) for j in range(i + 1, SPEAKERS))
SETS = SPEAKERS + len(PAIRS)
SECONDS = 2.0


@dataclass(frozen=True)
class Episodes:
    """Segments of many episodes as MFCC: references and queries, 15 of each, singles first."""

    references: Float32[np.ndarray, "episodes 15 frames 32"]
    queries: Float32[np.ndarray, "episodes 15 frames 32"]


@dataclass(frozen=True)
class SetAccuracy:
    """Shares of queries that lie nearest to their own set.

    Attributes:
        all, single, pair: over all 15 sets, over those of one speaker, over those of two.
        literal: the paper's own variant.
        mean: with the normalised mean in place of g.
    """

    all: float
    single: float
    pair: float
    literal: float
    mean: float


Sides = Float32[np.ndarray, "2 15 samples"]
Through = Callable[[np.random.Generator, Sides], Sides]


def as_recorded(_: np.random.Generator, sides: Sides) -> Sides:
    """Nothing happens to the sound."""
    return sides


def make_episodes(
    voices: Voices, count: int, seed: int, through: Through = as_recorded
) -> Episodes:
    """Draw episodes from voices of one pool.

    Args:
        voices: one for each speaker.
        count: episodes.
        seed: of the draws.
        through: what happens to the sound of an episode, references and queries, on its way.
    """
    features = np.stack([mfcc(sides) for sides in drawn_episodes(voices, count, seed, through)])
    return Episodes(features[:, 0], features[:, 1])


def drawn_episodes(
    voices: Voices,
    count: int,
    seed: int,
    through: Through = as_recorded,
    seconds: float = SECONDS,
) -> Iterator[Sides]:
    """The sound of episodes: references and queries of so many seconds."""
    rng, on_the_way = np.random.default_rng([seed, 3]), np.random.default_rng([seed, 4])
    n = round(seconds * SAMPLE_RATE)
    left, right = np.array(PAIRS).T
    for _ in range(count):
        chosen = rng.permutation(len(voices))[:SPEAKERS].tolist()
        sides = []
        for _ in range(2):
            single = np.stack([_segment(voices, v, n, rng) for v in chosen])
            first = np.stack([_segment(voices, chosen[i], n, rng) for i in left])
            second = np.stack([_segment(voices, chosen[j], n, rng) for j in right])
            sides.append(np.concatenate([single, (first + second) / 2]))
        yield through(on_the_way, np.stack(sides))


def vectors_of(
    rows: Rows,
    embed: Callable[[np.ndarray], np.ndarray],
    voices: Voices,
    count: int,
    seed: int,
    through: Through = as_recorded,
    seconds: float = SECONDS,
) -> tuple[Float[torch.Tensor, "episodes 15 p"], Float[torch.Tensor, "episodes 15 p"]]:
    """Vectors of the references and the queries of the same episodes, of any encoder.

    Args:
        rows: how it hears.
        embed: windows of such rows to vectors.
        voices: as `make_episodes` takes them; so for the rest.
        count: episodes.
        seed: of the draws.
        through: what happens to the sound.
        seconds: length of a segment.
    """
    found = []
    for sides in drawn_episodes(voices, count, seed, through, seconds):
        windows = heard_by(rows, sides.reshape(2 * SETS, -1))
        found.append(embed(windows).reshape(2, SETS, -1))
    references, queries = torch.from_numpy(np.stack(found)).unbind(1)
    return references, queries


def heard_by(
    rows: Rows, audio: Float32[np.ndarray, "b samples"]
) -> Float32[np.ndarray, "b rows ..."]:
    """Windows of samples as an encoder hears them, whole stacks of rows."""
    made = np.stack([rows.make(one) for one in audio])
    return made[:, : made.shape[1] // rows.stack * rows.stack]


def _segment(voices: Voices, voice: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Cut a random segment and bring it to the common level."""
    start, end = voices.starts[voice], voices.ends[voice]
    begin = start + rng.integers(max(1, end - start - n))
    segment = np.resize(to_float(voices.samples[begin : min(begin + n, end)]), n)
    return segment * np.float32(0.05 / max(float(segment.std()), 1e-4))


def set_accuracy(model: CompositionalEmbedding, episodes: Episodes) -> SetAccuracy:
    """Measure a model on drawn episodes."""
    references, queries = (_embed(model, side) for side in (episodes.references, episodes.queries))
    return judge(references, queries, model.compose)


def judge(
    references: Float[torch.Tensor, "episodes 15 dim"],
    queries: Float[torch.Tensor, "episodes 15 dim"],
    compose: nn.Module,
) -> SetAccuracy:
    """Measure unit vectors of drawn episodes, and a composition function."""
    with torch.inference_mode():
        composed = compose_all(compose, references[:, :SPEAKERS], 2)
        query_composed = compose_all(compose, queries[:, :SPEAKERS], 2)
        left, right = torch.tensor(PAIRS).T
        middle = references[:, left] + references[:, right]
        means = torch.cat([references[:, :SPEAKERS], middle / middle.norm(dim=-1, keepdim=True)], 1)
        right_of_15 = _right(composed, queries)
        literal = _right(references, query_composed)
    return SetAccuracy(
        all=float(right_of_15.mean()),
        single=float(right_of_15[:, :SPEAKERS].mean()),
        pair=float(right_of_15[:, SPEAKERS:].mean()),
        literal=float(literal.mean()),
        mean=float(_right(means, queries).mean()),
    )


def _right(
    candidates: Float[torch.Tensor, "e 15 dim"], queries: Float[torch.Tensor, "e 15 dim"]
) -> Float[torch.Tensor, "e 15"]:
    nearest = torch.einsum("eqp,ecp->eqc", queries, candidates).argmax(dim=-1)
    right: Bool[torch.Tensor, "e 15"] = nearest == torch.arange(SETS)
    return right.float()


def _embed(
    model: CompositionalEmbedding, windows: Float32[np.ndarray, "episodes 15 frames 32"]
) -> Float[torch.Tensor, "episodes 15 dim"]:
    flat = torch.from_numpy(windows).flatten(0, 1)
    device = next(model.parameters()).device
    model.eval()
    with torch.inference_mode():
        vectors = torch.cat([model(part.to(device)).cpu() for part in torch.split(flat, 512)])
    return vectors.reshape(*windows.shape[:2], -1)


def development_episodes(
    utterances: Sequence[Utterance],
    pool: Sequence[str],
    count: int,
    hook: Hook | None = None,
) -> dict[str, Episodes]:
    """Draw episodes within each corpus that has enough speakers."""
    voices = development_voices(utterances, pool, hook)
    return {name: make_episodes(own, count, seed=0) for name, own in voices.items()}


def development_voices(
    utterances: Sequence[Utterance], pool: Sequence[str], hook: Hook | None = None
) -> dict[str, Voices]:
    """Collect the voices of each corpus that has enough speakers for `development_episodes`.

    Raises:
        InputError: a recording cannot be read, or no corpus has enough.
    """
    voices = collect_voices(utterances, speeds=(1.0,), hook=hook)
    pooled = "+".join(pool)
    names = np.array([pooled if pool and c.startswith(tuple(pool)) else c for c in voices.corpora])
    enough = [str(name) for name in sorted(set(names)) if (names == name).sum() >= SPEAKERS]
    if not enough:
        raise InputError(f"no corpus has the {SPEAKERS} speakers that judging takes")
    return {name: voices[names == name] for name in enough}
