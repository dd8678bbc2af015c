"""`diarize score`: what it prints."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diarize.scoring import score_files

from .conftest import options_of

Cli = Callable[..., Any]  # the fixture `cli`

REFERENCE = """\
SPEAKER Gespräch_Zoë 1 0 10 <NA> <NA> Zoë <NA> <NA>
SPEAKER b[1] 1 0 5 <NA> <NA> A <NA> <NA>
"""
HYPOTHESIS = """\
SPEAKER Gespräch_Zoë 1 1 10 <NA> <NA> x <NA> <NA>
SPEAKER c 1 0 5 <NA> <NA> A <NA> <NA>
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "ref.rttm").write_text(REFERENCE, encoding="utf-8")
    (tmp_path / "hyp.rttm").write_text(HYPOTHESIS, encoding="utf-8")
    return [str(tmp_path / "ref.rttm"), str(tmp_path / "hyp.rttm")]


def test_the_table(cli: Cli, files: list[str]) -> None:
    captured = cli("score", *files)
    assert captured.status == 0
    rows = {line.split()[0]: line.split()[1:] for line in captured.out.splitlines() if line.strip()}
    # missed 1 of 10, false alarm 1; shared 9 of 11; 900 of 1000 frames against silence
    assert rows["Gespräch_Zoë"][:5] == ["20.00", "10.00", "10.00", "0.00", "18.18"]
    assert rows["b[1]"] == ["100.00", "100.00", "0.00", "0.00", "100.00", "100.00", "1.00", "5.00"]
    assert rows["TOTAL"][0] == "46.67"  # (1 + 1 + 5) / 15
    assert "DER with no collar, overlap scored, whole recordings." in captured.out
    assert captured.err == (
        "diarize: note: no hypothesis, counted as empty: b[1]\n"
        "diarize: note: no reference, left out: c\n"
    )


def test_json_is_one_object(cli: Cli, files: list[str]) -> None:
    captured = cli("score", *files, "--json", "--collar", "0.5")
    assert captured.status == 0
    content = json.loads(captured.out)
    assert list(content) == ["total", "files"]
    assert list(content["files"]) == ["Gespräch_Zoë", "b[1]"]
    # 0.5 to 9.5 is scored: 0.5-1 missed, 0.5 of 9; 10.5-11 false alarm
    assert content["files"]["Gespräch_Zoë"]["der"] == pytest.approx(1 / 9)
    assert "DER with collar of 0.5 s per side, overlap scored" in captured.err


def test_uem_and_skipped_overlap(cli: Cli, files: list[str], tmp_path: Path) -> None:
    (tmp_path / "all.uem").write_text("Gespräch_Zoë 1 0 2\n", encoding="utf-8")
    command = ["score", *files, "--uem", str(tmp_path / "all.uem"), "--skip-overlap", "--json"]
    captured = cli(*command)
    assert captured.status == 0
    assert json.loads(captured.out)["total"]["der"] == 0.5
    assert "not in the UEM, left out: b[1]" in captured.err
    assert "DER with no collar, overlap skipped, regions of the UEM" in captured.err


def test_one_file_and_one_file_are_of_one_recording(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ref.rttm").write_text(REFERENCE.splitlines()[1] + "\n")
    (tmp_path / "hyp.rttm").write_text(HYPOTHESIS.splitlines()[1] + "\n")
    files = [str(tmp_path / "ref.rttm"), str(tmp_path / "hyp.rttm")]
    captured = cli("score", *files, "--json")
    assert captured.status == 0
    assert json.loads(captured.out)["files"]["b[1]"]["der"] == 0.0
    assert "diarize: note: one recording on either side: c is scored as b[1]\n" in captured.err
    (tmp_path / "hyp.rttm").write_text("")  # a recording without speech, named as the file
    captured = cli("score", *files, "--json")
    assert captured.status == 0
    assert json.loads(captured.out)["total"]["der"] == 1.0
    assert "hyp is scored as b[1]" in captured.err


def test_where_no_name_is_in_both_nothing_is_scored(cli: Cli, files: list[str]) -> None:
    Path(files[1]).write_text(HYPOTHESIS.replace("Gespräch_Zoë", "Gespräch_Zoe"), encoding="utf-8")
    cli("score", *files).assert_refused(
        "nothing to score: no recording has turns in both; Gespräch_Zoë, b[1] in the reference, "
        "Gespräch_Zoe, c in the hypothesis\n"
    )


def test_the_sub_folders_that_run_makes(cli: Cli, tmp_path: Path) -> None:
    for folder in ("ref", "hyp"):
        for place in ("monday", "tuesday"):
            (tmp_path / folder / place).mkdir(parents=True)
            (tmp_path / folder / place / "a.rttm").write_text(
                f"SPEAKER a 1 0 {5 + (place == 'tuesday')} <NA> <NA> A <NA> <NA>\n"
            )
    captured = cli("score", tmp_path / "ref", tmp_path / "hyp", "--json")
    assert captured.status == 0
    content = json.loads(captured.out)
    assert list(content["files"]) == ["monday/a", "tuesday/a"]
    assert content["total"]["der"] == 0.0
    assert "note: no" not in captured.err.replace("note: DER", "")


def test_the_options_are_those_of_the_function() -> None:
    command = options_of("score")
    function = inspect.signature(score_files).parameters
    for name in ("uem", "collar", "skip_overlap"):
        assert command[name].default == function[name].default


def test_standard_input_is_one_of_them(cli: Cli, files: list[str]) -> None:
    for given in (["-", "-"], ["-", files[1], "--uem", "-"]):
        cli("score", *given).assert_refused("standard input: holds REF, HYP or the UEM, one of")
