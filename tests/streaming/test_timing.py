from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.errors import InputError
from diarize.streaming.timing import MARGIN, STALL, Deadlines, plan


@given(st.floats(0.7, 60.0))
def test_the_next_hop_would_be_too_late_but_this_one_is_not(latency: float) -> None:
    timing = plan(latency, 0.0, 0.43)
    assert timing.delay + timing.hop / 16_000 + MARGIN == pytest.approx(latency)
    assert timing.hop % 512 == 0 and timing.hop > 0
    assert timing.delay >= 0.43


@pytest.mark.parametrize("resampling", [0.0, 0.1, 1.0])
def test_a_promise_that_cannot_be_kept_is_refused(resampling: float) -> None:
    with pytest.raises(InputError, match="cannot be promised") as refused:
        plan(0.3, resampling, 0.43)
    least = re.search(r"between ([\d.]+) and 60 s", str(refused.value))
    assert least is not None
    plan(float(least[1]), resampling, 0.43)


@pytest.mark.parametrize("latency", [0.0, -1.0, float("nan"), float("inf"), 61.0])
def test_no_latency_at_all(latency: float) -> None:
    with pytest.raises(InputError, match="cannot be promised"):
        plan(latency, 0.0, 0.43)


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
