"""The contract of every clustering: what goes in, what comes out, and how speakers are counted."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Float64, Int64
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from diarize.clustering.composition import Compose, compose_sets, count_sets, most_speakers
from diarize.clustering.geometry import lie_on_sphere, nearest_cosine
from diarize.clustering.nearest import Nearest
from diarize.scatter import Scatter
from diarize.sets import Speakers, SpeakerSets

Rows = Float[np.ndarray, "n p"]

MAX_SPEAKERS = 20
"""Most speakers looked for when no bound is given; `max_speakers` may be larger."""

MOST_SETS = 5000
"""Most sets of speakers looked at: time and memory grow with their number."""

BOUNDS = ("n_speakers", "min_speakers", "max_speakers")  # looked at by `SpeakerBounds`

LARGEST = 1e100
"""Largest value of a row: sums of squares of larger ones may overflow."""

LEAST_SINGLE, MOST_SINGLE = 1e-12, 1e15
"""Between these lies the largest value of rows that are worked on in float32."""


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
        """Bounds for n rows; the upper one is such that there are at most `MOST_SETS` sets.

        Raises:
            ValueError: a number is not a positive integer, they contradict each other, more
                speakers are asked for than there are rows, or they have too many sets.
        """
        for name, value in (
            ("n_speakers", n_speakers),
            ("min_speakers", min_speakers),
            ("max_speakers", max_speakers),
        ):
            if value is not None:
                check_integer(name, value)
        low = n_speakers or min_speakers or 1
        high = n_speakers or max_speakers or max(low, MAX_SPEAKERS)
        if n_speakers is None and low > high:
            raise ValueError(f"min_speakers={low} is more than max_speakers={high}")
        if n_speakers is not None and not (min_speakers or 1) <= n_speakers <= (
            max_speakers or n_speakers
        ):
            raise ValueError(
                f"n_speakers={n_speakers} contradicts min_speakers={min_speakers}, "
                f"max_speakers={max_speakers}"
            )
        if low > n_rows > 0:
            raise ValueError(f"{low} speakers asked for, but there are only {n_rows} rows")
        if max_set_size > 1:
            if (n_sets := count_sets(low, max_set_size)) > MOST_SETS:
                raise ValueError(
                    f"{low} speakers have {n_sets} sets of up to {max_set_size}, more than the "
                    f"{MOST_SETS} that can be looked at: lower max_set_size"
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


@dataclass(kw_only=True, eq=False, repr=False)
class Clusterer(ClusterMixin, BaseEstimator):
    """A scikit-learn estimator that answers sets of speakers.

    Subclasses implement `_fit`, and `_cluster` where the fit may see a sample only; their options
    are declared as fields, with a default each.

    Args:
        n_speakers: in the answer, exactly so many; None: inferred.
        min_speakers: least number when inferred.
        max_speakers: largest number when inferred.
        max_set_size: d, most speakers in a set.
        compose: g. A torch callable is differentiated by autograd; any other by finite differences
            over the centroid values, which takes long unless it works value by value.
        scatter: how unit rows of one speaker scatter, where that is known; None: it is not.
        random_state: seed.

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

    takes_links = False
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

        Raises:
            ValueError: X or an option cannot be used; one line says why.
        """
        rows = check_rows(X)
        for name, links in (("must_link", must_link), ("cannot_link", cannot_link)):
            if links is not None and len(links) and not self.takes_links:
                raise ValueError(f"{type(self).__name__} cannot use {name}")
        self._check_options()
        if self.composes:
            check_composition(self.max_set_size, self.compose)
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
        generator = as_generator(self.random_state)
        sets, centroids = self._fit(rows, y, bounds, generator)
        alike = self.scatter.alike if self.scatter and lie_on_sphere(rows) else None
        while alike is not None and bounds.low < len(order := sets.appearance):
            if self.needs_truth or nearest_cosine(centroids[order]) < alike:
                break
            fewer = SpeakerBounds(len(order) - 1, len(order) - 1)
            sets, centroids = self._fit(rows, y, fewer, generator)
        order = sets.appearance
        self.sets_ = sets.by_first_appearance()
        self.labels_ = self.sets_.labels
        self.n_speakers_ = len(order)
        self.centroids_ = centroids[order]
        return self

    def fit_predict(self, X: Any, y: Any = None, **links: Any) -> Int64[np.ndarray, " n"]:
        """`labels_` after `fit`."""
        return self.fit(X, y, **links).labels_

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

    def _fit(
        self, rows: Rows, y: Any, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> tuple[SpeakerSets, Float64[np.ndarray, "k p"]]:
        """Sets of the rows and centroids of the speakers."""
        raise NotImplementedError


class SampledClusterer(Clusterer):
    """A clustering that fits a sample of many rows, and assigns the rest to the nearest set."""

    sample_size: int | None

    def _cluster(
        self, rows: Rows, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Regions:
        """Fit these rows, at least one."""
        raise NotImplementedError

    def _sample(self, n: int, size: int, generator: np.random.Generator) -> Int64[np.ndarray, " s"]:
        """Numbers of the rows that are fitted, sorted."""
        return np.sort(generator.choice(n, size, replace=False))

    def _fit(
        self, rows: Rows, y: Any, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> tuple[SpeakerSets, Float64[np.ndarray, "k p"]]:
        n, p = rows.shape
        if n == 0:
            return SpeakerSets(np.zeros((0, 0))), np.zeros((0, p))
        size = n if self.sample_size is None else max(self.sample_size, bounds.low)
        if n <= size:
            regions = self._cluster(rows, bounds, generator)
            return regions.sets[regions.ids], regions.centroids
        sample = self._sample(n, size, generator)
        self.sampled_ = size
        regions = self._cluster(
            rows[sample], SpeakerBounds(bounds.low, min(bounds.high, size)), generator
        )
        everyone = Nearest(rows, 1, len(regions.centers))
        everyone.update(regions.centers[None], regions.offsets)
        ids = everyone.labels[0].astype(np.int64)
        ids[sample] = regions.ids
        return regions.sets[ids], regions.centroids


def check_rows(X: Any) -> Rows:
    """X as float32 (kept, unless squares would leave its range) or float64, shape (n, p), finite.

    Raises:
        ValueError: X is not a 2-D array of real numbers, has no column, or holds a value that is
            not finite or above `LARGEST`; the message names the row.
        TypeError: X holds objects that are no numbers.
    """
    if issparse(X):
        raise ValueError("X is sparse, but dense data is required: give X.toarray()")
    rows = np.asarray(X)
    if rows.ndim != 2:
        raise ValueError(f"X must be a 2-D array (rows, dimensions), got {rows.ndim}-D")
    if rows.shape[1] == 0:
        raise ValueError("X has no columns")
    if rows.dtype.kind == "O":
        rows = rows.astype(np.float64)  # scikit-learn wants Python's own TypeError of others
    if rows.dtype.kind not in "fiub":
        reason = "Complex data not supported: " if rows.dtype.kind == "c" else ""
        raise ValueError(f"{reason}X must hold real numbers, got {rows.dtype}")
    if rows.dtype != np.float32:
        rows = rows.astype(np.float64)
    # A sum that is finite says the same of its terms; only others are looked at one by one.
    with np.errstate(over="ignore", invalid="ignore"):
        total = rows.sum(dtype=np.float64)
    if not np.isfinite(total):
        bad = ~np.isfinite(rows)
        if bad.any():
            row = int(np.argmax(bad.any(axis=1)))
            what = "NaN" if np.isnan(rows[row]).any() else "an infinite value"
            raise ValueError(f"row {row} of X holds {what}")
    # The squared distances of float32 rows are float32 too.
    size = max(-float(rows.min(initial=0)), float(rows.max(initial=0)))
    if size > LARGEST:
        row = int(np.argmax((np.abs(rows) > LARGEST).any(axis=1)))
        raise ValueError(f"row {row} of X holds a value beyond {LARGEST:g}")
    if rows.dtype == np.float32 and size > 0 and not LEAST_SINGLE < size < MOST_SINGLE:
        return rows.astype(np.float64)
    return rows


def check_composition(max_set_size: Any, compose: Compose | None) -> None:
    """Raise ValueError unless sets of that size can be composed."""
    if max_set_size > 1 and compose is None:
        raise ValueError(
            f"max_set_size={max_set_size} needs a composition function: give compose, "
            "or max_set_size=1"
        )


def check_scatter(scatter: Any, dimension: int) -> None:
    """Raise ValueError unless it is one of vectors of this dimension, or nothing is known."""
    if not isinstance(scatter, Scatter | None):
        raise ValueError(f"scatter must be a Scatter or None, got {scatter!r}")
    if scatter is not None and scatter.axes is not None:
        p = len(scatter.axes.mean)
        if p != dimension:
            raise ValueError(f"scatter is of vectors of {p} dimensions, but X has {dimension}")


def check_integer(name: str, value: Any, least: int = 1) -> None:
    """Raise ValueError unless the option is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")


def check_number(name: str, value: Any, least: float = 0.0) -> None:
    """Raise ValueError unless the option is a finite number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # an integer may be beyond all floating-point numbers
        number = math.inf
    if not least <= number < math.inf:
        raise ValueError(f"{name} must be a finite number of at least {least:g}, got {value!r}")


def as_generator(random_state: Any) -> np.random.Generator:
    """A numpy Generator from None, a seed, a Generator or scikit-learn's RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def warn_not_converged(name: str, max_iter: int) -> None:
    """Say that an algorithm stopped at `max_iter`."""
    warnings.warn(
        f"{name} has not converged after max_iter={max_iter} iterations",
        ConvergenceWarning,
        stacklevel=2,
    )
