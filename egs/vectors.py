"""One's own vectors: the clusterings know nothing of audio, and take any rows and any g.

Rows of two properties and of their union, told apart without being told the number of properties.

python egs/vectors.py
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from diarize.clustering import make

rng = np.random.default_rng(0)
properties = np.array([[1.0, 0, 0, 1], [0, 1, 1, 0]])
truth = [(0,), (1,), (0, 1)] * 20
rows = np.array([properties[list(one)].max(axis=0) for one in truth])
rows += rng.normal(0, 0.05, rows.shape)

estimator = make("ckm", compose=np.maximum, random_state=0).fit(rows)

print(Counter(map(tuple, estimator.sets_.to_lists())))
