"""The clock of the stages, the seconds of a process, the long recording and the errors."""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from diarize.audio import Recording, open_recording


@pytest.fixture(scope="module")
def pipeline(repo_root: Path) -> dict[str, Any]:
    return runpy.run_path(str(repo_root / "benchmarks" / "pipeline.py"))


@pytest.fixture
def stages(repo_root: Path) -> dict[str, Any]:
    return runpy.run_path(str(repo_root / "benchmarks" / "pipeline_ours.py"))


def test_a_stage_within_another_is_not_its_own(
    stages: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(range(100))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)
    clock = stages["Clock"]()  # 0
    with clock.stage("outer"):  # 1
        with clock.stage("inner"):  # 2
            pass  # 3
        with clock.stage("inner"):  # 4
            pass  # 5
    # 6
    assert clock.seconds == {"outer": [3.0, 0.0], "inner": [2.0, 0.0]}


def test_decoding_is_seen_within_other_stages(stages: dict[str, Any]) -> None:
    clock = stages["Clock"]()
    recording = open_recording((np.zeros(32_000, np.float32), 16_000))
    with stages["watched"](clock), clock.stage("outer"):
        blocks = list(recording.blocks(1.0))
    assert [len(block) for block in blocks] == [16_000, 16_000]
    assert clock.seconds["decoding"][0] > 0 and clock.seconds["outer"][0] > 0
    assert Recording.blocks.__qualname__ == "Recording.blocks"


def test_seconds_of_a_process(pipeline: dict[str, Any]) -> None:
    wall, cpu = pipeline["seconds_of"](["-c", "sum(range(10**6))"])
    assert wall > 0 and cpu > 0
    found = pipeline["measured"](
        [sys.executable, "-c", "print('noise'); print('{\"stages\": {\"a\": [1, 2]}}')"], 1
    )
    assert found == {"a": [1, 2]}


def test_the_long_recording_has_its_length_and_does_not_repeat_itself(
    pipeline: dict[str, Any], tmp_path: Path, write_tone: Callable[..., Path]
) -> None:
    source = write_tone(seconds=0.5, channels=2)
    targets = [tmp_path / "a.flac", tmp_path / "b.flac"]
    for target in targets:
        assert pipeline["write_long"](source, target, 2.25, seed=1) == 2.25
    samples, rate = soundfile.read(targets[0])
    assert samples.shape == (round(2.25 * rate), 2)
    repetitions = samples[: 2 * rate].reshape(4, -1)
    distances = np.abs(repetitions[:, None] - repetitions[None]).max(axis=2)
    assert (distances[np.triu_indices(4, 1)] > 0.01).all()
    assert targets[0].read_bytes() == targets[1].read_bytes()
