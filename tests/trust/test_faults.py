"""What becomes of results when the disk is full, the process is killed, or a file changes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from diarize.audio import open_recording
from diarize.cli import run_command
from diarize.errors import InputError
from diarize.storage.files import atomic_output

LINE = "SPEAKER talk 1 {:.3f} 0.900 <NA> <NA> speaker{} <NA> <NA>\n"

# Whether a file may be written before it has a name, so that nothing is left of it.
NAMELESS = hasattr(os, "O_TMPFILE") and os.path.exists("/proc/self/fd")


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    """An RTTM file whose copies in other formats are some hundred kilobytes."""
    path = tmp_path / "talk.rttm"
    path.write_text("".join(LINE.format(n, n % 5) for n in range(3000)))
    return path


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no small disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("name", ["srt", "vtt", "json", "csv", "textgrid", "eaf", "audacity"])
def test_a_full_disk_leaves_the_older_file(
    disk: Path, turns: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    target = disk / "out"
    target.write_text("older")
    assert run_command(["convert", str(turns), str(target), "--to", name]) == 1
    captured = capsys.readouterr()
    assert captured.err == f"diarize: error: {target}: No space left on device\n"
    assert target.read_text() == "older"
    assert os.listdir(disk) == ["out"]


def test_a_full_disk_keeps_the_clips_that_are_whole(
    disk: Path, talk: Path, tiny_weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--model", str(tiny_weights), "--vad", "none", "--num-speakers", "1"]
    assert run_command(["run", str(talk), *options, "--clips", str(disk)]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert os.listdir(disk) == []  # one clip of 12 s, which did not fit


def test_a_folder_that_cannot_be_written(
    disk: Path, turns: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert run_command(["convert", str(turns), str(disk / "out.srt")]) == 2
    assert capsys.readouterr().err == (
        f"diarize: error: cannot write {disk / 'out.srt'}: Read-only file system\n"
    )


STEPS = ("begin", "write", "flush", "fsync", "link", "replace", "end")


def _write_and_die(target: Path, step: str) -> None:
    """Write a file, and end the process without a word at a step."""

    def dies(*_: object, **__: object) -> None:
        os._exit(9)

    if step in ("fsync", "link", "replace"):
        setattr(os, step, dies)
    with atomic_output(target, "w") as file:
        if step == "begin":
            dies()
        file.write("new" * 100_000)
        if step == "write":
            dies()
        if step == "flush":
            file.flush()
            dies()
    dies()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("older", ["older", None])
@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_each_step_of_writing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    nameless: bool,
    older: str | None,
) -> None:
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not NAMELESS:
        pytest.skip("files have names from the beginning here")
    target = tmp_path / "out.rttm"
    if older is not None:
        target.write_text(older)
    child = os.fork()
    if child == 0:
        try:
            _write_and_die(target, step)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    if step == "end" or (step == "link" and not nameless):
        assert target.read_text() == "new" * 100_000
    else:
        assert (target.read_text() if target.exists() else None) == older
    others = set(os.listdir(tmp_path)) - {"out.rttm"}
    assert all(name.startswith(".out.rttm.") for name in others)
    if nameless:
        assert len(others) == (step == "replace")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments(
    tmp_path: Path, effort: int, record_property: Callable[[str, object], None], turns: Path
) -> None:
    """In a process that starts others, which begin with all modules loaded, and are killed."""
    generator = random.Random(0)
    formats = ("srt", "eaf", "json", "textgrid")

    def begin(name: str, out: Path) -> int:
        """A process that converts the turns; its number."""
        child = os.fork()
        if child == 0:
            try:
                os._exit(run_command(["convert", str(turns), str(out), "--to", name]))
            finally:
                os._exit(1)
        return child

    whole, seconds = {}, {}
    for name in formats:
        out = tmp_path / f"whole.{name}"
        run_command(["convert", str(turns), str(out), "--to", name])  # which loads what it needs
        began = time.monotonic()
        assert os.waitpid(begin(name, out), 0)[1] == 0
        seconds[name] = time.monotonic() - began
        whole[name] = out.read_bytes().replace(b"whole", b"out")
    runs, done, left = 20 * effort, 0, 0
    for run in range(runs):
        name = formats[run % len(formats)]
        folder = tmp_path / str(run)
        folder.mkdir()
        target = folder / f"out.{name}"
        older = b"older" if run % 2 else None
        if older:
            target.write_bytes(older)
        child = begin(name, target)
        time.sleep(generator.uniform(0.0, 1.1) * seconds[name])
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = target.read_bytes() if target.exists() else None
        assert found in (older, whole[name]), (run, name)
        done += found == whole[name]
        others = set(os.listdir(folder)) - {target.name}
        assert all(n.startswith(".out.") for n in others)
        left += len(others)
    record_property(
        "figure",
        f"killed at random moments: {runs} runs, {done} of them after the result was there, "
        f"no file that was not whole, {left} hidden ones left",
    )


def test_terminated_while_writing_leaves_nothing(repo_root: Path, tmp_path: Path) -> None:
    code = (
        "import time; from pathlib import Path\n"
        "from diarize.signals import raised; from diarize.storage.files import atomic_output\n"
        f"with raised(), atomic_output({str(tmp_path / 'out')!r}) as file:\n"
        "    file.write(b'x' * 100000); print('writing', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=repo_root, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == "writing\n"
        child.terminate()
        assert child.wait(timeout=60) == 128 + signal.SIGTERM
    assert os.listdir(tmp_path) == []


@pytest.fixture
def gone(repo_root: Path) -> Callable[..., tuple[int, str]]:
    """Exit code and messages of a command whose standard output nobody reads."""

    def call(*arguments: object) -> tuple[int, str]:
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-m", "diarize", *map(str, arguments)]
        done = subprocess.run(
            command, cwd=repo_root, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(writing)
        return done.returncode, done.stderr

    return call


def test_a_run_for_a_reader_that_has_gone(
    gone: Callable[..., tuple[int, str]], talk: Path, tiny_weights: Path, tmp_path: Path
) -> None:
    options = ["--model", tiny_weights, "--vad", "none", "--num-speakers", 1]
    assert gone("run", talk, *options) == (1, "")
    other = tmp_path / "other.wav"
    other.write_bytes(talk.read_bytes())
    status, said = gone("run", talk, other, *options, "-j", 2)
    assert status == 1
    # The first for the output may be ready last, and then the other has been summed up.
    assert said.count("real-time factor") <= 2
    assert "error" not in said and "Traceback" not in said


def test_a_recording_that_vanishes(talk: Path, tmp_path: Path) -> None:
    path = tmp_path / "gone.wav"
    path.write_bytes(talk.read_bytes())
    recording = open_recording(path)
    path.unlink()
    with pytest.raises(InputError, match=r"gone\.wav: no such file$"):
        list(recording.blocks())


@pytest.mark.parametrize("left", [0, 10, 30_000])
@pytest.mark.parametrize("kind", ["wav", "flac"])
def test_a_recording_that_is_cut_while_it_is_read(
    talk: Path, tmp_path: Path, kind: str, left: int
) -> None:
    import soundfile

    path = tmp_path / f"cut.{kind}"
    soundfile.write(path, *soundfile.read(talk))
    recording = open_recording(path)
    blocks = recording.blocks(1.0)
    next(blocks)
    os.truncate(path, left)
    with pytest.raises(InputError, match=rf"cut\.{kind}: ") as caught:
        list(recording.blocks())
        list(blocks)
    assert "\n" not in str(caught.value)
