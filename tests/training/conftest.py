import numpy as np
import pytest

from diarize.mixing.voices import Voices


@pytest.fixture(scope="session")
def hums() -> Voices:
    """Ten voices, hums of their own pitch and colour, in two corpora."""
    rng = np.random.default_rng(0)
    n = 16_000 * 4
    time = np.arange(n) / 16_000
    samples = np.concatenate(
        [
            3000 * np.sign(np.sin(2 * np.pi * (80 + 17 * i) * time + rng.random()))
            + 300 * rng.standard_normal(n)
            for i in range(10)
        ]
    ).astype(np.int16)
    starts = np.arange(10) * n
    return Voices(
        samples,
        starts,
        starts + n,
        np.array([f"s{i}" for i in range(10)]),
        np.array(list("aaaaaabbbb")),
        np.eye(10, 16, dtype=np.float32),
    )
