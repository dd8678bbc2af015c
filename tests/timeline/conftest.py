"""A conversation as vectors, and who speaks when in it by a clustering."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.timeline import Decoded, TimelineOptions, Trellis, decode

from ..making import conversation as made_conversation
from ..making import decoded_by_shorter_windows


def decoded(vectors, cells, estimator, **options) -> Decoded:
    speakers, options = estimator.speakers(), TimelineOptions(**options)
    return decode(Trellis.of(cells, vectors, speakers.sets(), None, options), speakers)


@pytest.fixture
def conversation() -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    return made_conversation()


@pytest.fixture
def short() -> Decoded:
    return decoded_by_shorter_windows()
