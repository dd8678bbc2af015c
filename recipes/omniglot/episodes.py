"""Episodes of a few characters: single and superposed canvases, and which set each one holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float, Int64
from omniglot.augment import (
    PAPER,
    TRAINING,
    add_noise,
    random_maps,
    render,
    superpose,
    symmetry_maps,
)
from omniglot.images import Drawings
from omniglot.model import Embedding
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

INVENTED = 0.4
"""Part of a training episode's classes that are invented of two characters side by side."""

SET_ACCURACY_CLASSES = 5
EPISODES_AT_ONCE = 25


@dataclass(frozen=True)
class Episode:
    """Some episodes of equal shape.

    Attributes:
        canvases: `rounds` times every class alone, round after round, then the pairs.
        rounds: how many canvases of each class alone there are.
        pairs: the classes of each superposed canvas.
    """

    canvases: Float[Tensor, "e canvases side side"]
    rounds: int
    pairs: Int64[Tensor, "pairs 2"]


def all_pairs(classes: int) -> Int64[Tensor, "pairs 2"]:
    """Every two of the classes, in the order of `candidates`."""
    return torch.tensor(list(combinations(range(classes), 2)))


def training_episodes(
    drawings: Drawings,
    episodes: int,
    classes: int,
    side: int,
    generator: torch.Generator,
    rounds: int = 2,
) -> Episode:
    """Episodes of classes that are more than the characters there are.

    A class is a character in one of its eight symmetries (turned by right angles, mirrored), or two
    such side by side (or above each other) at a fixed place, each half as wide. Every canvas draws
    anew which drawing of a character is seen, and how it is bent and moved; its side is `side`
    pixels.
    """
    rng = np.random.default_rng(int(torch.randint(2**62, (), generator=generator)))
    n_classes = episodes * classes
    parts = np.concatenate(
        [
            rng.choice(len(drawings), 2 * classes, replace=2 * classes > len(drawings))
            for _ in range(episodes)
        ]
    ).reshape(n_classes, 2)
    symmetries = torch.from_numpy(rng.integers(8, size=(n_classes, 2)))
    invented = rng.random(n_classes) < INVENTED
    places = _halves(torch.from_numpy(rng.random(n_classes) < 0.5))
    pairs = all_pairs(classes)
    # Layers: in the order of the canvases, whose pairs have two.
    owner = (
        np.concatenate([np.tile(np.arange(classes), rounds), pairs.flatten().numpy()])
        + classes * np.arange(episodes)[:, None]
    )  # (e, layers)
    owner = owner.ravel()
    placed = random_maps(len(owner), TRAINING, generator)
    own = torch.from_numpy(owner)
    twofold = torch.from_numpy(invented)[own]
    layers = render(
        drawings.images[_some_drawing(drawings, parts[owner, 0], rng)],
        symmetry_maps(symmetries[own, 0])
        @ torch.where(twofold[:, None, None], places[own, 0], torch.eye(3))
        @ placed,
        side,
    )
    if twofold.any():
        second = own[twofold]
        other = render(
            drawings.images[_some_drawing(drawings, parts[second.numpy(), 1], rng)],
            symmetry_maps(symmetries[second, 1]) @ places[second, 1] @ placed[twofold],
            side,
        )
        layers[twofold] = torch.maximum(layers[twofold], other)
    single = rounds * classes
    each = layers.view(episodes, -1, *layers.shape[1:])
    both = each[:, single:].unflatten(1, (len(pairs), 2)).amax(dim=2)
    canvases = torch.cat([each[:, :single], both], dim=1)
    noisy = add_noise(canvases.flatten(0, 1), TRAINING, generator).view_as(canvases)
    return Episode(noisy, rounds, pairs)


def _halves(above: Tensor) -> Float[Tensor, "n 2 3 3"]:
    """Maps that put two drawings beside each other, or one above the other."""
    maps = torch.eye(3).expand(len(above), 2, 3, 3).clone()
    axis = above.long()
    rows = torch.arange(len(above))
    for part, middle in enumerate((-0.42, 0.42)):
        maps[:, part, 0, 0] = maps[:, part, 1, 1] = 1.25
        maps[rows, part, axis, axis] = 1.9
        maps[rows, part, axis, 2] = -1.9 * middle
    return maps


def _some_drawing(drawings: Drawings, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(drawings.rows[c]) for c in classes])


def candidates(
    compose: Callable[[Tensor, Tensor], Tensor], references: Float[Tensor, "e classes dim"]
) -> Float[Tensor, "e sets dim"]:
    """References of all sets of one and two classes, (e, sets, dim), singles first."""
    i, j = all_pairs(references.shape[1]).T
    return torch.cat([references, compose(references[:, i], references[:, j])], dim=1)


