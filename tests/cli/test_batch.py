"""All inputs of a run: in one process or in several, once, and again after it was killed."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from diarize.batch.jobs import Job
from diarize.batch.manifest import NAME
from diarize.cli.batch import Failures, InOrder
from diarize.formats import read_turns

RATE = 16_000
Run = Callable[..., Any]  # the fixture `run`
PLAIN = ("--vad", "none", "--num-speakers", 1)


def contents(folder: Path) -> dict[str, bytes]:
    """All results below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != NAME
    }


@pytest.fixture
def corpus(write_tone: Callable[..., Path], tmp_path: Path) -> Path:
    """Two recordings of one name, a broken one and a longer one."""
    folder = tmp_path / "corpus"
    for name, seconds in (("one/a", 0.5), ("two/a", 0.7), ("z", 2.5)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(write_tone("x.wav", seconds), folder / f"{name}.wav")
    (folder / "bad.wav").write_text("hello\n")
    return folder


def test_several_processes_write_the_same_bytes(run: Run, corpus: Path, tmp_path: Path) -> None:
    formats = ("--format", "rttm", "--format", "json", "--clips", tmp_path / "clips")
    alone = run(corpus, *PLAIN, *formats, "--out", tmp_path / "alone")
    clips = contents(tmp_path / "clips")
    shared = run(corpus, *PLAIN, *formats, "--out", tmp_path / "shared", "-j", 2)
    assert alone.status == shared.status == 1
    for result in (alone, shared):
        assert f"diarize: error: {corpus / 'bad.wav'}: is text, not a recording\n" in result.err
        assert result.err.endswith(f"diarize: error: 1 of 4 failed: {corpus / 'bad.wav'}\n")
        assert result.err.count("real-time factor") == 3
    written = contents(tmp_path / "alone")
    assert sorted(name for name in written if name.endswith("rttm")) == [
        "one/a.rttm",
        "two/a.rttm",
        "z.rttm",
    ]
    assert contents(tmp_path / "shared") == written
    assert contents(tmp_path / "clips") == clips


def test_a_closed_pipe_stops_everything() -> None:
    with pytest.raises(BrokenPipeError), Failures(several=True).of("a"):
        raise BrokenPipeError


def test_standard_output_has_the_order_of_the_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = Job("a.wav"), Job("b.wav"), Job("c.wav")
    outputs = InOrder([a, b, c])
    outputs.take(b, "b\n")
    assert capsys.readouterr().out == ""
    outputs.take(a, "a\n")
    assert capsys.readouterr().out == "a\nb\n"
    outputs.take(c, "")
    assert capsys.readouterr().out == ""


def test_what_is_finished_is_not_done_again(run: Run, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = (corpus, *PLAIN, "--out", out)

    def heard(*more: object) -> list[str]:
        before = {name: (out / name).stat().st_mtime_ns for name in contents(out)}
        result = run(*arguments, *more)
        assert result.status == (1 if (corpus / "bad.wav").exists() else 0)
        names = [
            name for name in contents(out) if (out / name).stat().st_mtime_ns != before.get(name)
        ]
        unchanged = 3 - len(names)
        assert (f"note: {unchanged} of " in result.err) == bool(unchanged)
        return names

    everything = ["one/a.rttm", "two/a.rttm", "z.rttm"]
    assert heard() == everything
    whole = contents(out)
    assert heard() == []
    assert heard("--again") == everything
    (out / "one" / "a.rttm").unlink()
    (out / "z.rttm").write_text("mine")
    assert heard() == ["one/a.rttm", "z.rttm"]
    assert contents(out) == whole
    shutil.copy(corpus / "one" / "a.wav", corpus / "two" / "a.wav")
    assert heard() == ["two/a.rttm"]
    assert heard("--seed", 1) == everything
    assert heard() == everything
    (corpus / "bad.wav").unlink()
    assert heard() == []


def test_a_result_that_was_changed_is_told_before_it_is_replaced(
    run: Run, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = (write_tone("a.wav"), write_tone("b.wav"), *PLAIN, "--out", out)
    assert "was changed" not in run(*arguments).err
    (out / "a.rttm").write_text("mine")
    (out / "b.rttm").unlink()
    told = run(*arguments).err
    assert f"note: {out / 'a.rttm'}: was changed since, and is replaced" in told
    assert "b.rttm: was changed" not in told


def test_what_depends_on_all_recordings_is_done_again(
    run: Run, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    out, voices = tmp_path / "out", tmp_path / "voices.npz"
    tones = [write_tone("a.wav"), write_tone("b.wav", 2.0)]
    arguments = (*tones, *PLAIN, "--out", out)
    assert run(*arguments).status == 0
    exported = run(*arguments, "--export-speakers", voices)
    assert exported.err.count("real-time factor") == 2
    assert voices.exists()
    for _ in range(2):
        linked = run(*arguments, "--link-speakers")
        assert linked.err.count("real-time factor") == 2
    corrected = tmp_path / "said.rttm"
    corrected.write_text("SPEAKER a 1 0 0.5 <NA> <NA> anna <NA> <NA>\n")
    again = run(*arguments, "--corrections", corrected)
    assert "a.wav" not in again.err and again.err.count("real-time factor") == 1
    assert (out / "a.rttm").read_text().split()[7] == "anna"


def test_names_that_could_mean_two_recordings_are_refused(run: Run, corpus: Path) -> None:
    speech = corpus / "speech.csv"  # in any of the formats
    speech.write_text("file,start,end,speaker\na,0,1,x\n")
    for option in (["--link-speakers"], ["--vad", speech]):
        run(corpus, *option, "--out", corpus / "out").assert_refused(
            "two inputs are named a, ", ": which of them a name means cannot be told"
        )
    run(corpus).assert_refused("two inputs are named a, ", ": their results would be one")


# Runs that are ended from outside


def short_recordings(folder: Path, count: int) -> Path:
    """Noise that swells, a second or so each."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for n in range(count):
        samples = rng.normal(0, 0.1, rng.integers(RATE, 2 * RATE))
        samples *= np.sin(np.arange(len(samples)) / RATE * rng.uniform(1, 9))
        soundfile.write(folder / f"{n:03d}.wav", samples, RATE)
    return folder


def begin(folder: Path, out: Path, model: Path, repo_root: Path) -> subprocess.Popen[str]:
    """Start `diarize run -j 2`, and wait until some inputs are finished, a third at least."""
    command = [sys.executable, "-m", "diarize", "run", folder, "--out", out, "--model", model]
    process = subprocess.Popen(
        [str(part) for part in (*command, *PLAIN, "--seed", 7, "-j", 2)],
        env={**os.environ, "PYTHONPATH": str(repo_root)},
        stderr=subprocess.PIPE,
        text=True,
    )
    wanted = len(list(folder.iterdir())) // 3
    while len(finished(out)) < wanted:
        assert process.poll() is None
        time.sleep(0.02)
    return process


def finished(out: Path) -> list[bytes]:
    """Whole lines of the manifest."""
    path = out / NAME
    return path.read_bytes().splitlines(keepends=True)[:-1] if path.exists() else []


def children(process: subprocess.Popen[str]) -> set[int]:
    """Processes that a process has started."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not listed.exists():
        pytest.skip("processes cannot be listed here")
    return {int(number) for number in listed.read_text().split()}


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_for_the_end(pids: set[int]) -> None:
    assert len(pids) >= 2
    until = time.monotonic() + 60
    while any(map(is_alive, pids)):
        assert time.monotonic() < until, "processes are left"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "count", [8, pytest.param(200, marks=pytest.mark.long)], ids=["8 files", "200 files"]
)
def test_a_run_that_was_killed_goes_on(
    run: Run, tiny_weights: Path, repo_root: Path, tmp_path: Path, count: int
) -> None:
    folder, out = short_recordings(tmp_path / "in", count), tmp_path / "out"
    process = begin(folder, out, tiny_weights, repo_root)
    started = children(process)
    process.kill()
    process.communicate()
    before = finished(out)
    wait_for_the_end(started)
    times = {path.name: path.stat().st_mtime_ns for path in out.glob("*.rttm")}
    again = run(folder, *PLAIN, "--seed", 7, "--out", out, "-j", 2 if count > 100 else 1)
    assert again.status == 0
    lines = (out / NAME).read_bytes().splitlines(keepends=True)
    assert lines[: len(before)] == before
    assert again.err.count("real-time factor") <= count - len(before)
    undisturbed = run(folder, *PLAIN, "--seed", 7, "--out", tmp_path / "undisturbed")
    assert undisturbed.err.count("real-time factor") == count
    assert contents(out).keys() >= contents(tmp_path / "undisturbed").keys()
    results = {name: text for name, text in contents(out).items() if name.endswith(".rttm")}
    assert results == contents(tmp_path / "undisturbed")
    done_twice = [
        name
        for name, written in times.items()
        if (out / name).stat().st_mtime_ns != written
        and any(f'"name": "{name[:3]}"'.encode() in line for line in before)
    ]
    assert not done_twice


@pytest.mark.parametrize(
    ("sent", "status"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.long)],
    ids=["Ctrl-C", "SIGTERM"],
)
def test_a_run_that_is_interrupted_leaves_whole_results_and_nobody_behind(
    tiny_weights: Path, repo_root: Path, tmp_path: Path, sent: signal.Signals, status: int
) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # tests in the background of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)
    folder, out = short_recordings(tmp_path / "in", 30), tmp_path / "out"
    process = begin(folder, out, tiny_weights, repo_root)
    started = children(process)
    for pid in (process.pid, *started) if sent == signal.SIGINT else (process.pid,):
        os.kill(pid, sent)  # a terminal sends Ctrl-C to all of them
    _, message = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Traceback" not in message
    wait_for_the_end(started)
    assert 10 <= len(contents(out)) < 30
    assert all(name.endswith(".rttm") and text for name, text in contents(out).items())


def test_a_header_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [Job("a.wav"), Job("b.wav"), Job("c.wav")]
    outputs = InOrder(jobs, "start,end\n")
    for job, text in zip(
        jobs, ("", "start,end\n1,2\nstart,end\n", "start,end\n3,4\n"), strict=True
    ):
        outputs.take(job, text)
    assert capsys.readouterr().out == "start,end\n1,2\n3,4\n"


def test_csv_of_several_recordings_can_be_read(run: Run, write_tone: Callable[..., Path]) -> None:
    printed = run(write_tone("a.wav"), write_tone("b.wav"), *PLAIN, "--format", "csv").out
    assert list(read_turns(io.StringIO(printed), "csv")) == ["a", "b"]
