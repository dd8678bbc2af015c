"""Dirichlet-process Gaussian mixtures: the sub-cluster sampler (Winter, Dinari, Freifeld, 2022).

`DPGMM` stands alone: any rows, any number of clusters; `sampler` is its chain. `backend` makes sets
of speakers out of it.
"""

from diarize.clustering.dpgmm.estimator import DPGMM
from diarize.clustering.dpgmm.niw import NIW

__all__ = ["DPGMM", "NIW"]
