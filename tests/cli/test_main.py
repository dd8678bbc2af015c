"""What holds for every command: exit codes, one line on stderr, light imports."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from diarize import __version__

Cli = Callable[..., Any]  # the fixture `cli`

HEAVY = ("torch", "librosa", "sklearn", "scipy", "pandas", "numpy", "pyannote", "matplotlib")


def start(arguments: Sequence[str], repo_root: Path, **streams: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(repo_root)}
    command = [sys.executable, "-m", "diarize", *arguments]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # tests in the background of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(command, env=environment, text=True, **streams)


def test_help_and_version(cli: Cli) -> None:
    assert cli("--version") == (0, f"diarize {__version__}\n", "")
    shown = cli("--help").out
    commands = ("run", "score", "embed", "cluster", "backends", "simulate", "train", "tune", "plot")
    for name in commands:
        assert re.search(rf"\b{name} ", shown)
        assert f"Usage: diarize {name}" in cli(name, "--help").out


def test_no_command_shows_the_help(cli: Cli) -> None:
    done = cli()
    assert (done.status, done.out) == (2, "")
    assert "Usage: diarize" in done.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["scor"], "No such command 'scor'"),
        (["--colour"], "No such option"),
        (["score"], "Missing argument 'REF'"),
        (["score", "a", "b", "c"], "Got unexpected extra argument"),
        (["score", "a", "b", "--collar", "much"], "Invalid value for '--collar'"),
        (["score", "a", "b", "--collar", "-1"], "Invalid value for '--collar'"),
        (["score", "a", "b", "--collar"], "Option '--collar' requires an argument"),
        (["score", "missing.rttm", "b"], "missing.rttm: No such file or directory"),
    ],
)
def test_what_cannot_be_used_gives_one_line(cli: Cli, arguments: list[str], reason: str) -> None:
    cli(*arguments).assert_refused(reason)


def test_help_imports_nothing_heavy(repo_root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "diarize", "--help"],
        cwd=repo_root,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "diarize.cli" in imported
    assert not {name for name in imported if name.partition(".")[0] in HEAVY}


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_cleanly(
    repo_root: Path, tmp_path: Path, sent: signal.Signals, status: int
) -> None:
    os.mkfifo(tmp_path / "ref.rttm")
    process = start(["score", str(tmp_path / "ref.rttm"), "hyp"], repo_root, stderr=subprocess.PIPE)
    with open(tmp_path / "ref.rttm", "w"):  # waits until the command reads
        process.send_signal(sent)
        _, message = process.communicate(timeout=60)
    assert process.returncode == status
    assert message == ("diarize: error: interrupted\n" if sent == signal.SIGINT else "")


def test_a_reader_that_goes_away_is_no_news(repo_root: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = start(["--help"], repo_root, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 1


def test_a_full_disk_behind_standard_output(repo_root: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with open("/dev/full", "w") as full:
        process = start(["--version"], repo_root, stdout=full.fileno(), stderr=subprocess.PIPE)
        message = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert message == "diarize: error: No space left on device\n"


def test_standard_streams_that_were_closed(repo_root: Path, tmp_path: Path) -> None:
    (tmp_path / "a.rttm").write_text("SPEAKER a 1 0.000 1.000 <NA> <NA> A <NA> <NA>\n")

    def run(closed: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "diarize", *arguments]
        return subprocess.run(
            ["sh", "-c", f'exec "$@" {closed}', "sh", *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(repo_root)},
            capture_output=True,
            text=True,
            check=False,
        )

    # A file gets nobody's number, and what nobody can be told is not told to others.
    assert run("<&- >&- 2>&-", "convert", "a.rttm", "b.rttm").returncode == 0
    assert (tmp_path / "b.rttm").read_text() == (tmp_path / "a.rttm").read_text()
    silent = run("2>&-", "score", "a.rttm", "b.rttm", "--json")
    assert silent.returncode == 0 and json.loads(silent.stdout)["total"]["der"] == 0

    for closed, arguments, status, reason in (
        (">&-", ["convert", "a.rttm", "-", "--to", "json"], 1, "output: is closed"),
        ("<&-", ["convert", "-", "c.json", "--from", "rttm"], 2, "input: is closed"),
        ("<&-", ["run", "-"], 2, "input: is closed"),
    ):
        refused = run(closed, *arguments)
        assert (refused.returncode, refused.stdout) == (status, "")
        assert refused.stderr == f"diarize: error: standard {reason}\n"
    assert not (tmp_path / "c.json").exists()
