"""A server in a process of its own, which is told to end, or killed."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diarize.formats import read_rttm
from diarize.streaming.keeping import SO_FAR

from .serving import connect, websockets


@contextlib.contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its address."""
    command = [sys.executable, "-m", "diarize", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        line = child.stderr.readline()
        assert "http://127.0.0.1:" in line and "/stream takes samples" in line
        found = re.search(r"ws://\S+", line)
        assert found is not None
        try:
            yield child, found[0]
        finally:
            child.kill()


def lines(client: Any) -> Iterator[dict[str, Any]]:
    with contextlib.suppress(websockets.exceptions.ConnectionClosed):
        while True:
            yield json.loads(client.recv(timeout=600))


def test_a_server_that_ends_settles_tells_and_keeps(pcm: bytes, tmp_path: Path) -> None:
    with serving("--out", str(tmp_path)) as (child, address):
        with connect(address, compression=None, proxy=None) as client:
            client.send(pcm)
            told = lines(client)
            while "start" not in next(told):
                pass
            child.send_signal(signal.SIGTERM)
            rest = list(told)
        assert child.wait(300) == 0
    assert any(line.get("final") for line in rest) and "map" in rest[-1]
    (kept,) = tmp_path.iterdir()
    (annotation,) = read_rttm(kept).values()
    assert annotation.labels()


def test_a_server_that_is_killed_has_kept_what_was_settled(pcm: bytes, tmp_path: Path) -> None:
    with (
        serving("--out", str(tmp_path), "--refine", "5") as (child, address),
        connect(address, compression=None, proxy=None) as client,
    ):
        client.send(pcm)
        client.send(pcm)
        settled = next(line for line in lines(client) if line.get("final"))
        child.kill()
    (kept,) = tmp_path.iterdir()
    assert kept.name.endswith(SO_FAR)
    (annotation,) = read_rttm(kept).values()
    for name in settled["speakers"]:
        timeline = annotation.label_timeline(name)
        assert any(
            turn.start <= settled["start"] + 0.01 and settled["end"] - 0.01 <= turn.end
            for turn in timeline
        )
