from __future__ import annotations

import numpy as np
import pytest

from diarize.embedding.embedded import CLUSTERED, apart
from diarize.embedding.knowledge import Knowledge


@pytest.mark.parametrize(
    ("seconds", "step"),
    [(0.0, 0.5), (60.0, 0.5), (CLUSTERED, 0.5), (2 * CLUSTERED, 1.0), (20 * CLUSTERED, 2.0)],
)
def test_in_more_than_half_an_hour_of_speech_windows_lie_further_apart(
    seconds: float, step: float
) -> None:
    known = Knowledge(window=2.0, step=0.5)
    assert apart(np.array([[0.0, seconds / 4], [seconds, 1.75 * seconds]]), known) == step
