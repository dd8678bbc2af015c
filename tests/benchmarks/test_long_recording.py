from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile


def test_the_long_recording_has_its_length_and_does_not_repeat_itself(
    repo_root: Path, tmp_path: Path, write_tone: Callable[..., Path]
) -> None:
    script = runpy.run_path(str(repo_root / "benchmarks" / "long_recording.py"))
    source = write_tone(seconds=0.5, channels=2)
    targets = [tmp_path / "a.flac", tmp_path / "b.flac"]
    for target in targets:
        assert script["write_long"](source, target, 2.25, seed=1) == 2.25
    samples, rate = soundfile.read(targets[0])
    assert samples.shape == (round(2.25 * rate), 2)
    repetitions = samples[: 2 * rate].reshape(4, -1)
    distances = np.abs(repetitions[:, None] - repetitions[None]).max(axis=2)
    assert (distances[np.triu_indices(4, 1)] > 0.01).all()
    assert targets[0].read_bytes() == targets[1].read_bytes()
