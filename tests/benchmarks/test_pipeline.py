"""The clock of the stages, and the seconds of a process."""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diarize.audio import Recording, open_recording


@pytest.fixture
def benchmarks(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = repo_root / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))  # as for a script that is started
    return folder


@pytest.fixture
def stages(benchmarks: Path) -> dict[str, Any]:
    return runpy.run_path(str(benchmarks / "pipeline_stages.py"))


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


def test_seconds_of_a_process(benchmarks: Path) -> None:
    script = runpy.run_path(str(benchmarks / "pipeline.py"))
    wall, cpu = script["seconds_of"](["-c", "sum(range(10**6))"])
    assert wall > 0 and cpu > 0
    found = script["measured"](
        [sys.executable, "-c", "print('noise'); print('{\"stages\": {\"a\": [1, 2]}}')"], 1
    )
    assert found == {"a": [1, 2]}
