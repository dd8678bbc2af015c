from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from diarize.activity import NetworkActivity, SileroActivity
from diarize.formats import read_rttm
from diarize.streaming import StreamingDiarizer

from .conftest import options_of

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def pcm(talk: Path) -> bytes:
    """The conversation as 16-bit samples."""
    samples = soundfile.read(talk, dtype="int16")[0]
    return bytes(samples.astype("<i2").tobytes())


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[bytes], None]]:
    """Let bytes be standard input."""
    opened = []

    def give(data: bytes) -> None:
        path = tmp_path / "input.raw"
        path.write_bytes(data)
        opened.append(open(path))  # noqa: SIM115 - closed below
        monkeypatch.setattr(sys, "stdin", opened[-1])

    yield give
    for file in opened:
        file.close()


def test_raw_samples_in_and_lines_out(
    cli: Cli, pipe: Callable[[bytes], None], pcm: bytes, tmp_path: Path
) -> None:
    pipe(pcm + b"\0")
    out = tmp_path / "talk.json"
    done = cli("stream", "--rate", 16_000, "--sample-format", "s16", "--out", out)
    assert done.status == 0, done.err
    *lines, names = [json.loads(line) for line in done.out.splitlines()]
    assert set(lines[0]) == {"start", "end", "speakers", "final"}
    finals = [line["final"] for line in lines]
    assert finals == sorted(finals) and any(finals) and not all(finals)
    assert {name for line in lines if not line["final"] for name in line["speakers"]} == set(
        names["map"]
    )
    result = json.loads(out.read_text())
    assert {turn["speaker"] for turn in result["turns"]} == {
        name for line in lines if line["final"] for name in line["speakers"]
    }
    assert all(0 < turn["confidence"] <= 1 for turn in result["turns"])
    assert sum(result["number"].values()) == pytest.approx(1) and "several" in result
    assert "ended within a sample; its 1 bytes" in done.err


def test_a_file_gives_what_its_samples_give(
    cli: Cli, pipe: Callable[[bytes], None], pcm: bytes, tmp_path: Path
) -> None:
    begun = pcm[: 2 * 6 * 16_000]
    soundfile.write(tmp_path / "talk.wav", np.frombuffer(begun, "<i2"), 16_000)
    played = cli("stream", tmp_path / "talk.wav", "--speed", "max", "--format", "rttm")
    assert played.status == 0, played.err
    pipe(begun)
    piped = cli("stream", "--format", "rttm")
    assert piped.out.replace(" stdin ", " talk ") == played.out != ""


@pytest.mark.parametrize(
    ("arguments", "reasons"),
    [
        (["--latency", "0.1"], ["--latency", "greater than or equal to 0.5"]),
        (["--sample-format", "s24"], ["s24", "not one of"]),
        (["--format", "xml"], ["xml", "not one of"]),
        (["--vad", "none"], ["vad none", "not one of network, silero"]),
        (["--vad-threshold", "0"], ["the activity threshold lies between 0 and 1"]),
        (["--refine-backend", "oracle"], ["true turns"]),
        (["-p", "T_x=1"], ["T_x"]),
        (["-p", "max_set_size=1"], ["--max-set-size"]),
        (["missing.wav"], ["missing.wav", "no such file"]),
        (["TALK", "--rate", "8000"], ["--rate is for raw samples"]),
        (["TALK", "--microphone"], ["either a file or --microphone"]),
        (["--microphone", "--channels", "2"], ["--channels is for raw samples"]),
        (["TALK", "--speed", "0"], ["speed 0"]),
        (["TALK", "--speed", "fast"], ["speed fast"]),
        (["--speed", "2"], ["--speed is for a file that is played"]),
        (["TALK", "--out", "TALK"], ["is the recording"]),
        (["--out", "missing/talk.rttm"], ["missing/talk.rttm"]),
        (["--out", "talk.pdf"], ["talk.pdf: no format ends in .pdf"]),
        (["--model", "nothing"], ["no such model"]),
        (["--refine", "2"], ["--refine"]),
        (["--num-speakers", "2", "--min-speakers", "3"], ["--num-speakers 2 contradicts --min"]),
    ],
)
def test_what_cannot_be(
    cli: Cli,
    pipe: Callable[[bytes], None],
    talk: Path,
    arguments: list[str],
    reasons: list[str],
) -> None:
    pipe(b"\0\0")
    given = [str(talk) if argument == "TALK" else argument for argument in arguments]
    cli("stream", *given).assert_refused(*reasons)


def test_no_sound_and_sound_that_is_none(cli: Cli, pipe: Callable[[bytes], None]) -> None:
    pipe(b"")
    cli("stream").assert_refused("stdin: no sound came")
    pipe(np.array([0.0, np.nan], "<f4").tobytes())
    done = cli("stream", "--sample-format", "f32")
    done.assert_refused("not a finite number")


def test_silence_is_no_error(cli: Cli, pipe: Callable[[bytes], None], tmp_path: Path) -> None:
    pipe(bytes(64_000))
    done = cli("stream", "--out", tmp_path / "silence.rttm")
    assert done.status == 0 and "no speech found" in done.err
    assert json.loads(done.out) == {"map": {}}
    assert (tmp_path / "silence.rttm").read_text() == ""


def test_the_defaults_are_the_librarys() -> None:
    own = options_of("stream")
    library = inspect.signature(StreamingDiarizer).parameters
    for name in ("latency", "max_set_size", "refine", "refine_backend", "model", "device", "seed"):
        assert own[name].default == library[name].default, name
    assert own["rate"].show_default == str(library["rate"].default)
    defaults = NetworkActivity().threshold, SileroActivity().threshold
    assert own["vad_threshold"].show_default == "silero {1:g}, else {0:g}".format(*defaults)


def start(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "diarize", "stream", *arguments]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, **pipes)  # type: ignore[call-overload]


def test_ctrl_c_while_the_stream_goes_on(pcm: bytes, tmp_path: Path) -> None:
    out = tmp_path / "talk.rttm"
    with start("--out", str(out)) as child:
        child.stdin.write(pcm)
        child.stdin.flush()
        first = json.loads(child.stdout.readline())  # and the stream stalls
        child.send_signal(signal.SIGINT)
        rest, errors = child.communicate()
    assert child.returncode == 128 + signal.SIGINT, errors
    names = json.loads(rest.splitlines()[-1])  # what the first read took beyond its line is lost
    assert first["speakers"][0] in names["map"]
    assert read_rttm(out)["stdin"]
    assert os.listdir(tmp_path) == ["talk.rttm"]


def test_a_reader_who_has_seen_enough(pcm: bytes, tmp_path: Path) -> None:
    out = tmp_path / "talk.rttm"
    with start("--out", str(out), "--latency", "1") as child:
        child.stdin.write(pcm[: len(pcm) // 2])
        child.stdin.flush()
        child.stdout.readline()
        child.stdout.close()
        with contextlib.suppress(BrokenPipeError):  # it has noticed already
            child.stdin.write(pcm[len(pcm) // 2 :])
            child.stdin.close()
        errors = child.stderr.read()
    assert child.returncode == 1
    assert b"Traceback" not in errors
    assert read_rttm(out)["stdin"]
