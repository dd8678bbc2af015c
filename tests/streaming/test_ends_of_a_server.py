"""A server in a process of its own, which is told to end, or killed."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diarize.formats import read_rttm
from diarize.streaming.result_files import SO_FAR

from .serving import connect, in_a_process, websockets


def lines(client: Any) -> Iterator[dict[str, Any]]:
    with contextlib.suppress(websockets.exceptions.ConnectionClosed):
        while True:
            yield json.loads(client.recv(timeout=600))


def test_a_server_that_ends_settles_tells_and_keeps(pcm: bytes, tmp_path: Path) -> None:
    with in_a_process("--out", str(tmp_path)) as (child, address):
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
        in_a_process("--out", str(tmp_path), "--refine", "5") as (child, address),
        connect(address, compression=None, proxy=None, close_timeout=1) as client,
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
