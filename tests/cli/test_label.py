"""`diarize label`: speakers for transcripts."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
SRT = "1\n00:00:00,500 --> 00:00:01,500\nHello.\n\n2\n00:00:02,000 --> 00:00:03,000\nYes.\n"
WORDS = [{"word": " Hello.", "start": 0.5, "end": 1}, {"word": " Yes.", "start": 2, "end": 3}]


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    path = tmp_path / "talk.rttm"
    path.write_text(
        "SPEAKER talk 1 0.4 1.2 <NA> <NA> ann <NA> <NA>\n"
        "SPEAKER talk 1 1.9 1.2 <NA> <NA> ben <NA> <NA>\n"
    )
    return path


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    segment = {"start": 0.5, "end": 3, "text": " Hello. Yes.", "words": WORDS}
    path.write_text(json.dumps({"segments": [segment]}))
    return path


@pytest.mark.parametrize(
    ("format", "text"), [("srt", ""), ("vtt", "WEBVTT\n"), ("ctm", ""), ("md", "# talk\n")]
)
def test_nothing_was_said(cli: Cli, turns: Path, tmp_path: Path, format: str, text: str) -> None:
    (tmp_path / "talk.ctm").write_text("")
    found = cli("label", tmp_path / "talk.ctm", "--turns", turns, "--format", format)
    assert (found.status, found.out, found.err) == (0, text, "")


def test_subtitles(cli: Cli, turns: Path, tmp_path: Path) -> None:
    (tmp_path / "whatever.srt").write_text(SRT)
    found = cli("label", tmp_path / "whatever.srt", "--turns", turns)
    assert (found.status, found.err) == (0, "")
    assert found.out == SRT.replace("Hello", "[ann]: Hello").replace("Yes", "[ben]: Yes")


def test_standard_input(cli: Cli, turns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SRT.encode())))
    found = cli("label", "-", "--from", "srt", "--turns", turns)
    assert found.out == SRT.replace("Hello", "[ann]: Hello").replace("Yes", "[ben]: Yes")
    cli("label", "-", "--turns", turns).assert_refused("standard input", "give --from")
    cli("label", "-", "--turns", "-", "--from", "srt").assert_refused("not both")
    cli("label", "-", "--from", "doc", "--turns", turns).assert_refused("format doc")


def test_words(cli: Cli, turns: Path, words: Path, tmp_path: Path) -> None:
    out = tmp_path / "labelled.json"
    assert cli("label", words, "--turns", turns, "--out", out).status == 0
    (segment,) = json.loads(out.read_text())["segments"]
    assert [word["speaker"] for word in segment["words"]] == ["ann", "ben"]
    assert segment["speakers"] == ["ann", "ben"]  # the same time, and she began


def test_into_other_formats(cli: Cli, turns: Path, words: Path, tmp_path: Path) -> None:
    out = tmp_path / "labelled.vtt"
    assert cli("label", words, "--turns", turns, "--out", out).status == 0
    assert "<v ann>Hello.</v>" in out.read_text() and "<v ben>Yes.</v>" in out.read_text()
    found = cli("label", words, "--turns", turns, "--format", "ctm")
    assert (
        found.out
        == "talk 1 0.500 0.500 Hello. <NA> lex ann\ntalk 1 2.000 1.000 Yes. <NA> lex ben\n"
    )


def test_into_what_people_read(cli: Cli, turns: Path, words: Path, tmp_path: Path) -> None:
    for name, text in (
        ("a.txt", "[0:00:00] ann: Hello.\n\n[0:00:02] ben: Yes.\n"),
        ("a.md", "# talk\n\n**ann** (0:00:00): Hello.\n\n**ben** (0:00:02): Yes.\n"),
    ):
        assert cli("label", words, "--turns", turns, "--out", tmp_path / name).status == 0
        assert (tmp_path / name).read_text() == text


def test_an_ending_that_nobody_knows_is_refused(
    cli: Cli, turns: Path, words: Path, tmp_path: Path
) -> None:
    for name in ("a.html", "a.docx", "a.rttm"):
        refused = cli("label", words, "--turns", turns, "--out", tmp_path / name)
        refused.assert_refused(f"{name}: a transcript is written to .json, .srt")
        assert not (tmp_path / name).exists()
    assert cli("label", words, "--turns", turns, "--out", tmp_path / "a").status == 0
    assert json.loads((tmp_path / "a").read_text())["segments"]  # as TRANSCRIPT


def test_turns_of_any_format(cli: Cli, turns: Path, tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_text(SRT)
    assert cli("convert", turns, tmp_path / "turns.eaf").status == 0
    found = cli("label", tmp_path / "a.srt", "--turns", tmp_path / "turns.eaf")
    assert "[ben]: Yes." in found.out


def test_turns_of_another_time_are_told(cli: Cli, turns: Path, tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_text(SRT)
    assert "lines lie more" not in cli("label", tmp_path / "a.srt", "--turns", turns).err
    (tmp_path / "a.srt").write_text(
        SRT.replace("00:00:02", "00:10:02").replace("00:00:03", "00:10:03")
    )
    assert (
        "a.srt: 1 line lies more than 10 s"
        in cli("label", tmp_path / "a.srt", "--turns", turns).err
    )


def test_what_is_refused(cli: Cli, turns: Path, tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_text(SRT)
    (tmp_path / "a.ctm").write_text("a 1 0 1 so\nb 1 0 1 so\n")
    (tmp_path / "a.txt").write_text("so")
    for read in (tmp_path / "a.srt", turns):
        given = ("label", tmp_path / "a.srt", "--turns", turns, "--format", "srt", "--out", read)
        cli(*given).assert_refused("is what is labelled, which")
    cli("label", tmp_path / "a.txt", "--turns", turns).assert_refused("a transcript ends in .json")
    cli("label", tmp_path / "a.ctm", "--turns", turns).assert_refused(turns, "no turns of a")
    cli("label", tmp_path / "a.srt", "--turns", turns, "--format", "ctm").assert_refused(
        "CTM needs the times of the words"
    )
    cli("label", tmp_path / "a.srt", "--turns", turns, "--format", "doc").assert_refused(
        "format doc: a transcript is written as one of json, srt, vtt, ctm, tsv, txt, md"
    )
    cli("label", tmp_path / "a.srt", "--turns", tmp_path / "no.rttm").assert_refused("cannot read")
