"""Exit codes and lines for exceptions."""

from __future__ import annotations

import errno
import warnings

import pytest

from diarize.cli.messages import (
    error,
    is_silent,
    note,
    show_warnings_as_notes,
    silence,
)
from diarize.errors import InputError, TrainingError, explain


def test_each_note_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    note("one", "two\nlines")
    note()
    with silence():
        note("nothing")
    assert capsys.readouterr().err == "diarize: note: one\ndiarize: note: two lines\n"


@pytest.mark.parametrize(
    ("problem", "status", "line"),
    [
        (InputError("a.wav: empty"), 2, "a.wav: empty"),
        (ValueError("two\n  lines"), 2, "two lines"),
        (ValueError("two  blanks.wav: empty\n"), 2, "two  blanks.wav: empty"),
        (
            OSError(errno.EIO, "Input/output error", "a\x1b[31m\tb"),
            1,
            "a [31m b: Input/output error",
        ),
        (ValueError(""), 2, ""),
        (OSError(errno.ENOSPC, "No space left", "out.rttm"), 1, "out.rttm: No space left"),
        (OSError(errno.EIO, "Input/output error"), 1, "Input/output error"),
        (OSError("odd"), 1, "OSError: odd"),
        (MemoryError(), 1, "out of memory"),
        (RuntimeError("CUDA\nfailed"), 1, "RuntimeError: CUDA failed"),
        (TrainingError("step 3: stopped"), 1, "step 3: stopped"),
    ],
)
def test_explain(problem: BaseException, status: int, line: str) -> None:
    assert explain(problem) == (status, line)


def test_warnings_are_notes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back afterwards
    show_warnings_as_notes()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        shown = warnings.showwarning
        shown(UserWarning("not\nconverged"), UserWarning, "file.py", 3)
    assert capsys.readouterr().err == "diarize: note: not converged\n"


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with silence():
        with silence():
            note("not said")
        note("not said")
        error("said")
        assert is_silent()
    note("said")
    assert capsys.readouterr().err == "diarize: error: said\ndiarize: note: said\n"


def test_a_name_cannot_make_a_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    error("new\nline.wav: two  blanks\x1b[2J")
    note("a\u2028b\r\n\n c")
    assert capsys.readouterr().err == (
        "diarize: error: new line.wav: two  blanks [2J\ndiarize: note: a b c\n"
    )
