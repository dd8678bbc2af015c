"""`--corrections`: what it takes, what it refuses, what comes of it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyannote.core import Segment

from diarize.cli.corrections import read_corrections
from diarize.errors import InputError
from diarize.formats import read_rttm

Run = Callable[..., Any]  # the fixture `run`


def write(path: Path, *lines: tuple[str, float, float, str]) -> Path:
    path.write_text(
        "".join(f"SPEAKER {u} 1 {b} {e - b} <NA> <NA> {s} <NA> <NA>\n" for u, b, e, s in lines)
    )
    return path


def test_corrections_bind_the_result(run: Run, talk: Path, tmp_path: Path) -> None:
    told = write(
        tmp_path / "told.rttm",
        ("talk", 0.1, 0.4, "dora"),
        ("talk", 1.0, 3.0, "ONLY:anna"),
        ("talk", 2.0, 4.0, "!SPEAKER_00"),
        ("talk", 7.0, 8.0, "ben"),
        ("talk", 50.0, 60.0, "ben"),
        ("talk", 8.0, 9.0, "!zoe"),
    )
    result = run(talk, "--corrections", told, "--max-speakers", 4)
    assert result.status == 0
    turns = read_rttm(io.StringIO(result.out))["talk"]
    times = (0.2, 0.39, 1.01, 2.99, 7.5)
    at = {time: {*turns.crop(Segment(time, time + 0.005)).labels()} for time in times}
    assert at[0.2] == at[0.39] == {"dora"}  # nobody was detected there
    assert at[1.01] == at[2.99] == {"anna"}
    assert "ben" in at[7.5]
    assert "1 of 6 corrections lie outside of what was read" in result.err
    assert "correction !zoe from 8.000 to 9.000 s: nobody is called zoe" in result.err


def test_contradictions_are_refused(run: Run, talk: Path, tmp_path: Path) -> None:
    told = write(tmp_path / "t.rttm", ("talk", 1, 3, "ONLY:anna"), ("talk", 2, 4, "ben"))
    run(talk, "--corrections", told).assert_refused(
        f"{told}: talk: ONLY:anna from 1.000 to 3.000 s contradicts ben from 2.000 to 4.000 s"
    )
    many = write(tmp_path / "t.rttm", ("talk", 1, 3, "anna"), ("talk", 7, 8, "ben"))
    run(talk, "--corrections", many, "--num-speakers", 1).assert_refused(
        "corrections name 2 people, but there are at most 1 speakers"
    )
    run(talk, "--corrections", tmp_path / "none.rttm").assert_refused("none.rttm")


def test_lines_are_of_the_recordings_they_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = write(tmp_path / "t.rttm", ("a", 1, 3, "anna"), ("b_channel2", 2, 4, "ben"))
    read = read_corrections(told, ["x/a.wav", "b.wav", "c.wav"], linked=False)
    assert read.find("a").labels() == ["anna"]
    assert read.find("b_channel2").labels() == ["ben"]
    assert read.find("c") is None
    assert capsys.readouterr().err == ""
    assert read_corrections(told, ["a.wav", "d.wav"], linked=False).find("d") is None
    assert "no input is called b_channel2" in capsys.readouterr().err
    with pytest.raises(InputError, match="corrections of a, b_channel2, none of d"):
        read_corrections(told, ["d.wav"], linked=False)
    single = write(tmp_path / "s.rttm", ("a", 1, 3, "anna"))
    assert read_corrections(single, ["other.wav"], linked=False).find("other") is not None


def test_numbers_mean_nobody_before_recordings_are_linked(tmp_path: Path) -> None:
    told = write(tmp_path / "t.rttm", ("a", 1, 3, "!SPEAKER_01"))
    with pytest.raises(InputError, match="with --link-speakers nobody has a number"):
        read_corrections(told, ["a.wav", "b.wav"], linked=True)
