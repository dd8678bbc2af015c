"""Where the union of several speakers lies: the composition g over sets of centroids."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from math import comb, factorial, inf
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64, Int64

from diarize.clustering.geometry import UNIT_TOLERANCE
from diarize.sets import SpeakerSets

Compose = Callable[[Any, Any], Any]
"""g: two arrays (or tensors) of shape (m, p) -> (m, p), symmetric, row by row."""

Matrices = tuple[Float64[np.ndarray, "p p"], Float64[np.ndarray, "p p"]]

PLAIN: dict[str, Compose] = {
    "max": np.maximum,
    "sum": lambda a, b: a + b,
    "mean": lambda a, b: (a + b) / 2,
}
"""Compositions that need no model; averaged over the orders, `mean` of any set is its mean."""


@runtime_checkable
class Hadamard(Protocol):
    """A g of the paper's form, W1 a + W1 b + W2 (a * b) on the sphere, that shows its matrices.

    Pairs of such a g are composed and differentiated together, three to five times as fast.
    """

    def hadamard_matrices(self) -> Matrices:
        """W1 and W2, in float64."""


MOST_COMPOSITIONS = 200_000
"""Most vectors that one composition of all sets may make: each takes as much as a centroid."""

STEP64 = 1e-6
"""Step of finite differences through a g that answers in float64, relative to the values."""

STEP32 = 5e-3
"""The same for a narrower g, whose rounding the difference must rise above."""


def count_sets(n_speakers: int, max_set_size: int, enough: float = inf) -> int:
    """How many sets of 1 to `max_set_size` of k speakers there are, counted until `enough`."""
    found = 0
    for size in range(1, min(max_set_size, n_speakers) + 1):
        found += comb(n_speakers, size)
        if found > enough:
            break
    return found


def count_orders(set_size: int) -> int:
    """In how many orders a set of so many is composed."""
    return max(1, factorial(set_size) // 2)


def count_compositions(n_speakers: int, max_set_size: int) -> int:
    """How often g is asked for all sets of 1 to `max_set_size` of k speakers, orders included."""
    sizes = range(1, min(max_set_size, n_speakers) + 1)
    return sum(comb(n_speakers, size) * count_orders(size) for size in sizes)


def most_speakers(high: int, max_set_size: int, most_sets: int) -> int:
    """The largest number of speakers, 1 to `high`, with so few sets that they can be composed."""
    k = max(min(high, most_sets), 1)
    while k > 1 and (
        count_sets(k, max_set_size, most_sets) > most_sets
        or count_compositions(k, max_set_size) > MOST_COMPOSITIONS
    ):
        k -= 1
    return k


def compose_sets(
    compose: Compose | None, centroids: Float64[np.ndarray, "*r k p"], sets: Bool[np.ndarray, "m k"]
) -> Float64[np.ndarray, "*r m p"]:
    """Centroid of each set; batches (restarts) may lead.

    One speaker is himself, two are g of both. Of three or more, the recursion g(a, g(b, ...)) is
    averaged over all its orders, and brought back to the sphere when each gave a unit vector.

    Raises:
        ValueError: a set is empty, or g cannot be applied to vectors of this dimension.
    """
    *batch, k, p = centroids.shape
    plan = Plan(sets)
    g = None if plan.only_singles else examine(compose, p)
    return plan.evaluate(g, centroids.reshape(-1, k, p)).reshape(*batch, len(sets), p)


class Plan:
    """In which order sets of all sizes are composed; for numpy and torch alike."""

    def __init__(self, sets: Bool[np.ndarray, "m k"]) -> None:
        sizes = sets.sum(axis=1)
        if (sizes == 0).any():
            raise ValueError("the composition of nobody is not defined")
        self.sets = sets
        self.only_singles = not (sizes > 1).any()
        self.single_rows = np.flatnonzero(sizes == 1)
        self.singles = sets[self.single_rows].argmax(axis=1)  # the speakers in these rows
        self._recursions = [Recursion.over(sets[sizes == s]) for s in np.unique(sizes)]
        # The answer is made in the order of singles, pairs, triples, ...: this brings it back.
        self._order = np.argsort(np.argsort(sizes, kind="stable"))

    @property
    def chains(self) -> int:
        """How many vectors one evaluation makes per restart."""
        return sum(recursion.chains for recursion in self._recursions)

    def __call__(self, xp: ModuleType, g: Compose | None, centroids: Any) -> Any:
        """Centroids (r, m, p) of the sets in the type of `centroids` (r, k, p)."""
        with np.errstate(divide="ignore", invalid="ignore"):  # g of opposites may be undefined
            made = [_average(xp, r(xp, g, centroids)) for r in self._recursions]
        return _take(xp.concatenate(made, axis=1), self._order)

    def evaluate(
        self, g: Examined | None, centroids: Float64[np.ndarray, "r k p"]
    ) -> Float64[np.ndarray, "r m p"]:
        """Centroids of the sets, without a gradient; g may be None where all are singles."""
        if g is None or self.only_singles:
            return centroids[:, self.singles]
        if g.torch is None:
            return self(np, g.function, centroids)
        with g.torch.no_grad():
            tensor = g.torch.from_numpy(centroids).to(g.dtype)
            return self.exact(self(g.torch, g.function, tensor), centroids)

    def exact(self, composed: Any, centroids: np.ndarray) -> np.ndarray:
        """Tensor to float64; a single speaker keeps his centroid though g may round to float32."""
        answer = composed.detach().numpy().astype(np.float64)
        answer[:, self.single_rows] = centroids[:, self.singles]
        return answer


@dataclass(frozen=True)
class Recursion:
    """g(a, g(b, ...)) in all orders, over m sets of one size.

    Any of the `a` members of a set may be composed last; as g is symmetric, a pair has one order,
    a triple 3, four speakers 12.
    """

    last: Int64[np.ndarray, "m a"]  # the speaker who is composed last
    rest: Int64[np.ndarray, "m a"]  # the set of the others: a row of `below`
    below: Recursion | None  # None: the sets are single speakers

    @classmethod
    def over(cls, sets: np.ndarray) -> Recursion:
        size = int(sets[0].sum())
        members = np.nonzero(sets)[1].reshape(len(sets), size)
        if size == 1:
            return cls(members, members, None)
        last = np.arange(1 if size == 2 else size)
        others = np.repeat(sets[:, None], len(last), axis=1)
        others[np.arange(len(sets))[:, None], last, members[:, last]] = False
        distinct, ids = SpeakerSets(others.reshape(-1, sets.shape[1])).distinct()
        return cls(
            members[:, last], ids.reshape(len(sets), -1).copy(), cls.over(distinct.membership)
        )

    @property
    def orders(self) -> int:
        """Recursions per set."""
        return 1 if self.below is None else self.last.shape[1] * self.below.orders

    @property
    def chains(self) -> int:
        """How many vectors one evaluation makes."""
        return len(self.last) * self.orders + (self.below.chains if self.below else 0)

    def __call__(self, xp: ModuleType, g: Any, centroids: Any) -> Any:
        """Shape (r, m, orders, p)."""
        r, _, p = centroids.shape
        if self.below is None:
            return _take(centroids, self.last[:, 0])[:, :, None]
        rest = _take(self.below(xp, g, centroids), self.rest.reshape(-1))  # (r, m a, orders, p)
        last = xp.broadcast_to(_take(centroids, self.last.reshape(-1))[:, :, None], rest.shape)
        return g(last.reshape(-1, p), rest.reshape(-1, p)).reshape(r, len(self.last), -1, p)


def _average(xp: ModuleType, chains: Any) -> Any:
    """Mean over the orders (r, m, orders, p), on the sphere where all of them are."""
    if chains.shape[2] == 1:
        return chains[:, :, 0]
    mean = chains.mean(axis=2)
    unit = (abs((chains * chains).sum(axis=-1) ** 0.5 - 1) < UNIT_TOLERANCE).all(axis=2)
    length = (mean * mean).sum(axis=-1) ** 0.5
    # The mean of unit vectors may vanish, and then has no direction.
    length = xp.where(unit & (length > UNIT_TOLERANCE), length, xp.ones_like(length))
    return mean / length[:, :, None]


def _take(values: Any, index: np.ndarray) -> Any:
    """`values[:, index]`."""
    if isinstance(values, np.ndarray):
        return values[:, index]
    # The gradient of torch's plain indexing is three times slower.
    return values.index_select(1, sys.modules["torch"].from_numpy(index))


@dataclass(frozen=True)
class Examined:
    """A composition function, and how it is called and differentiated."""

    function: Compose
    torch: Any = None  # the module, if g goes through autograd
    dtype: Any = None  # of the tensors g takes
    step: float = STEP64  # of the finite differences, otherwise
    by_value: bool = False  # does value i of the result depend on values i alone?
    matrices: Matrices | None = None  # W1 and W2, if g is of the paper's form


def examine(compose: Compose | None, dimension: int) -> Examined:
    """Find out by trying: autograd in the widest type that g takes, or finite differences.

    Raises:
        ValueError: there is no g, or it cannot be applied to vectors of this dimension.
    """
    if compose is None:
        raise ValueError("sets of several speakers need a composition function")
    generator = np.random.default_rng(0)
    a, b = generator.random((2, 2, dimension)) + 0.5
    a, b = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (a, b))
    reasons: list[str] = []
    torch: Any = sys.modules.get("torch")  # a g of torch has imported it
    if isinstance(compose, torch.nn.Module if torch else ()):
        # g is small: a copy on the CPU saves the way to another device and back at every step, and
        # in float64 a descent does not end where the rounding of g begins.
        module: Any = deepcopy(compose).cpu()
        compose = module
        trials = [(deepcopy(module).double(), torch.float64), (module, torch.float32)]
    else:
        trials = [(compose, dtype) for dtype in ((torch.float64, torch.float32) if torch else ())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of trials that are allowed to fail
        for function, dtype in trials:
            try:
                result = function(
                    torch.from_numpy(a).to(dtype).requires_grad_(), torch.from_numpy(b).to(dtype)
                )
            except Exception as error:  # a stranger's function may raise anything
                reasons.append(str(error))
                continue
            if isinstance(result, torch.Tensor) and result.requires_grad:
                if result.shape != (2, dimension):
                    raise ValueError(_wrong_shape(dimension, tuple(result.shape)))
                matrices = None
                if isinstance(compose, Hadamard):
                    matrices = compose.hadamard_matrices()
                return Examined(function, torch, dtype, matrices=matrices)
        try:
            result = np.asarray(compose(a, b))
        except Exception as error:
            is_module = torch is not None and isinstance(compose, torch.nn.Module)
            reason = reasons[-1] if is_module and reasons else str(error)
            raise ValueError(
                f"the composition function cannot be applied to vectors of dimension {dimension}: "
                + (reason.strip().splitlines() or ["no reason given"])[0]
            ) from error
    if result.shape != (2, dimension):
        raise ValueError(_wrong_shape(dimension, result.shape))
    step = STEP64 if result.dtype == np.float64 else STEP32
    return Examined(compose, step=step, by_value=_works_by_value(compose, a[:1], b[:1]))


def _works_by_value(compose: Compose, a: np.ndarray, b: np.ndarray) -> bool:
    """Does moving value i of one part move value i of the result, and nothing else?"""
    before = np.asarray(compose(a, b))
    moved = a + 0.25 * np.eye(a.shape[1])
    after = np.asarray(compose(moved, np.repeat(b, len(moved), axis=0)))
    return not ((after != before) & ~np.eye(len(moved), dtype=bool)).any()


def _wrong_shape(dimension: int, shape: tuple[int, ...]) -> str:
    return f"the composition function gives shape {shape} for two arrays (2, {dimension})"
