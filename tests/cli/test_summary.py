"""The table after a run."""

from __future__ import annotations

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.cli.summary import print_summary
from diarize.timeline import Diarization


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


def test_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(found(Annotation(uri="quiet")), 0.25)
    assert capsys.readouterr().err == (
        "quiet\n0.0 s of speech in 10.0 s; overlap 0.0 s; real-time factor 0.025 on cpu\n"
    )
