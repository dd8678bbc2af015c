"""Clients who are too many, who do not read, who break off, and who send what is no sound."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diarize import StreamingDiarizer
from diarize.formats import read_rttm
from diarize.streaming import server
from diarize.streaming.server import END
from diarize.streaming.turns import Turn

from .serving import Running, feed, rest, until, websockets

RATE = 16_000
UPGRADE = (
    b"GET /stream HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Talkative(StreamingDiarizer):
    """Says more of a second of sound than a connection holds."""

    def push(self, samples: Any) -> list[Turn]:
        self._intake.push(samples)
        return [Turn(i, i + 1.0, ("LIVE_00",), False) for i in range(20_000)]

    def catch_up(self, until: float) -> list[Turn]:
        return []


def test_the_ninth_of_eight_is_told_so(run: Callable[..., Running]) -> None:
    running = run()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(running.client()) for _ in range(8)]
        for client in clients:
            assert "stream" in json.loads(client.recv())
        with running.client() as ninth:
            reason = "8 clients are listened to, and no more: try again later"
            assert rest(ninth) == [{"error": reason}]
        assert (ninth.close_code, ninth.close_reason) == (1013, reason)
        clients[3].send(END)
        assert rest(clients[3]) == [{"map": {}}]
        until(lambda: running.server.n_clients == 7)
        assert "stream" in json.loads(stack.enter_context(running.client()).recv())


def test_who_does_not_read_is_cut_off_and_nothing_piles_up(
    run: Callable[..., Running], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(server, "READING", 1.0)
    taken: list[int] = []
    take = server.ClientStream.take

    def count(self: server.ClientStream) -> list[str]:
        taken.append(len(self._held))
        return take(self)

    monkeypatch.setattr(server.ClientStream, "take", count)
    running = run(make=Talkative, out=tmp_path)
    with running.client(max_queue=1) as client:  # reads no more than one message by itself
        until(lambda: running.server.n_clients == 1)

        def send() -> None:
            with contextlib.suppress(websockets.exceptions.ConnectionClosed):
                for _ in range(200):
                    client.send(bytes(2 * RATE))

        sender = threading.Thread(target=send)
        sender.start()
        until(lambda: running.server.n_clients == 0)
        sender.join(60)
        # Lines that nobody takes stop the stream: what it was sent was not taken in either.
        assert len(taken) < 20
    (kept,) = tmp_path.iterdir()  # what was heard until then is settled
    assert kept.name.endswith(".rttm")
    with running.client() as again:
        assert "stream" in json.loads(again.recv())


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\0\xff\r\n\r\n",
        b"GET /stream HTTP/1.1\r\nHost: here\r\n\r\n",
        UPGRADE + b"\xff\xff\xff\xff",
        UPGRADE + b"\x82\x85hello",  # samples that are not masked
        UPGRADE + b"\x82\xff\x7f" + bytes(11),  # 2^62 bytes are to follow
    ],
    ids=["nothing", "no http", "no upgrade", "no frame", "no mask", "no end"],
)
def test_what_is_no_websocket_does_no_harm(run: Callable[..., Running], sent: bytes) -> None:
    running = run()
    with socket.create_connection(("127.0.0.1", running.port)) as client:
        client.sendall(sent)
    until(lambda: running.server.n_clients == 0)
    with running.client() as client:
        assert "stream" in json.loads(client.recv())


@pytest.mark.parametrize("sample_format", ["u8", "s8", "s16", "s32", "f32", "f64"])
def test_bytes_by_chance_are_sound_or_refused(
    run: Callable[..., Running], sample_format: str
) -> None:
    chance = np.random.default_rng(0).integers(0, 256, 200_001).astype(np.uint8).tobytes()
    running = run()
    with running.client(f"?format={sample_format}") as client:
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            feed(client, chance)
            client.send(END)
        lines = rest(client)
        began = time.monotonic()
    assert time.monotonic() - began < server.READING / 2  # nobody waits for what is not read
    assert "not a finite number" in lines[-1].get("error", "") or any("map" in x for x in lines)
    until(lambda: running.server.n_clients == 0)


def test_a_message_that_is_too_long_ends_the_stream_and_loses_nothing(
    run: Callable[..., Running], pcm: bytes, tmp_path: Path
) -> None:
    running = run(out=tmp_path)
    with running.client() as client:
        feed(client, pcm)
        while json.loads(client.recv()).get("start", 0.0) < 8.0:
            pass
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            client.send(bytes((1 << 20) + 1))
        rest(client)
        assert client.close_code == 1009
    until(lambda: running.server.n_clients == 0)
    (kept,) = tmp_path.iterdir()
    (annotation,) = read_rttm(kept).values()
    assert len(annotation.labels()) > 1


def test_who_connects_and_asks_for_nothing_does_not_keep_a_server_from_ending(
    run: Callable[..., Running],
) -> None:
    """Browsers do, ahead of what they may want next."""
    running = run()
    with socket.create_connection(("127.0.0.1", running.port)):
        with running.client() as client:  # by then the server knows of both
            client.recv()
        began = time.monotonic()
        running.end()
    assert time.monotonic() - began < 5.0  # websockets by itself waits for 10 s
