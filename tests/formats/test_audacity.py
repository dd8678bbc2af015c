"""Labels of Audacity."""

from __future__ import annotations

import io

import pytest
from pyannote.core import Annotation, Segment

from diarize.errors import InputError
from diarize.formats.audacity import audacity_text, read_audacity
from diarize.formats.turns import Turn


def test_content() -> None:
    annotation = Annotation(uri="talk")
    annotation[Segment(0.5, 2.0)] = "Ann\tB"
    annotation[Segment(1.0, 3.25)] = "Zoë"
    assert audacity_text(annotation) == "0.500000\t2.000000\tAnn B\n1.000000\t3.250000\tZoë\n"


def test_what_audacity_writes() -> None:
    text = (
        "0,500000\t2,000000\tann\r\n"  # a German one
        "\\\t200.000000\t3000.000000\r\n"  # the range of frequencies of a spectral selection
        "2.5\t2.5\ta point\r\n"
        "3\t4\t\r\n"
        "5\t6\r7\t8\tann\tb c\n"
    )
    assert read_audacity(io.StringIO(text)) == {
        "input": [
            Turn(0.5, 2.0, "ann"),
            Turn(3.0, 4.0, "<NA>"),
            Turn(5.0, 6.0, "<NA>"),
            Turn(7.0, 8.0, "ann b c"),
        ]
    }


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1.0 2.0 ann", "line 2: no label"),
        ("x\t2\tann", "line 2: the start 'x' is not a number"),
        ("1\ty\tann", "line 2: the end 'y' is not a number"),
        ("3\t2\tann", "line 2: the end 2 is before the start 3"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(line: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"^input, {reason}"):
        read_audacity(io.StringIO("0\t1\tann\n" + line))
