"""What all text formats share."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.errors import InputError
from diarize.formats.lines import (
    blaming,
    name_line,
    read_text,
    records,
    seconds,
    shorten,
    split_fields,
    stem_of,
    token,
)


def test_comments_and_blank_lines_are_passed_over() -> None:
    text = "\ufeffa b\r\n\r\n;; no\n# no\rc\t d \n"
    assert list(records(io.StringIO(text))) == [
        (["a", "b"], 1, "input"), (["c", "d"], 5, "input")
    ]  # fmt: skip


def test_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes("\ufeffZoë x\n".encode())
    expected = [(["Zoë", "x"], 1)]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    with open(path, "rb") as file:
        for source, name in ((path, str(path)), ("-", "standard input"), (file, str(path))):
            found = list(records(source))
            assert [record[:2] for record in found] == expected
            assert found[0][2] == name


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*missing: No such file"):
        list(records(tmp_path / "missing"))
    with pytest.raises(InputError, match=r"input, line 2: not UTF-8 text"):
        list(records(io.BytesIO(b"fine\n\xff\n")))
    with pytest.raises(InputError, match=r"input, line 3: not UTF-8 text"):
        list(records(io.BytesIO(b"\n\n\xff\n")))


def test_a_wrong_value_is_refused_with_its_place() -> None:
    with (
        pytest.raises(InputError, match=r"^talk\.rttm, line 2: no time$"),
        blaming("talk.rttm, line 2"),
    ):
        raise ValueError("no time")
    with pytest.raises(KeyError), blaming("talk.rttm"):
        raise KeyError


def test_only_blanks_and_tabs_separate() -> None:
    assert split_fields(" a\t\tb\u3000c  d\u00a0e ") == ["a", "b\u3000c", "d\u00a0e"]
    assert split_fields("") == []


@given(st.floats(0, 1e9).filter(lambda x: x == 0 or x > 1e-300))
def test_numbers(value: float) -> None:
    assert seconds(repr(value), "the start") == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("-1", "the start -1 is negative"),
        ("nan", "the start 'nan' is not a number"),
        ("inf", "is not a number"),
        ("1,5", "is not a number"),
        ("1_0", "is not a number"),
        ("٣", "is not a number"),
        ("", "is not a number"),
        ("1e99", "is too large for seconds"),
    ],
)
def test_what_is_no_time(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        seconds(text, "the start")


def test_nothing_at_all_has_a_name() -> None:
    assert token("") == "<NA>"
    assert token("a b\tc") == "a_b_c"


@given(st.text())
def test_a_name_is_one_field(name: str) -> None:
    assert split_fields(token(name)) == [token(name)]
    assert token(name).encode("utf-8")


def test_long_texts_are_cut() -> None:
    assert shorten("a\nb") == r"'a\nb'"
    assert len(shorten("x" * 1000)) == 42
    assert shorten("x" * 40) == repr("x" * 40)
    assert shorten("x" * 41) == repr("x" * 37 + "...")


def test_names_on_one_line() -> None:
    assert name_line(" Ann\r\n\tB\x00 ") == "Ann B"
    assert name_line("\n") == name_line("") == "<NA>"
    assert name_line("a\u2028b\uffff") == "a b"
    assert name_line("b\udce9n") == "b\\udce9n"  # of a file whose name is no UTF-8


def test_what_a_file_speaks_of_when_it_does_not_say() -> None:
    assert stem_of("a/my talk.v2.srt") == "my_talk.v2"
    assert stem_of("standard input") == "stdin"


def test_byte_order_marks(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes("Zoë".encode(encoding))
        assert read_text(path) == (str(path), "Zoë")
    path.write_bytes(b"\xff\xfeZ")
    with pytest.raises(InputError, match=r"x: not UTF-16 text, though it begins so$"):
        read_text(path)
