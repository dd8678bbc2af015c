"""Damaged recordings through `diarize run`: one plain line, in bounded time and memory."""

from __future__ import annotations

import io
import json
import queue
import re
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("av")

from diarize.audio import open_recording

from .sounds import KINDS, Case, bombs, damaged

MEMORY = 512  # MiB that a damaged file may take beyond what a good one has taken
SECONDS = 120.0  # after which a file counts as a hang, on a busy machine
PER_KIND = 20  # cases, times the effort
PER_PROCESS = 200  # cases; what is left behind by each adds up to the memory that is watched

RTTM = re.compile(r"(SPEAKER \S+ 1 \d+\.\d{3} \d+\.\d{3} <NA> <NA> \S+ <NA> <NA>\n)*")


def listen(
    cases: Iterable[Case], folder: Path, model: Path, *options: str
) -> Iterator[tuple[str, int, str, str, float]]:
    """Name of each case, exit code, standard output, standard error and seconds.

    Raises:
        AssertionError: the process died, or hung.
    """
    command = [sys.executable, str(Path(__file__).with_name("listen_child.py")), str(MEMORY)]
    command += ["--model", str(model), "--backend", "ac", *options]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=_pass_on, args=(child.stdout, lines), daemon=True).start()
        try:
            for number, (name, content) in enumerate(cases):
                path = folder / f"{number}.sound"
                path.write_bytes(content)
                child.stdin.write(f"{path}\n")
                child.stdin.flush()
                try:
                    assert lines.get(timeout=SECONDS) == f"{path}\n", f"the process ended: {name}"
                    answer = lines.get(timeout=SECONDS)
                except queue.Empty:
                    pytest.fail(f"hangs: {name} ({path})")
                assert answer, f"the process ended: {name} ({path})"
                yield (name, *json.loads(answer))
                path.unlink()
            child.stdin.close()
        finally:
            child.kill()


def _pass_on(stream: Iterable[str], lines: queue.SimpleQueue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")  # the end


def assert_plain(name: str, status: int, out: str, err: str, seconds: float) -> None:
    """A result, or one line that says what is wrong; nothing else, and never out of memory."""
    where = (name, status, out, err)
    lines = err.splitlines()
    errors = [line for line in lines if line.startswith("diarize: error: ")]
    if status == 0:  # with a table of who spoke
        assert RTTM.fullmatch(out) and not errors and "Traceback" not in err, where
    else:
        assert status == 2 and not out and len(errors) == 1, where
        assert ".sound: " in errors[0], where
        assert all(line.startswith("diarize: ") for line in lines), where


def test_damaged_recordings(
    tmp_path: Path,
    tiny_weights: Path,
    effort: int,
    record_property: Callable[[str, object], None],
) -> None:
    chosen: list[Case] = []
    for kind in KINDS:
        every = list(damaged(kind))
        chosen += [every[0], *every[1 :: max(1, len(every) // (PER_KIND * effort))]]
    read, slowest = 0, 0.0
    options = ("--vad", "none", "--num-speakers", "1")
    for first in range(0, len(chosen), PER_PROCESS):
        some = [chosen[0], *chosen[first : first + PER_PROCESS]]  # a good one is the measure
        for result in islice(listen(some, tmp_path, tiny_weights, *options), 1, None):
            assert_plain(*result)
            read += result[1] == 0
            slowest = max(slowest, result[-1])
    record_property(
        "figure",
        f"damaged recordings of {len(KINDS)} formats: {len(chosen)}, {read} read all the same, "
        f"{len(chosen) - read} refused in one line, slowest {slowest:.1f} s",
    )


def test_bombs_take_bounded_memory() -> None:
    for name, content in bombs():
        assert len(content) < 5e6, name
        tracemalloc.start()
        try:
            seconds = (
                sum(len(block) for block in open_recording(io.BytesIO(content)).blocks()) / 16e3
            )
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert seconds >= 60 and peak < 32 << 20, (name, seconds, peak)
