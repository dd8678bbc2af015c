"""CSV and TSV: columns, quotes, and what is refused."""

from __future__ import annotations

import io

import pandas
import pytest
from pyannote.core import Annotation, Segment

from diarize.errors import InputError
from diarize.formats.csv import csv_text, read_csv, read_tsv, tsv_text
from diarize.formats.turns import Turn, annotated


def conversation() -> Annotation:
    annotation = Annotation(uri="my talk")
    annotation[Segment(0.5, 2.0), "x"] = 'Ann, "the boss"'
    annotation[Segment(1.0, 3.25), "y"] = "Zoë\nB"
    return annotation


def test_content() -> None:
    confidence = {(Segment(0.5, 2.0), "x"): 0.87654}
    assert csv_text(conversation(), confidence) == (
        "uri,start,end,speaker,confidence\n"
        'my_talk,0.500,2.000,"Ann, ""the boss""",0.877\n'
        'my_talk,1.000,3.250,"Zoë\nB",\n'
    )
    assert read_csv(io.StringIO(csv_text(conversation(), confidence))) == {
        "my_talk": [Turn(0.5, 2.0, 'Ann, "the boss"', 0.877), Turn(1.0, 3.25, "Zoë\nB")]
    }


def test_ends_of_lines_in_names_and_recordings_without_a_name() -> None:
    annotation = Annotation()
    annotation[Segment(0.5, 2.0)] = "Zoë\r\nB\rC"
    assert csv_text(annotation).partition("\n")[2] == '<NA>,0.500,2.000,"Zoë\nB\nC",\n'
    text = "uri,start,end,speaker\n,0,1,ann\n,1,1,ben\n"
    assert read_csv(io.StringIO(text)) == {"input": [Turn(0.0, 1.0, "ann"), Turn(1.0, 1.0, "ben")]}


def test_a_name_is_read_as_it_is_written() -> None:
    text = "uri,start,end,speaker\nday one,0.000,1.000,ann\n"
    named = read_csv(io.StringIO(text))
    assert list(named) == ["day_one"]
    written = csv_text(annotated(named["day_one"], "day one")[0])
    assert list(read_csv(io.StringIO(written))) == list(named)


def test_pandas_reads_it() -> None:
    for text, mark in ((csv_text(conversation()), ","), (tsv_text(conversation()), "\t")):
        table = pandas.read_csv(io.StringIO(text), sep=mark)
        assert table["speaker"].tolist() == ['Ann, "the boss"', "Zoë\nB"]
        assert (table["end"] - table["start"]).tolist() == [1.5, 2.25]


def test_columns_in_any_order_and_several_recordings() -> None:
    text = "speaker\tend\tstart\tage\turi\r\nann\t2\t1\t30\ta\r\nben\t 3.5 \t3\t40\tb\r\n"
    assert read_tsv(io.BytesIO(b"\xef\xbb\xbf" + text.encode())) == {
        "a": [Turn(1.0, 2.0, "ann")],
        "b": [Turn(3.0, 3.5, "ben")],
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 0: no column 'start' in the header"),
        ("start,end\n1,2\n", "line 1: no column 'speaker' in the header"),
        ("start,end,speaker\n1,2\n", "line 2: no speaker: too few fields"),
        ("start,end,speaker\n1,2,ann\n1;5,2,ann\n", "line 3: the start '1;5' is not a number"),
        ("start,end,speaker\n2,1,ann\n", "line 2: the end 1 is before the start 2"),
        ("start,end,speaker,confidence\n1,2,ann,sure\n", "line 2: the confidence 'sure' is not"),
        ("start,end,speaker,confidence\n1,2,ann,95\n", "line 2: the confidence 95 is above 1"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        read_csv(io.StringIO(text))
    assert str(caught.value).startswith(f"input, {reason}")


def test_decimal_commas_are_not_misread() -> None:
    with pytest.raises(InputError, match="line 2: more fields than columns"):
        read_csv(io.StringIO("uri,start,end,speaker\na,0,5,1,2,anna\n"))
