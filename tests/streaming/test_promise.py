from __future__ import annotations

import pytest

from diarize.streaming.promise import STALL, Promise


def test_nothing_is_due_before_its_time() -> None:
    promise = Promise(2.0)
    assert promise.patience(100.0, 0.5) == 0.5 and promise.due(100.0) == 0
    promise.heard(100.0, 0.0, 0.05)  # a block of 50 ms began as long ago
    promise.heard(100.5, 0.05, 1.0)  # one that was recorded before is new
    assert promise.patience(101.5, 9.0) == pytest.approx(0.45 - STALL)
    assert promise.due(101.8) == 0
    assert promise.due(101.95) == 0.05
    assert promise.due(102.4) == 1.0 and promise.due(200.0) == 0


def test_what_was_said_is_due_no_more() -> None:
    promise = Promise(1.0)
    promise.heard(10.0, 0.0, 0.1)
    promise.heard(10.1, 0.1, 0.2)
    promise.decided(0.15)
    assert promise.due(99.0) == 0.2
    promise.heard(99.0, 0.2, 0.3)
    promise.decided(0.3)
    assert promise.patience(99.0, 7.0) == 7.0
