from __future__ import annotations

import io

import pytest
from rich.console import Console

from diarize.cli.listening import JsonLines, RttmLines
from diarize.cli.live import SHOWN, LiveView, make_sink
from diarize.streaming import Turn


def shown(view: LiveView) -> str:
    console = Console(file=io.StringIO(), width=84)
    console.print(view.picture())
    return console.file.getvalue()  # type: ignore[attr-defined]


def view() -> LiveView:
    return LiveView(Console(file=io.StringIO(), width=84), "talk")


def test_nobody_speaks_yet() -> None:
    assert shown(view()).strip() == "talk  0:00  nobody speaks"


def test_who_speaks_now_and_for_how_long() -> None:
    live = view()
    live.show([Turn(0.0, 30.0, ("LIVE_00",), False)], 31.0, 30.0)
    live.show([Turn(30.0, 60.0, ("LIVE_00", "LIVE_01"), False)], 61.0, 60.0)
    live.show([Turn(0.0, 60.0, ("SPEAKER_00",), True)], 61.0, 60.0)
    head, first, second, ruler = shown(live).rstrip().splitlines()
    assert head.split() == ["talk", "1:01", "LIVE_00", "+", "LIVE_01", "speak"]
    assert first.split()[:2] == ["●", "LIVE_00"] and first.rstrip().endswith("1:00")
    assert first.count("█") == first.count("▓") == second.count("▓") == 30
    assert second.rstrip().endswith("0:30")
    assert ruler.split() == ["-60", "s", "now", "talk"]


def test_the_timeline_rolls_on() -> None:
    live = view()
    live.show([Turn(0.0, 1.0, ("LIVE_00",), False)], 2.0, 1.0)
    live.show([], SHOWN + 5, SHOWN + 4)
    assert "█" not in shown(live) and "nobody" in shown(live)
    assert not live._recent
    live.show([], 3 * 3600, 3 * 3600)
    assert "3:00:00" in shown(live)


def test_the_last_picture_stays() -> None:
    console = Console(file=io.StringIO(), width=84, force_terminal=True)
    with LiveView(console, "talk") as live:
        live.show([Turn(0.0, 1.0, ("LIVE_00",), False)], 2.0, 1.0)
    assert "LIVE_00" in console.file.getvalue()  # type: ignore[attr-defined]


def test_only_a_terminal_is_shown_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    with make_sink(None, "talk") as sink:
        assert isinstance(sink, JsonLines)
    with make_sink("rttm", "talk") as sink:
        assert isinstance(sink, RttmLines)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert isinstance(make_sink(None, "talk"), LiveView)
    with make_sink("jsonl", "talk") as sink:
        assert isinstance(sink, JsonLines)