def episode_loss(model: Embedding, episode: Episode) -> Float[Tensor, ""]:
    """Cross-entropy of every canvas's set among all sets of its episode.

    Each round of canvases of one class serves once as the reference and all others are asked; the
    result is the mean over these turns. (The paper has a triplet loss; here every wrong set of the
    episode counts.)
    """
    vectors = model.encode(episode.canvases.flatten(0, 1))
    vectors = vectors.view(*episode.canvases.shape[:2], -1)
    n_pairs = len(episode.pairs)
    n_classes = (vectors.shape[1] - n_pairs) // episode.rounds
    target = torch.cat(
        [torch.arange(n_classes).repeat(episode.rounds), n_classes + torch.arange(n_pairs)]
    )
    losses = []
    for turn in range(episode.rounds):
        reference = slice(turn * n_classes, (turn + 1) * n_classes)
        asked = torch.ones(vectors.shape[1], dtype=torch.bool)
        asked[reference] = False
        sets = candidates(model.compose, vectors[:, reference])
        logits = model.log_scale.exp() * vectors[:, asked] @ sets.mT
        wanted = target[asked].expand(len(vectors), -1)
        losses.append(cross_entropy(logits.flatten(0, 1), wanted.flatten()))
    return torch.stack(losses).mean()


def draw(
    drawings: Drawings,
    sets: list[list[int]],
    generator: torch.Generator,
    rows: list[list[int]] | None = None,
) -> Float[Tensor, "n side side"]:
    """One canvas for each set of characters, augmented as in the paper.

    Args:
        drawings: the characters.
        sets: indices of characters, one list for each canvas.
        generator: chance.
        rows: which rows of the images to take, shaped as `sets`; None: any of the character's.
    """
    rng = np.random.default_rng(int(torch.randint(2**62, (), generator=generator)))
    if rows is None:
        rows = [[int(rng.choice(drawings.rows[c])) for c in members] for members in sets]
    flat = torch.tensor([row for chosen in rows for row in chosen])
    layers = render(drawings.images[flat], random_maps(len(flat), PAPER, generator))
    width = max(len(chosen) for chosen in rows)
    members = torch.full((len(rows), width), -1)
    at = 0
    for index, chosen in enumerate(rows):
        members[index, : len(chosen)] = torch.arange(at, at + len(chosen))
        at += len(chosen)
    return add_noise(superpose(layers, members), PAPER, generator)


@dataclass(frozen=True)
class SetAccuracy:
    """Parts of the queries that lie nearest to the right one of the 15 sets of 5 characters.

    Attributes:
        all: of all queries; references of single characters are drawings through f, those of pairs
            are g of two, and queries are canvases of all 15 sets.
        single: of the queries with one character.
        pair: of those with two.
        literal: as the paper words it: references are canvases of all 15 sets, and queries are
            canvases of single characters or g of two.
        mean: as `all`, with the normalised mean of two references in place of g.
    """

    all: float
    single: float
    pair: float
    literal: float
    mean: float


def set_accuracy(model: Embedding, drawings: Drawings, episodes: int, seed: int) -> SetAccuracy:
    """Measure on episodes of 5 characters; queries are of other drawings than the references."""
    generator = torch.Generator().manual_seed(seed)
    rng = np.random.default_rng(seed)
    n = SET_ACCURACY_CLASSES
    kinds = [*([c] for c in range(n)), *(list(pair) for pair in combinations(range(n), 2))]
    plan = [[c] for c in range(n)] + kinds  # references, queries
    own = torch.arange(len(kinds))
    right, literal, mean = (torch.zeros(len(kinds)) for _ in range(3))
    for start in range(0, episodes, EPISODES_AT_ONCE):
        e = min(EPISODES_AT_ONCE, episodes - start)
        named, rows = [], []
        for _ in range(e):
            classes = rng.choice(len(drawings), n, replace=False)
            # Each character is once a reference and asked in five canvases: six drawings of it.
            pools = [rng.permutation(drawings.rows[c])[: n + 1].tolist() for c in classes]
            named += [[int(classes[c]) for c in members] for members in plan]
            rows += [[pools[c].pop() for c in members] for members in plan]
        vectors = model.embed(draw(drawings, named, generator, rows)).view(e, len(plan), -1)
        singles, queries = vectors[:, :n], vectors[:, n:]
        cosines = queries @ candidates(model.compose, singles).mT
        right += (cosines.argmax(dim=2) == own).sum(dim=0)
        literal += (cosines.argmax(dim=1) == own).sum(dim=0)
        plain = candidates(lambda a, b: normalize(a + b, dim=-1), singles)
        mean += ((queries @ plain.mT).argmax(dim=2) == own).sum(dim=0)
    right, literal, mean = right / episodes, literal / episodes, mean / episodes
    return SetAccuracy(
        *(float(part.mean()) for part in (right, right[:n], right[n:], literal, mean))
    )
