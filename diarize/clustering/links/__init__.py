"""Links: online clustering that answers every vector at once (Mansfield and others).

`estimator` is the backend; `stream` takes one vector after the other into `graph`, by `thresholds`.
"""

from diarize.clustering.links.estimator import Links, LiveCluster

__all__ = ["Links", "LiveCluster"]
