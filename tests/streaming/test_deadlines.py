from __future__ import annotations

import pytest

from diarize.streaming.deadlines import STALL, Deadlines


def test_nothing_is_due_before_its_time() -> None:
    deadlines = Deadlines(2.0)
    assert deadlines.patience(100.0, 0.5) == 0.5 and deadlines.due(100.0) == 0
    deadlines.heard(100.0, 0.0, 0.05)  # a block of 50 ms began as long ago
    deadlines.heard(100.5, 0.05, 1.0)  # one that was recorded before is new
    assert deadlines.patience(101.5, 9.0) == pytest.approx(0.45 - STALL)
    assert deadlines.due(101.8) == 0
    assert deadlines.due(101.95) == 0.05
    assert deadlines.due(102.4) == 1.0 and deadlines.due(200.0) == 0


def test_what_was_said_is_due_no_more() -> None:
    deadlines = Deadlines(1.0)
    deadlines.heard(10.0, 0.0, 0.1)
    deadlines.heard(10.1, 0.1, 0.2)
    deadlines.decided(0.15)
    assert deadlines.due(99.0) == 0.2
    deadlines.heard(99.0, 0.2, 0.3)
    deadlines.decided(0.3)
    assert deadlines.patience(99.0, 7.0) == 7.0
