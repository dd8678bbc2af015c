"""Greedy compositional reassignment (Li, He, Whitehill, Algorithm 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Int64
from sklearn.base import clone

from diarize.clustering.base import Regions, SampledClusterer, SpeakerBounds
from diarize.clustering.checks import Rows
from diarize.clustering.geometry import cluster_means
from diarize.clustering.merging import at_most, coarser, cut, ward_tree
from diarize.clustering.nearest import nearest_centers
from diarize.clustering.reassignment import (
    ORDERS,
    THRESHOLDS,
    Reassigner,
    likeliest,
    most_base_clusters,
    most_looked_at,
)
from diarize.clustering.selection import Criterion


@dataclass(kw_only=True, eq=False, repr=False)
class GCR(SampledClusterer):
    """Greedy compositional reassignment: clusters that others compose become sets of these.

    A base clustering comes first. Then clusters are compared with the compositions of others: one
    that lies nearer to its composition than the threshold stands for that set of speakers from
    then on, as long as no two such decisions contradict each other.

    Where it is known on which side all speakers lie (`Axes.along_mean`), a cluster that does not
    lie there is a mixture, and given up before all others, however far it is from its composition;
    but not in Algorithm 4.

    Where the number of speakers is given or bounded, it rules: more or fewer clusters are
    reassigned than the threshold says, and the two nearest base clusters are merged as long as
    that does not suffice.

    Args:
        base: an estimator with `labels_`, taken as it is configured; None: Ward's criterion.
        n_base_clusters: clusters before the reassignment, given to the base as `n_clusters`;
            None: that of `base`, or inferred by `selection` where there is no base.
        order: how it is decided which clusters are reassigned. "elimination": speakers are given up
            one at a time, each time the one without whom all that were given up stay nearest to
            compositions of those who remain. "nearest": Algorithm 4, nearest clusters first, up to
            the first contradiction; where sets are many, that comes early.
        threshold: tau, a distance from a composition; None: the root mean square distance of the
            rows from their base centroids, so that rows of a reassigned cluster may be twice as
            far (in squares) from the composition as from their own centroid.
        set_penalty: added to the squared distance from a composition for each speaker beyond the
            first; 0 is the paper's algorithm.
        sample_size: rows fitted at most, since Ward's memory grows with their square; None: all.

    Attributes:
        n_base_clusters_: base clusters of the answer.
        threshold_: tau that was used.
    """

    base: Any = None
    n_base_clusters: int | None = None
    order: str = "elimination"
    threshold: float | None = None
    set_penalty: float = 0.0
    count_penalty: float = 1.0
    sample_size: int | None = 5_000

    # The paper's two hyperparameters.
    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "n_base_clusters": (None, 6, 8, 10, 12, 15, 18, 20, 25),
        "threshold": THRESHOLDS,
    }

    def _check_options(self) -> None:
        super()._check_options()
        if not isinstance(self.order, str) or self.order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {self.order!r}")
        if not (self.base is None or hasattr(self.base, "get_params")):
            raise ValueError(f"base must be an estimator of scikit-learn's kind, got {self.base!r}")

    def ask_for_more(self, n_rows: int, more: int) -> None:
        """Look for so many speakers more, as rows and base clusters allow."""
        super().ask_for_more(min(n_rows, self.n_base_clusters or n_rows), more)

    def _cluster(
        self,
        rows: Rows,
        criterion: Criterion,
        generator: np.random.Generator,
    ) -> Callable[[SpeakerBounds], Regions]:
        base = self._base(rows, generator)
        inferred = self.base is None and self.n_base_clusters is None
        reassigner = Reassigner.of(self, criterion, set_penalty=self.set_penalty, order=self.order)
        if self.order == "nearest":  # Algorithm 4 knows of no mixtures
            reassigner = replace(reassigner, axes=None)

        def within(bounds: SpeakerBounds) -> Regions:
            labels = base(bounds)
            most = most_looked_at(int(labels.max()) + 1, self.max_set_size, bounds)
            partitions = at_most(most, coarser(rows, labels))
            found = reassigner.reassigned(rows, partitions, bounds)
            tried = found if inferred else islice(found, 1)
            best = likeliest(criterion, tried)
            if best is None:
                raise ValueError(
                    f"the base clustering has {labels.max() + 1} clusters, "
                    f"fewer than the {bounds.low} speakers asked for"
                )
            labels, chosen = best
            self.n_base_clusters_ = len(chosen.means)
            self.threshold_ = chosen.threshold
            return chosen.regions(labels)

        return within

    def _base(
        self, rows: Rows, generator: np.random.Generator
    ) -> Callable[[SpeakerBounds], Int64[np.ndarray, " n"]]:
        """The base clustering, at its finest within bounds: labels from 0, no cluster empty."""
        if self.base is not None:
            labels = self._given_labels(rows, generator)
            return lambda _: labels
        tree = ward_tree(rows)

        def finest(bounds: SpeakerBounds) -> Int64[np.ndarray, " n"]:
            most = most_base_clusters(self.max_set_size, bounds)
            return cut(tree, min(self.n_base_clusters or most, len(rows)))

        return finest

    def _given_labels(self, rows: Rows, generator: np.random.Generator) -> Int64[np.ndarray, " n"]:
        """Labels of the estimator that is given."""
        base = clone(self.base)
        options = base.get_params()
        if self.n_base_clusters is not None:
            if "n_clusters" not in options:
                raise ValueError(f"{type(base).__name__} takes no n_clusters")
            base.set_params(n_clusters=self.n_base_clusters)
        if "random_state" in options and options["random_state"] is None:
            base.set_params(random_state=int(generator.integers(2**31)))
        given = np.asarray(base.fit(rows).labels_)
        names, labels = np.unique(given, return_inverse=True)
        clusters = np.flatnonzero(names >= 0)
        if len(clusters) in (0, len(names)):
            return labels.astype(np.int64)
        # Rows that the base left out (a negative label) go to the nearest cluster.
        labels = labels - clusters[0]
        inside = labels >= 0
        means = cluster_means(rows[inside], labels[inside], len(clusters))
        return np.where(inside, labels, nearest_centers(rows, means)).astype(np.int64)
