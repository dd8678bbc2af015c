"""`--corrections`: what it takes, what it refuses, what comes of it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyannote.core import Segment

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
