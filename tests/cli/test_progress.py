"""Progress bars: on a terminal, and nowhere else."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

import pytest

from diarize.cli.progress import board, progress


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, TextIO]]:
    """A terminal: the end that a person looks at, and the end that a program writes to."""
    pty = pytest.importorskip("pty", reason="there are no terminals of this kind here")
    seen, own = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with open(own, "w", encoding="utf-8") as stream:
        yield seen, stream
    os.close(seen)


def shown(seen: int, stream: TextIO) -> str:
    """All that the person has seen."""
    stream.close()
    pieces = []
    with contextlib.suppress(OSError):  # Linux's way to say that this is the end
        while piece := os.read(seen, 4096):
            pieces.append(piece)
    return b"".join(pieces).decode()


def test_a_bar_for_each_stage(
    terminal: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, stream = terminal
    monkeypatch.setattr(sys, "stderr", stream)
    with progress() as hook:
        assert hook is not None
        hook("talk[1]: activity", 1.0, 4.0)
        hook("talk[1]: embedding", 3.0, 4.0)
        hook("talk[1]: activity", 4.0, 4.0)
    screen = shown(seen, stream)
    for text in ("talk[1]: activity", "talk[1]: embedding", "100%", "75%"):
        assert text in screen


def test_a_bar_for_all_files_and_one_for_each_that_is_worked_on(
    terminal: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, stream = terminal
    monkeypatch.setattr(sys, "stderr", stream)
    with board({"a": 30.0, "b": 10.0}) as bars:
        assert bars is not None
        bars.tell("a", "a[1]", "embedding", 1.0, 2.0)  # 60 % of three quarters of the time
        bars.tell("b", "b", "activity", 0.0, 0.0)  # how long is not known yet
        bars._bars.refresh()
        bars.finish("a")
        bars._bars.refresh()
        bars.tell("b", "b", "something new", 1.0, 1.0)
        bars.finish("b")
        bars._bars.refresh()
    screen = shown(seen, stream)
    first, _, later = screen.partition("1 of 2 files")
    for text in ("0 of 2 files", "a[1]: embedding", " 60%", " 45%", "b: activity", "  0%"):
        assert text in first
    assert " 75%" in later and "b: activity" in later and "a[1]" not in later
    assert "100%" in screen.rpartition("2 of 2 files")[2]


def test_results_stay_out_of_the_terminal(
    terminal: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, stream = terminal
    results = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(sys, "stdout", results)
    with progress() as hook:
        assert hook is not None
        hook("simulating", 1, 2)
        print("a.flac\t60.0")
    assert results.getvalue() == "a.flac\t60.0\n"
    screen = shown(seen, stream)
    assert "simulating" in screen
    assert "a.flac" not in screen


@pytest.mark.parametrize("forced", [False, True])
def test_nothing_elsewhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, forced: bool
) -> None:
    if forced:  # as many build machines do, to have colours in their logs
        monkeypatch.setenv("FORCE_COLOR", "1")
    with progress() as hook, board({"a": 1.0}) as bars:
        assert hook is bars is None
    assert capsys.readouterr() == ("", "")
