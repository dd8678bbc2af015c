"""Tables in a file or a pipe, and the one after a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pyannote.core import Annotation, Segment
from rich.table import Table

from diarize.cli.tables import print_summary, print_table
from diarize.timeline import Diarization


@pytest.mark.parametrize("stderr", [False, True])
def test_nothing_is_cut(capsys: pytest.CaptureFixture[str], stderr: bool) -> None:
    table = Table(box=None, show_header=False, padding=0)
    table.add_row("x" * 500, "[b]y")
    print_table(table, stderr=stderr)
    captured = capsys.readouterr()
    shown, other = (captured.err, captured.out) if stderr else (captured.out, captured.err)
    assert shown.startswith("x" * 500)
    assert shown.count("\n") == 1
    assert other == ""


def found(annotation: Annotation) -> Diarization:
    return Diarization(annotation, np.zeros((0, 2)), 7, 10.0, "cpu")


def test_who_spoke_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    annotation = Annotation(uri="talk[red]_with_a_name_that_is_longer_than_the_table_is_wide_" * 2)
    for number, (begin, end, label) in enumerate([(0, 4, "A"), (3, 5, "B"), (6, 7, "B")]):
        annotation[Segment(begin, end), number] = label
    print_summary(found(annotation), 0.25)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0] == annotation.uri
    cells = [line.split() for line in lines[1:-1]]
    assert ["│", "A", "│", "4.0", "│", "67%", "│", "1", "│"] in cells
    assert ["│", "B", "│", "3.0", "│", "50%", "│", "2", "│"] in cells
    assert lines[-1] == (
        "6.0 s of speech in 10.0 s; overlap 1.0 s (16.7% of speech); real-time factor 0.025 on cpu"
    )


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ({}, "2 speakers"),
        ({2: 1.0}, "2 speakers"),
        ({1: 0.02, 2: 0.93, 3: 0.05}, "2 speakers"),
        ({1: 0.2, 2: 0.6, 3: 0.2}, "2 speakers (1 to 3 possible)"),
    ],
)
def test_how_many_there_may_be(
    capsys: pytest.CaptureFixture[str], number: dict[int, float], said: str
) -> None:
    annotation = Annotation(uri="talk")
    annotation[Segment(0, 1), 0], annotation[Segment(1, 2), 1] = "A", "B"
    print_summary(replace(found(annotation), number=number), 0.25)
    assert capsys.readouterr().err.splitlines()[-2] == said


def test_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(found(Annotation(uri="quiet")), 0.25)
    assert capsys.readouterr().err == (
        "quiet\n0.0 s of speech in 10.0 s; overlap 0.0 s; real-time factor 0.025 on cpu\n"
    )


def test_names_mean_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["[/x]", "[anna]", ":cat:", "[b]"]
    table = Table("[/head]", box=None, padding=0)
    for name in names:
        table.add_row(name)
    print_table(table)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == ["[/head]", *names]
    annotation = Annotation(uri="talk\x1b[31m")
    for number, name in enumerate(names):
        annotation[Segment(number, number + 1), number] = name
    print_summary(found(annotation), 0.25)
    shown = capsys.readouterr().err
    assert all(f"│ {name} " in shown for name in names)
    assert shown.startswith("talk [31m\n")
