from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]  # the fixture `cli`

VAD = ["--vad", "none", "--num-speakers", "1", "--backend", "ac"]


@pytest.fixture
def rttm(tmp_path: Path) -> Path:
    path = tmp_path / "found.rttm"
    path.write_text("SPEAKER talk 1 1.000 3.000 <NA> <NA> S0 <NA> <NA>\n")
    return path


def test_it_makes_a_page_of_a_result(cli: Cli, talk: Path, rttm: Path, tmp_path: Path) -> None:
    page = tmp_path / "talk.html"
    command = ["report", str(talk), str(rttm), "--out", str(page)]
    assert cli(*command).status == 0
    alone = page.read_text(encoding="utf-8")
    assert '"truth":null' in alone
    assert cli(*command, "--reference", rttm).status == 0
    assert '"der":0.0' in page.read_text(encoding="utf-8")


def test_json_says_how_sure_all_is(cli: Cli, talk: Path, tmp_path: Path) -> None:
    turns, page = tmp_path / "talk.json", tmp_path / "talk.html"
    content = {
        "turns": [{"start": 1, "end": 2, "speaker": "S0", "confidence": 0.625}],
        "number": {"1": 0.625, "2": 0.375},
        "several": [{"start": 1.5, "end": 1.75}],
    }
    turns.write_text(json.dumps(content))
    assert cli("report", talk, turns, "--out", page).status == 0
    text = page.read_text(encoding="utf-8")
    assert '"turns":[[1.0,2.0,0,0.625]]' in text
    assert '"number":[[1,0.625],[2,0.375]]' in text and '"possible":[1,2]' in text
    assert '"several":[[1.5,1.75]]' in text


@pytest.mark.parametrize(
    "part", [{"number": [1]}, {"number": {"a": 1}}, {"number": {"1": "b"}}, {"several": [[1, 2]]}]
)
def test_json_of_another_form_is_refused(
    cli: Cli, talk: Path, tmp_path: Path, part: dict[str, Any]
) -> None:
    turns = tmp_path / "talk.json"
    turns.write_text(json.dumps({"turns": [], **part}))
    (key,) = part
    cli("report", talk, turns, "--out", tmp_path / "x.html").assert_refused(f"talk.json: '{key}'")


@pytest.mark.parametrize(
    ("text", "out", "reason"),
    [
        ("SPEAKER a 1 0 1 <NA> <NA> S <NA> <NA>\nSPEAKER b 1 0 1 <NA> <NA> S <NA> <NA>\n",
         "x.html", "no turns of talk"),
        ("SPEAKER\n", "x.html", "found.rttm, line 1"),
        ("", "no/x.html", "cannot write"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_line(
    cli: Cli, talk: Path, rttm: Path, tmp_path: Path, text: str, out: str, reason: str
) -> None:
    rttm.write_text(text)
    cli("report", talk, rttm, "--out", tmp_path / out).assert_refused(reason)
    assert not list(tmp_path.rglob("*.html"))


def test_the_recording_is_not_overwritten(cli: Cli, talk: Path, rttm: Path) -> None:
    before = talk.read_bytes()
    cli("report", talk, rttm, "--out", talk).assert_refused("is the recording")
    assert talk.read_bytes() == before


def test_run_makes_a_page(cli: Cli, talk: Path, rttm: Path, tmp_path: Path) -> None:
    page = tmp_path / "talk.html"
    command = ["run", str(talk), *VAD, "--report", str(page), "--reference", str(rttm)]
    told = cli(*command).err
    text = page.read_text(encoding="utf-8")
    assert '"speakers":["SPEAKER_00"]' in text
    assert '"errors":{"missed"' in text
    assert "no use for --reference" not in told


def test_several_recordings_have_a_folder_of_pages(
    cli: Cli, talk: Path, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    pages = tmp_path / "pages"
    command = ["run", str(talk), str(write_tone()), *VAD, "--out", str(tmp_path / "out")]
    assert cli(*command, "--report", pages).status == 0
    assert sorted(path.name for path in pages.iterdir()) == ["talk.html", "tone.html"]


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        ("no/x.html", "cannot write"),
        ("talk.wav", "is the recording"),
        ("page", "page: a web page ends in .html"),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_before_work(
    cli: Cli, talk: Path, report: str, reason: str, tmp_path: Path
) -> None:
    recording = tmp_path / "talk.wav"
    recording.write_bytes(talk.read_bytes())
    cli("run", recording, "--report", tmp_path / report).assert_refused(reason)
    assert recording.read_bytes() == talk.read_bytes()


def test_a_page_is_no_standard_output_and_no_result(cli: Cli, talk: Path, tmp_path: Path) -> None:
    cli("run", talk, "--report", "-").assert_refused("-: a web page ends in .html")
    cli("report", talk, "x.rttm", "--out", "-").assert_refused("-: a web page ends in .html")
    page = tmp_path / "same.html"
    both = cli("run", talk, "--out", page, "--format", "rttm", "--report", page)
    both.assert_refused(f"{page}: is where the result goes, too")


def test_turns_of_another_recording_are_not_taken(
    cli: Cli, talk: Path, rttm: Path, tmp_path: Path
) -> None:
    other = "SPEAKER other 1 0 1 <NA> <NA> ann <NA> <NA>\n"
    rttm.write_text(other + "SPKR-INFO talk 1 <NA> <NA> <NA> unknown ben <NA> <NA>\n")
    page = tmp_path / "talk.html"
    assert cli("report", talk, rttm, "--out", page).status == 0
    assert '"ann"' not in page.read_text(encoding="utf-8")


def test_standard_input_is_one_of_the_two(cli: Cli, tmp_path: Path) -> None:
    refused = cli("report", "-", "-", "--out", tmp_path / "x.html")
    refused.assert_refused("holds the recording or the turns, not both")
