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
    for text, reason in (
        ("seed = 1.5", "Invalid value for '--seed'"),
        ("window = 9", "--window"),
        ('channels = "two"', "channels two: not one of mix"),
        ("vad-threshold = 2", "--vad-threshold 2: not between 0 and 1"),
        ('vad = "silro"', "vad silro: not network, silero"),
        ('backend = "gcrr"', "there is no backend 'gcrr'"),
        ("num-speakers = 3\nmin-speakers = 5", "--num-speakers 3 contradicts --min-speakers 5"),
    ):
        file = settings(text)
        refused = run("missing.wav", "--config", file)
        refused.assert_refused(reason)
        assert refused.err.startswith(f"diarize: error: {file}: ")  # and not the option alone


def test_what_the_command_line_said_is_not_blamed_on_the_file(
    run: Cli, settings: Callable[[str], Path]
) -> None:
    file = settings('channels = "two"\nseed = 1')
    refused = run("missing.wav", "--config", file, "--channels", "three")
    assert refused.err.startswith("diarize: error: channels three: ")
    assert run("missing.wav", "--config", file, "--seed", "x").err.startswith(
        "diarize: error: Invalid value for '--seed'"
    )


def test_what_the_environment_says_is_blamed_on_it(
    run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIARIZE_SEED", "x")
    assert run("missing.wav").err.startswith("diarize: error: DIARIZE_SEED: Invalid value")
    monkeypatch.setenv("DIARIZE_SEED", "1")
    monkeypatch.setenv("DIARIZE_BACKEND", "gcrr")
    run("missing.wav").assert_refused("DIARIZE_BACKEND: there is no backend 'gcrr'")


@pytest.mark.parametrize("command", ["run", "config"])
def test_a_misspelled_variable_is_refused(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("DIARIZE_BAKEND", "gcr")
    arguments = ["missing.wav"] if command == "run" else []
    cli(command, *arguments).assert_refused(
        "DIARIZE_BAKEND: there is no such option (did you mean DIARIZE_BACKEND?)"
    )


def test_another_variable_is_told(run: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIARIZE_EFFORT", "3")
    told = run("missing.wav").err
    assert "note: DIARIZE_EFFORT in the environment is no option, and has no effect\n" in told


def test_a_file_that_cannot_be_read(run: Cli, tmp_path: Path) -> None:
    run("missing.wav", "--config", "no.toml").assert_refused("cannot read no.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff")
    run("missing.wav", "--config", tmp_path / "x.toml").assert_refused("x.toml: not TOML")


def test_a_file_with_a_byte_order_mark(run: Cli, talk: Path, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b'\xef\xbb\xbfvad = "none"\n')
    assert run(talk, "--config", tmp_path / "x.toml", "--num-speakers", 1).status == 0
