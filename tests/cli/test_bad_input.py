"""Input and arguments that `diarize run` cannot use, or that are odd."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

RATE = 16_000
Run = Callable[..., Any]  # the fixtures `run` and `cli`


# What is no recording


def truncated(path: Path) -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, 3 * RATE)
    soundfile.write(path, noise, RATE)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


BAD_RECORDINGS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing.wav": (lambda path: None, "no such file"),
    "text.wav": (lambda path: path.write_text("hello there\n"), "is text"),
    "truncated.wav": (truncated, "up to 1.4 s of 3.0 s (`run --end 1.4` takes what is there)"),
}


@pytest.mark.parametrize("name", BAD_RECORDINGS)
def test_what_is_no_recording_is_refused(run: Run, tmp_path: Path, name: str) -> None:
    make, reason = BAD_RECORDINGS[name]
    make(tmp_path / name)
    before = sorted(tmp_path.iterdir())
    result = run(tmp_path / name, "--out", tmp_path / "out.rttm")
    result.assert_refused(tmp_path / name, reason)
    assert sorted(tmp_path.iterdir()) == before


# Recordings that are odd, but recordings


@pytest.mark.parametrize("seconds", [0.02, 3.0])
def test_silence_gives_an_empty_result_and_a_note(run: Run, tmp_path: Path, seconds: float) -> None:
    path = tmp_path / "silent.wav"
    soundfile.write(path, np.zeros(round(seconds * RATE)), RATE)
    out = tmp_path / "silent.rttm"
    result = run(path, "--out", out, "--num-speakers", 2)
    assert result.status == 0
    assert result.out == ""
    assert out.read_bytes() == b""
    assert f"diarize: note: {path}: no speech found\n" in result.err


def test_20_ms_that_are_taken_for_speech(run: Run, write_tone: Callable[..., Path]) -> None:
    result = run(write_tone("short.wav", 0.02), "--vad", "none")
    assert result.status == 0
    assert result.out == "SPEAKER short 1 0.000 0.020 <NA> <NA> SPEAKER_00 <NA> <NA>\n"


def test_more_speakers_than_windows(run: Run, write_tone: Callable[..., Path]) -> None:
    path = write_tone("short.wav", 0.9)
    result = run(path, "--vad", "none", "--num-speakers", 5)
    assert result.status == 0
    assert 1 <= len({line.split()[7] for line in result.out.splitlines()}) <= 2
    assert f"diarize: note: {path}: too short for 5 speakers" in result.err


# Arguments; none of these recordings is there, so all is refused before one is read


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--backend", "ckn"], "there is no backend 'ckn' (did you mean ckm?)"),
        (["--backend", "spectral"], "there are ckm, gcr, "),
        (["--backend", "oracle"], "backend oracle needs the true turns: give --reference"),
        (
            ["--min-speakers", "3", "--max-speakers", "2"],
            "speakers 3 is more than --max-speakers 2",
        ),
        (
            ["--num-speakers", "2", "--min-speakers", "3"],
            "error: --num-speakers 2 contradicts --min",
        ),
        (["--num-speakers", "0"], "--num-speakers"),
        (["--num-speakers", "two"], "--num-speakers"),
        (["--max-set-size", "0"], "--max-set-size"),
        (["-p", "n-restart=3"], "did you mean n_restarts?"),
        (
            ["-p", "nothing=1", "--backend", "ac"],
            "'nothing'; -p takes count_penalty, distance_threshold, sample_size\n",
        ),
        (["-p", "restarts"], "NAME=VALUE expected"),
        (["-p", "n_speakers=2"], "-p n_speakers: use --num-speakers"),
        (["--window", "9"], "--window"),
        (["--window", "nan"], "window"),
        (["--step", "0.01"], "--step"),
        (["--vad-threshold", "2"], "--vad-threshold 2: not between 0 and 1"),
        (["--vad-threshold", "0"], "--vad-threshold 0: not between 0 and 1"),
        (["--min-speech", "-1"], "--min-speech"),
        (["--min-silence", "inf"], "min_silence"),
        (["--min-turn", "-0.1"], "--min-turn"),
        (["--min-turn", "inf"], "min_turn"),
        (["--min-gap", "-1"], "--min-gap"),
        (["--switch", "-1"], "--switch"),
        (["--overlap", "x"], "--overlap"),
        (["--start", "-1"], "--start"),
        (["--seed", "-1"], "--seed"),
        (["--channels", "left"], "channels left: not one of mix, separate, per-speaker"),
        (["--format", "docx"], "format docx: not one of rttm, json"),
        (["--format", "rttm", "--format", "json"], "several formats need --out FOLDER"),
        (["--device", "gpu"], "device gpu: not one of auto, cpu, cuda"),
        (
            ["--vad", "sillero"],
            "vad sillero: not network, silero, none, or an RTTM or ONNX file that is there",
        ),
        (["--reference", "no.rttm", "--backend", "oracle"], "cannot read no.rttm"),
        (["b/missing.wav"], "two inputs are named missing"),
        (["--out", "no/where/out.rttm"], "cannot write no/where/out.rttm"),
    ],
)
def test_arguments_that_cannot_be_used(run: Run, arguments: list[str], reason: str) -> None:
    run("a/missing.wav", *arguments).assert_refused(reason)


def test_cuda_where_there_is_none(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    run("missing.wav", "--device", "cuda").assert_refused("device cuda: there is none")


@pytest.mark.parametrize("content", ["", "no weights", None])
def test_damaged_weights(run: Run, tiny_weights: Path, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "model.safetensors"
    if content is None:
        path.write_bytes(tiny_weights.read_bytes()[:-100])
    else:
        path.write_text(content)
    run("missing.wav", model=path).assert_refused(path, "a damaged weights file")


def test_an_unknown_model(run: Run) -> None:
    run("missing.wav", model="lstm").assert_refused("lstm: no such model", "lstm-compositional")


GOOD_LINE = "SPEAKER talk 1 0.0 9.0 <NA> <NA> a <NA> <NA>\n"
BAD_RTTM = {
    "SPEAKER talk 1 0.0 1.0 <NA>": "6 fields",
    "SPEAKER talk 1 0.0 -1.0 <NA> <NA> a <NA> <NA>": "the duration -1.0 is negative",
    "SPEAKER talk 1 0.0 much <NA> <NA> a <NA> <NA>": "the duration 'much' is not a number",
    "SPOKEN talk 1 0.0 1.0 <NA> <NA> a <NA> <NA>": "'SPOKEN' is no line type of RTTM",
}


@pytest.mark.parametrize("line", BAD_RTTM)
def test_rttm_that_is_wrong(run: Run, cli: Run, tmp_path: Path, line: str) -> None:
    path = tmp_path / "wrong.rttm"
    path.write_text(GOOD_LINE + line + "\n")
    reasons = (f"{path}, line 2", BAD_RTTM[line])
    run("missing.wav", "--vad", path).assert_refused(*reasons)
    run("missing.wav", "--backend", "oracle", "--reference", path).assert_refused(*reasons)
    for files in ([path, path], [path.with_name("good.rttm"), path]):
        path.with_name("good.rttm").write_text(GOOD_LINE)
        cli("score", *files).assert_refused(*reasons)
