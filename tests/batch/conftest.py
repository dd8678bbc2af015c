"""Work on recordings of tones, with a model that has learned nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from diarize.activity import whole
from diarize.batch import Targets, Work
from diarize.pipeline import Diarizer


@pytest.fixture
def work(tiny_weights: Path, tmp_path: Path) -> Work:
    diarizer = Diarizer(n_speakers=1, activity=whole, model=tiny_weights, device="cpu")
    return Work(diarizer=diarizer, targets=Targets(tmp_path / "out"))
