"""`diarize convert`: from every format into every other."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diarize import __version__
from diarize.formats import read_turns, read_uem

Cli = Callable[..., Any]
TALK = """\
SPEAKER talk 1 0.500 2.000 <NA> <NA> ann <NA> <NA>
SPEAKER talk 1 1.000 1.000 <NA> <NA> ben <NA> <NA>
SPEAKER talk 1 2.250 1.000 <NA> <NA> ben <NA> <NA>
"""


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.rttm"
    path.write_text(TALK)
    return path


def test_the_endings_say_the_formats(cli: Cli, talk: Path, tmp_path: Path) -> None:
    for ending in ("srt", "TextGrid", "eaf", "csv", "json", "vtt", "tsv"):
        target = tmp_path / f"x.{ending}"
        assert cli("convert", talk, target).status == 0
        assert len(next(iter(read_turns(target).values()))) == 3
    assert cli("convert", tmp_path / "x.srt", "-", "--to", "rttm").out == TALK.replace("talk", "x")
    assert cli("convert", talk, tmp_path / "x.uem").status == 0
    assert (tmp_path / "x.uem").read_text() == "talk 1 0.500 3.250\n"


def test_each_instant_to_one_speaker(cli: Cli, talk: Path) -> None:
    assert cli("convert", talk, "-", "--to", "audacity", "--exclusive").out == (
        "0.500000\t2.500000\tann\n2.500000\t3.250000\tben\n"
    )


def test_confidence_is_kept(cli: Cli, tmp_path: Path) -> None:
    turn = {"start": 0.5, "end": 1.0, "speaker": "ann", "confidence": 0.75}
    (tmp_path / "a.json").write_text(json.dumps({"uri": "talk", "turns": [turn]}))
    assert cli("convert", tmp_path / "a.json", tmp_path / "a.csv").status == 0
    again = cli("convert", tmp_path / "a.csv", "-", "--to", "json")
    assert json.loads(again.out)["turns"] == [turn]


@pytest.mark.parametrize("piped", [False, True])
def test_json_keeps_all_that_it_says(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piped: bool
) -> None:
    told = {
        "uri": "talk",
        "version": __version__,
        "options": {"backend": "gcr"},
        "notes": ["too short"],
        "number": {"1": 0.333, "2": 0.667},
        "speakers": [{"speaker": "ann", "seconds": 0.5}],
        "turns": [{"start": 0.5, "end": 1.0, "speaker": "ann", "confidence": 0.75}],
        "several": [{"start": 0.25, "end": 0.5}],
    }
    (tmp_path / "a.json").write_text(json.dumps(told))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(told).encode())))
    given = ("-", "-", "--from", "json") if piped else (tmp_path / "a.json", "-")
    assert json.loads(cli("convert", *given, "--to", "json").out) == told
    del told["number"], told["several"]
    (tmp_path / "b.json").write_text(json.dumps(told))
    assert json.loads(cli("convert", tmp_path / "b.json", "-", "--to", "json").out) == told
    (tmp_path / "b.json").write_text(json.dumps(told | {"notes": "few"}))
    refused = cli("convert", tmp_path / "b.json", "-", "--to", "json")
    refused.assert_refused("b.json: 'notes' is not as it is written: no list")


def test_several_recordings_need_a_folder(cli: Cli, talk: Path, tmp_path: Path) -> None:
    talk.write_text(TALK + TALK.replace("talk", "../../b"))
    refused = cli("convert", talk, tmp_path / "x.srt")
    refused.assert_refused("talk.rttm: speaks of 2 recordings: ", "x.srt must be a folder")
    assert cli("convert", talk, f"{tmp_path}/out/", "--to", "srt").status == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["_._.._b.srt", "talk.srt"]
    assert cli("convert", talk, "-", "--to", "rttm").out == talk.read_text()
    refused = cli("convert", talk, "-", "--to", "srt")  # which does not say of whom it speaks
    refused.assert_refused("srt needs a folder, not -")


def test_on_standard_output_json_objects_follow_each_other(
    cli: Cli, talk: Path, tmp_path: Path
) -> None:
    talk.write_text(TALK + TALK.replace("talk", "other"))
    (tmp_path / "both.json").write_text(cli("convert", talk, "-", "--to", "json").out)
    assert cli("convert", tmp_path / "both.json", "-", "--to", "rttm").out == talk.read_text()


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_tables_hold_several_recordings(cli: Cli, talk: Path, tmp_path: Path, ending: str) -> None:
    talk.write_text(TALK + TALK.replace("talk", "other"))
    target = tmp_path / f"x.{ending}"
    assert cli("convert", talk, target).status == 0
    assert target.read_text().count("speaker") == 1
    assert cli("convert", talk, "-", "--to", ending).out == target.read_text()
    assert cli("convert", target, "-", "--to", "rttm").out == talk.read_text()
    assert cli("convert", talk, tmp_path / "x.uem").status == 0
    assert list(read_uem(tmp_path / "x.uem")) == ["talk", "other"]


def test_standard_input_and_files_without_speech(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text, out in ((TALK, TALK), ("", "")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert cli("convert", "-", "-", "--from", "rttm", "--to", "rttm").out == out


def test_a_text_that_is_written_has_the_labels_of_audacity(
    cli: Cli, talk: Path, tmp_path: Path
) -> None:
    text = tmp_path / "x.txt"
    assert cli("convert", talk, text).status == 0
    assert text.read_text() == cli("convert", talk, "-", "--to", "audacity").out


def test_what_is_refused(cli: Cli, talk: Path, tmp_path: Path) -> None:
    text = tmp_path / "x.txt"
    cli("convert", text, talk).assert_refused(text, "its ending says no format; give --from")
    cli("convert", talk, tmp_path / "x").assert_refused("its ending says no format; give --to")
    cli("convert", talk, tmp_path / "x.pdf").assert_refused("x.pdf: no format ends in .pdf, but in")
    cli("convert", talk, text, "--to", "doc").assert_refused("format doc: not one of rttm, json")
    cli("convert", tmp_path / "no.srt", text, "--to", "csv").assert_refused("cannot read", "no.srt")
    cli("convert", tmp_path / "a.uem", talk).assert_refused("format uem: does not say who speaks")
    assert talk.read_text() == TALK and not text.exists()


def test_names_that_would_be_one_file_are_refused(cli: Cli, tmp_path: Path) -> None:
    source = tmp_path / "two.rttm"
    source.write_text(TALK.replace(" talk ", " a/b ") + TALK.replace(" talk ", " A_b "))
    refused = cli("convert", source, f"{tmp_path}/out/", "--to", "srt")
    refused.assert_refused(source, "A_b and a/b would be one file, A_b")
    assert not list((tmp_path / "out").glob("*"))
