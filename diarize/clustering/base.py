"""The contract of every clustering: what goes in, what comes out, and how speakers are counted."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Float64, Int64
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from diarize.clustering.checks import (
    Rows,
    check_integer,
    check_number,
    check_rows,
    check_scatter,
)
from diarize.clustering.composition import (
    MOST_COMPOSITIONS,
    Compose,
    compose_sets,
    count_compositions,
    count_sets,
    most_speakers,
)
from diarize.clustering.constraints import Constraints, Contradiction
from diarize.clustering.geometry import nearest_cosine
from diarize.clustering.known import known_of
from diarize.clustering.nearest import nearest_centers
from diarize.clustering.selection import Criterion
from diarize.scatter import Scatter
from diarize.sets import Speakers, SpeakerSets, squared_distances
from diarize.threads import one_thread

MAX_SPEAKERS = 20
"""Most speakers looked for when no bound is given; `max_speakers` may be larger."""

MOST_SETS = 5000
"""Most sets of speakers looked at: time and memory grow with their number."""

UNTOLD = 10**9  # sets; how many more there are, nobody is told

BOUNDS = ("n_speakers", "min_speakers", "max_speakers")  # `SpeakerBounds` looks at them


@dataclass(frozen=True)
class SpeakerBounds:
    """How many speakers the answer may have, from `low` to `high`, both included."""

    low: int
    high: int

    @classmethod
    def resolve(
        cls,
        n_speakers: Any,
        min_speakers: Any,
        max_speakers: Any,
        n_rows: int,
        max_set_size: int = 1,
    ) -> SpeakerBounds:
        """Bounds for n rows; the upper one is such that all sets can be looked at.

        Raises:
            ValueError: a number is not a positive integer, they contradict each other, more
                speakers are asked for than there are rows, or they have too many sets.
        """
        for name, value in zip(BOUNDS, (n_speakers, min_speakers, max_speakers), strict=True):
            if value is not None:
                check_integer(name, value)
        low = n_speakers or min_speakers or 1
        high = n_speakers or max_speakers or max(low, MAX_SPEAKERS)
        if n_speakers is None and low > high:
            raise ValueError(f"min_speakers={low} is more than max_speakers={high}")
        if n_speakers is not None and not (min_speakers or 1) <= n_speakers <= (
            max_speakers or n_speakers
        ):
            bounds = {"min_speakers": min_speakers, "max_speakers": max_speakers}
            told = (f"{name}={value}" for name, value in bounds.items() if value is not None)
            raise ValueError(f"n_speakers={n_speakers} contradicts {', '.join(told)}")
        if low > n_rows > 0:
            raise ValueError(f"{low} speakers asked for, but there are only {n_rows} rows")
        if max_set_size > 1:
            if (n_sets := count_sets(low, max_set_size, UNTOLD)) > MOST_SETS:
                many = n_sets if n_sets <= UNTOLD else "over a billion"
                raise ValueError(
                    f"{low} speakers have {many} sets of up to {max_set_size}, more than the "
                    f"{MOST_SETS} that can be looked at: lower max_set_size"
                )
            if (n_ways := count_compositions(low, max_set_size)) > MOST_COMPOSITIONS:
                raise ValueError(
                    f"sets of up to {max_set_size} of {low} speakers are composed in {n_ways} "
                    f"ways, more than the {MOST_COMPOSITIONS} that can be looked at: lower "
                    "max_set_size"
                )
            high = most_speakers(high, max_set_size, MOST_SETS)
        return cls(low, min(high, n_rows))


@dataclass(frozen=True)
class Regions:
    """What a clustering learned: places in space, and the set of speakers each stands for."""

    ids: Int64[np.ndarray, " n"]  # region of each row that was fitted
    sets: SpeakerSets  # (m, k): who is in a region
    centers: Float64[np.ndarray, "m p"]
    offsets: Float64[np.ndarray, " m"]  # added to the squared distance from a center
    centroids: Float64[np.ndarray, "k p"]  # of the speakers


Answer = tuple[SpeakerSets, Float64[np.ndarray, "k p"]]
"""Sets of the rows, and centroids of the speakers."""


@dataclass(kw_only=True, eq=False, repr=False)
class Clusterer(ClusterMixin, BaseEstimator):
    """A scikit-learn estimator that answers sets of speakers.

    Subclasses implement `_prepare`, or `_cluster` where the fit may see a sample only; their
    options are declared as fields, with a default each.

    Args:
        n_speakers: in the answer, exactly so many; None: inferred.
        min_speakers: least number when inferred.
        max_speakers: largest number when inferred.
        max_set_size: d, most speakers in a set.
        compose: g. A torch callable is differentiated by autograd; any other by finite differences
            over the centroid values, which takes long unless it works value by value.
        scatter: how unit rows of one speaker scatter, where that is known; None: it is not.
        random_state: seed.

    Several backends have these, with a default of their own:
        set_penalty: squared distance by which a set must be nearer to a row for each speaker
            beyond the first; 0 is the paper's algorithm.
        count_penalty: factor on the penalty of speakers (or of clusters, mixtures included) when
            their number is inferred.
        max_iter: most iterations.
        sample_size: rows fitted at most; None: all.

    Attributes:
        sets_: SpeakerSets of the rows, speakers in order of first appearance.
        labels_: id (n,) of each row's set, for scikit-learn's metrics.
        n_speakers_: speakers that hold at least one row.
        centroids_: their centroids, float64 of shape (n_speakers_, p).
        sampled_: how many rows the fit saw, the others being assigned to the nearest set;
            None where it saw all.
    """

    n_speakers: int | None = None
    min_speakers: int | None = None
    max_speakers: int | None = None
    max_set_size: int = 2
    compose: Compose | None = None
    scatter: Scatter | None = None
    random_state: Any = None

    finds_overlap = True
    """Whether a set may hold more than one speaker."""

    composes = True
    """Whether `fit` calls g, and needs one to find sets of several speakers."""

    negative: ClassVar[tuple[str, ...]] = ()
    """Options that may be below 0; a backend checks these by itself."""

    takes_constraints = False
    """Whether `fit` can use `must_link` and `cannot_link`."""

    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {}
    """Own options that are worth a search, with the candidates to try, the default first.

    `n_speakers` is not among them, since it belongs to a recording rather than to a method; who
    tunes it all the same (the paper does, for trials of equally many speakers) names it.
    """

    @property
    def needs_truth(self) -> bool:
        """Whether `fit` has to be given y, the true sets: scikit-learn's tag of the target."""
        return bool(self.__sklearn_tags__().target_tags.required)

    def fit(
        self, X: Any, y: Any = None, *, must_link: Any = None, cannot_link: Any = None
    ) -> Clusterer:
        """Cluster the rows of X, shape (n, p), taken as they are; n may be 0.

        Args:
            X: the rows.
            y: the true sets, for who needs them.
            must_link: pairs of row numbers, shape (m, 2), that have the same set of speakers.
            cannot_link: pairs of row numbers that have different sets.

        Raises:
            ValueError: X, an option or a link cannot be used, or no answer keeps to the links; one
                line says why, and names two rows where links contradict each other.
        """
        rows = check_rows(X)
        for name, links in (("must_link", must_link), ("cannot_link", cannot_link)):
            if links is not None and len(links) and not self.takes_constraints:
                raise ValueError(f"{type(self).__name__} cannot use {name}")
        self._constraints = Constraints.of(must_link, cannot_link, len(rows))
        self._check_options()
        check_scatter(self.scatter, rows.shape[1])
        self.n_features_in_ = rows.shape[1]
        self.sampled_: int | None = None
        bounds = SpeakerBounds.resolve(
            self.n_speakers,
            self.min_speakers,
            self.max_speakers,
            len(rows),
            self.max_set_size if self.finds_overlap else 1,
        )
        # A g of torch has imported it: what it is given is too little for several threads.
        with one_thread() if "torch" in sys.modules else nullcontext():
            self._answer(*self._clustered(rows, y, bounds))
        return self

    def _clustered(self, rows: Rows, y: Any, bounds: SpeakerBounds) -> Answer:
        """Sets and centroids within the bounds; of two speakers who are alike one is left."""
        generator = as_generator(self.random_state)
        cluster = self._prepare(rows, y, bounds, generator)
        sets, centroids = cluster(bounds)
        known = known_of(rows, self.scatter)
        alike = None if known is None else known.alike
        while alike is not None and bounds.low < len(order := sets.appearance):
            if self.needs_truth or nearest_cosine(centroids[order]) < alike:
                break
            fewer = SpeakerBounds(len(order) - 1, len(order) - 1)
            try:
                sets, centroids = cluster(fewer)
            except Contradiction:  # who is alike is said to be two
                break
        return sets, centroids

    def _answer(self, sets: SpeakerSets, centroids: Float64[np.ndarray, "k p"]) -> None:
        """Say so of the rows; speakers who hold none are left out."""
        order = sets.appearance
        self.sets_ = sets.by_first_appearance()
        self.labels_ = self.sets_.labels
        self.n_speakers_ = len(order)
        self.centroids_ = centroids[order]

    def moved_to(self, X: Any, centroids: Float64[np.ndarray, "k p"]) -> Self:
        """The same clustering with speakers who lie elsewhere, and may be fewer.

        Each of the rows X is in the nearest set of theirs, and each speaker holds one at least.
        """
        rows = check_rows(X)
        again = copy(self).set_params(
            n_speakers=len(centroids), min_speakers=None, max_speakers=None
        )
        speakers = replace(self.speakers(), centroids=centroids)
        sets = speakers.sets()
        places = speakers.places(sets)
        ids = nearest_centers(rows, places, getattr(self, "set_penalty", 0.0) * (sets.sizes - 1.0))
        for alone in np.flatnonzero(~sets.membership[ids].any(axis=0)):  # these are the first sets
            held = sets.membership[ids]  # (n, k)
            needed = held[:, held.sum(axis=0) == 1].any(axis=1)  # the only row of somebody
            gaps = squared_distances(rows, places[[alone]])[:, 0]
            ids[np.where(needed, np.inf, gaps).argmin()] = alone
        again._answer(sets[ids], centroids)
        return again

    def fit_predict(self, X: Any, y: Any = None, **links: Any) -> Int64[np.ndarray, " n"]:
        """`labels_` after `fit`."""
        return self.fit(X, y, **links).labels_

    def ask_no_more_than(self, n_rows: int) -> int | None:
        """Ask for no more speakers than there are rows, if any; how many were, where it is more."""
        asked = {name: getattr(self, name) for name in ("n_speakers", "min_speakers")}
        too_many = {name: n for name, n in asked.items() if n is not None and 0 < n_rows < n}
        self.set_params(**dict.fromkeys(too_many, n_rows))
        return max(too_many.values(), default=None)

    def ask_for_more(self, n_rows: int, more: int) -> None:
        """Look for so many speakers more than it is told that there are at most, as rows allow."""
        most = self.n_speakers or self.max_speakers
        limit = min(n_rows, MAX_SPEAKERS)
        if self.finds_overlap:
            limit = most_speakers(limit, self.max_set_size, MOST_SETS)
        if most is not None and most < limit:
            most = min(most + more, limit)
            told = None if self.n_speakers is None else most
            self.set_params(n_speakers=told, max_speakers=most)

    def speakers(self) -> Speakers:
        """Who was found, for what comes after a fit; where the truth was told, so are the sets."""
        return Speakers(
            self.centroids_,
            partial(compose_sets, self.compose),
            int(self.max_set_size) if self.finds_overlap else 1,
            self.sets_ if self.needs_truth else None,
        )

    def _check_options(self) -> None:
        """Raise ValueError for values of options that cannot be used.

        Where nothing else is said, an integer is 1 or more and any other number 0 or more.
        """
        for option in fields(self):
            value = getattr(self, option.name)
            kind, _, optional = str(option.type).partition(" | ")
            if option.name in self.negative or (optional and value is None):
                continue
            if kind == "int" and option.name not in BOUNDS:
                check_integer(option.name, value)
            elif kind == "float":
                check_number(option.name, value)
        if self.composes and self.max_set_size > 1 and self.compose is None:
            raise ValueError(
                f"max_set_size={self.max_set_size} needs a composition function: give compose, "
                "or max_set_size=1"
            )

    def _prepare(
        self, rows: Rows, y: Any, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Callable[[SpeakerBounds], Answer]:
        """Do what is the same for any number of speakers; what is returned clusters within bounds.

        Those are `bounds` first, and then fewer speakers as long as two are alike.
        """
        raise NotImplementedError


class SampledClusterer(Clusterer):
    """A clustering that fits a sample of many rows, and assigns the rest to the nearest set."""

    sample_size: int | None
    _fitted: Int64[np.ndarray, " s"]  # numbers of the rows that are fitted

    def _cluster(
        self,
        rows: Rows,
        criterion: Criterion,
        generator: np.random.Generator,
    ) -> Callable[[SpeakerBounds], Regions]:
        """`_prepare` for the rows that are fitted, at least one.

        What is known of them stands in the criterion.
        """
        raise NotImplementedError

    def _most_rows(self) -> int | None:
        """Rows that are fitted at most; None: all."""
        return self.sample_size

    def _sample(self, n: int, size: int, generator: np.random.Generator) -> Int64[np.ndarray, " s"]:
        """Numbers of the rows that are fitted, sorted."""
        return np.sort(generator.choice(n, size, replace=False))

    def _prepare(
        self, rows: Rows, y: Any, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Callable[[SpeakerBounds], Answer]:
        n, p = rows.shape
        if n == 0:
            return lambda _: (SpeakerSets(np.zeros((0, 0))), np.zeros((0, p)))
        most = self._most_rows()
        size = n if most is None else min(n, max(most, bounds.low))
        criterion = Criterion.of(rows, getattr(self, "count_penalty", 1.0), self.scatter)
        if size == n:
            self._fitted = np.arange(n)
            cluster = self._cluster(rows, criterion, generator)
        else:
            self.sampled_, self._fitted = size, self._sample(n, size, generator)
            cluster = self._cluster(rows[self._fitted], criterion.of_sample(size), generator)

        def answer(bounds: SpeakerBounds) -> Answer:
            regions = cluster(SpeakerBounds(bounds.low, min(bounds.high, size)))
            ids = regions.ids
            if size < n:
                ids = nearest_centers(rows, regions.centers, regions.offsets)
                ids[self._fitted] = regions.ids
                ids = ids[self._constraints.firsts]
            return regions.sets[ids], regions.centroids

        return answer


def as_generator(random_state: Any) -> np.random.Generator:
    """A numpy Generator from None, a seed, a Generator or scikit-learn's RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be a seed or a generator, got {random_state!r}; a seed is an "
            "integer of at least 0"
        ) from None


def warn_not_converged(name: str, max_iter: int) -> None:
    """Say that an algorithm stopped at `max_iter`."""
    warnings.warn(
        f"{name} has not converged after max_iter={max_iter} iterations",
        ConvergenceWarning,
        stacklevel=2,
    )
