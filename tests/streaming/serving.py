"""A server in a thread or in a process, and what its clients do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from diarize.streaming.server import StreamServer

websockets = pytest.importorskip("websockets")
from websockets.sync.client import ClientConnection, connect  # noqa: E402


class Running:
    """A server in a thread of its own, on a port that is free."""

    def __init__(self, server: StreamServer) -> None:
        self.server, self._ready = server, threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._ready.wait(30)

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        listening = await self.server.listen("127.0.0.1", 0)
        self.port = listening.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        await self.server.close(listening)

    def client(self, query: str = "", **options: Any) -> ClientConnection:
        address = f"ws://127.0.0.1:{self.port}/stream{query}"
        return connect(address, compression=None, proxy=None, **options)

    def end(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: somebody else has ended it
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(60)
        assert not self._thread.is_alive()


@contextlib.contextmanager
def in_a_process(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
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


def feed(client: ClientConnection, data: bytes, size: int = 32_000) -> None:
    for begin in range(0, len(data), size):
        client.send(data[begin : begin + size])


def rest(client: ClientConnection) -> list[dict[str, Any]]:
    """Everything that the server says until it closes."""
    lines = []
    with contextlib.suppress(websockets.exceptions.ConnectionClosed):
        while True:
            lines.append(json.loads(client.recv()))
    return lines


def until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it never came")
