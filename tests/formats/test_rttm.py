"""RTTM: what is read, what is refused, and what is written."""

from __future__ import annotations

import doctest
import io
from pathlib import Path

import pytest
from pyannote.core import Annotation, Segment
from pyannote.database.util import load_rttm

import diarize.formats.rttm as rttm
from diarize.errors import InputError
from diarize.formats import load_annotations, read_rttm, rttm_text

from ..making import turns_of

GOOD = "SPEAKER talk 1 0.5 2.25 <NA> <NA> ann <NA> <NA>\n"


def test_the_examples_hold() -> None:
    assert doctest.testmod(rttm).failed == 0


@pytest.mark.parametrize(
    "raw",
    [
        GOOD.encode(),
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.rstrip("\n").encode(),
        GOOD.replace(" ", "\t").encode(),
        b"  " + GOOD.encode() + b"\n   \n",
        b";; comment\n# comment\n" + GOOD.encode(),
        GOOD.replace(" <NA>\n", "\n").encode(),  # nine fields
        GOOD.lower().replace("<na>", "<NA>").encode(),
    ],
)
def test_variants_of_one_turn(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "a.rttm"
    path.write_bytes(raw)
    annotations = read_rttm(path)
    assert list(annotations) == ["talk"]
    assert annotations["talk"].uri == "talk"
    assert turns_of(annotations["talk"]) == [(0.5, 2.75, "ann")]


def test_other_types_are_passed_over_and_still_name_the_recording() -> None:
    text = (
        "SPKR-INFO a 1 <NA> <NA> <NA> female ann <NA> <NA>\n"
        "NON-SPEECH b 1 0 3 <NA> music <NA> <NA> <NA>\n"
        "LEXEME a 1 0.5 0.2 word lex ann 0.9 <NA>\n"
        "SPEAKER a 1 0 1 <NA> <NA> ann <NA> <NA>\n"
    )
    annotations = read_rttm(io.StringIO(text))
    assert turns_of(annotations["a"]) == [(0.0, 1.0, "ann")]
    assert turns_of(annotations["b"]) == []


@pytest.mark.parametrize(
    "kind",
    [
        "A/P", "CB", "EDIT", "FILLER", "IP", "LEXEME", "NON-LEX", "NON-SPEECH", "NOSCORE",
        "NO_RT_METADATA", "SEGMENT", "SPKR-INFO", "SU",
    ],
)  # fmt: skip
def test_all_types_of_the_standard_are_known(kind: str) -> None:
    for line in (f"{kind} a 1 0 3 <NA> <NA> <NA> <NA>", f"{kind.lower()} a"):
        assert list(read_rttm(io.StringIO(line))) == ["a"]


def test_names_outside_ascii() -> None:
    # A no-break space and an ideographic space belong to the name, as bytes they are no blanks.
    text = "SPEAKER 会議\u3000一 1 0 1 <NA> <NA> Zoë\u00a0Ž <NA> <NA>\n"
    annotations = read_rttm(io.StringIO(text))
    assert turns_of(annotations["会議\u3000一"]) == [(0.0, 1.0, "Zoë\u00a0Ž")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SPEAKER talk 1 0.5 2.25 <NA> <NA> ann", "8 fields"),
        ("SPEAKER talk 1 0.5", "4 fields"),
        ("SPEAKER", "1 fields"),
        ("SPEAKER my talk 1 0.5 2.25 <NA> <NA> ann <NA> <NA>", "11 fields"),
        ("SPAEKER talk 1 0.5 2.25 <NA> <NA> ann <NA> <NA>", "'SPAEKER' is no line type"),
        ("hello world", "'hello' is no line type"),
        ("LEXEME", "'LEXEME' is no line type"),
        ("SPEAKER talk 1 zero 2.25 <NA> <NA> ann <NA> <NA>", "the start 'zero' is not a number"),
        ("SPEAKER talk 1 0 <NA> <NA> <NA> ann <NA> <NA>", "the duration '<NA>' is not a number"),
        ("SPEAKER talk 1 0.5 -1 <NA> <NA> ann <NA> <NA>", "the duration -1 is negative"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "bad.rttm"
    path.write_text(GOOD + ";; comment\n\n" + line + "\n")
    with pytest.raises(InputError) as caught:
        read_rttm(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line 4: {reason}")
    assert "\n" not in message


def test_turns_without_length_and_turns_given_twice() -> None:
    empty = GOOD.replace("2.25", "0.000")
    annotations = read_rttm(io.StringIO(empty + GOOD + GOOD))
    assert turns_of(annotations["talk"]) == [(0.5, 2.75, "ann")] * 2
    assert turns_of(read_rttm(io.StringIO(empty))["talk"]) == []


def test_turns_that_touch_share_their_boundary() -> None:
    text = "".join(
        f"SPEAKER t 1 {start} {duration} <NA> <NA> {name} <NA> <NA>\n"
        for start, duration, name in [("0.1", "0.2", "a"), ("0.3", "0.1", "b")]
    )
    (first, second) = turns_of(read_rttm(io.StringIO(text))["t"])
    assert first[1] == second[0] == 0.3  # 0.1 + 0.2 is 0.30000000000000004


def test_what_is_written() -> None:
    annotation = Annotation(uri="my talk")
    annotation[Segment(1.0004, 2.0), "x"] = "Zoë B"
    annotation[Segment(0.0, 0.0006), "x"] = "too short"
    annotation[Segment(1.0004, 2.0), "a"] = "ann"
    annotation[Segment(0.0015, 0.0025), "a"] = "one millisecond"
    assert rttm_text(annotation) == (
        "SPEAKER my_talk 1 0.002 0.001 <NA> <NA> one_millisecond <NA> <NA>\n"
        "SPEAKER my_talk 1 1.000 1.000 <NA> <NA> Zoë_B <NA> <NA>\n"
        "SPEAKER my_talk 1 1.000 1.000 <NA> <NA> ann <NA> <NA>\n"
    )
    assert rttm_text(Annotation(uri="quiet")) == ""
    nameless = Annotation()
    nameless[Segment(0, 1)] = "a"
    assert rttm_text(nameless).startswith("SPEAKER <NA> 1 0.000 ")


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "b.rttm").write_text(GOOD)
    (tmp_path / "silent one.RTTM").write_text("")
    (tmp_path / "notes.txt").write_text("not turns")
    (tmp_path / ".b.rttm.tmp.rttm").write_text("half a file")
    annotations = load_annotations(tmp_path)
    assert list(annotations) == ["talk", "silent_one"]
    assert turns_of(annotations["silent_one"]) == []
    assert load_annotations(tmp_path / "b.rttm") == {"talk": annotations["talk"]}


def test_sub_folders_as_run_makes_them(tmp_path: Path) -> None:
    for name in ("monday/a", "monday/deep/b", "tuesday/a", "c", ".hidden/d"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.rttm").write_text(GOOD.replace("talk", Path(name).name))
    assert list(load_annotations(tmp_path)) == ["c", "monday/a", "b", "tuesday/a"]
    assert list(load_annotations(tmp_path / "monday")) == ["a", "b"]


def test_a_folder_that_cannot_serve(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no \.rttm file in this folder"):
        load_annotations(tmp_path)
    (tmp_path / "a.rttm").write_text(GOOD)
    (tmp_path / "b.rttm").write_text(GOOD)
    with pytest.raises(InputError, match=r"b\.rttm: talk is in a\.rttm too$"):
        load_annotations(tmp_path)
    with pytest.raises(InputError, match=r"^cannot read"):
        load_annotations(tmp_path / "missing")


def test_pyannote_reads_it(tmp_path: Path) -> None:
    annotation = Annotation(uri="talk")
    annotation[Segment(0.5, 2.0), 0] = "Zoë"
    annotation[Segment(1.0, 3.25), 1] = "<ann>"
    path = tmp_path / "talk.rttm"
    path.write_text(rttm_text(annotation), encoding="utf-8")
    assert turns_of(load_rttm(path)["talk"]) == turns_of(annotation)


def test_what_standard_input_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert list(load_annotations("-")) == ["stdin"]


def test_a_file_of_another_format_is_read_as_its_ending_says(tmp_path: Path) -> None:
    path = tmp_path / "talk.csv"
    path.write_text("uri,start,end,speaker\ntalk,0.5,2,ann\n")
    ((uri, annotation),) = load_annotations(path).items()
    assert uri == "talk"
    assert [(s.start, s.end, who) for s, _, who in annotation.itertracks(yield_label=True)] == [
        (0.5, 2.0, "ann")
    ]
