"""`--config`: options out of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]  # the fixtures `cli` and `run`


@pytest.fixture
def settings(tmp_path: Path) -> Callable[[str], Path]:
    """Write a file of options."""

    def write(text: str) -> Path:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_run_takes_its_options_from_a_file(
    run: Cli, settings: Callable[[str], Path], talk: Path, tmp_path: Path
) -> None:
    file = settings(
        f'vad = "none"\nnum-speakers = 1\nend = 2.5\nout = "{tmp_path}/out"\n'
        'format = ["rttm", "json"]\nparam = ["n_restarts=2"]\nexclusive = true\n'
    )
    assert run(talk, "--config", file).status == 0
    assert sorted(path.name for path in (tmp_path / "out").glob("t*")) == ["talk.json", "talk.rttm"]
    line = "SPEAKER talk 1 0.000 2.500 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
    assert (tmp_path / "out" / "talk.rttm").read_text() == line
    assert '"n_restarts": 2' in (tmp_path / "out" / "talk.json").read_text()


def test_the_environment_wins_over_the_file_and_the_command_line_over_both(
    run: Cli, settings: Callable[[str], Path], talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = settings('vad = "none"\nnum_speakers = 1\nstart = 1\nend = 3')
    monkeypatch.setenv("DIARIZE_CONFIG", str(file))
    monkeypatch.setenv("DIARIZE_START", "1.5")
    assert run(talk).out.split()[3:5] == ["1.500", "1.500"]
    assert run(talk, "--start", 2).out.split()[3:5] == ["2.000", "1.000"]
    monkeypatch.setenv("DIARIZE_START", "soon")
    run(talk).assert_refused("--start")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("max_speaker = 6", "there is no option max_speaker (did you mean max_speakers?)"),
        ("colour = 1", "there is no option colour"),
        ('audio = ["a.wav"]', "there is no option audio"),
        ("seed = 1\nseed = 2", "not TOML"),
        ("max-speakers = 1\nmax_speakers = 1", "max_speakers is given twice"),
        ("seed = true", "seed is a text or a number"),
        ("seed = [1]", "seed is a text or a number"),
        ("seed = 2024-01-01", "seed is a text or a number"),
        ("[vad]\nthreshold = 1", "vad is a text or a number"),
        ("exclusive = 1", "exclusive is true or false"),
        ('format = "rttm"', "format is a list: ['rttm']"),
        ("format = [[1]]", "format is a text or a number"),
    ],
)
def test_what_cannot_be_used_is_refused(
    run: Cli, settings: Callable[[str], Path], text: str, reason: str
) -> None:
    file = settings(text)
    run("missing.wav", "--config", file).assert_refused(file, reason)


def test_values_are_checked_as_those_of_the_command_line(
    run: Cli, settings: Callable[[str], Path]
) -> None:
    run("missing.wav", "--config", settings("seed = 1.5")).assert_refused("--seed")
    run("missing.wav", "--config", settings("window = 9")).assert_refused("--window")


def test_a_file_that_cannot_be_read(run: Cli, tmp_path: Path) -> None:
    run("missing.wav", "--config", "no.toml").assert_refused("cannot read no.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff")
    run("missing.wav", "--config", tmp_path / "x.toml").assert_refused("x.toml: not TOML")
