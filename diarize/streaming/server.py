"""`diarize serve`: samples in and lines out over websockets, a stream for each client.

A client sends raw samples as binary messages and reads one JSON object a message, as `diarize
stream` prints them. Work on a client's sound is done in a thread, as soon as enough has come for
it; meanwhile no further message is taken from the network, so that nothing grows and who sends too
fast waits. A client whose sound waits cannot answer a ping: nobody is given up for that.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit
from weakref import WeakSet

from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError, explain, extra
from diarize.streaming.diarizer import LATENCY, StreamingDiarizer
from diarize.streaming.pcm import Pcm
from diarize.streaming.result_files import ResultFiles
from diarize.streaming.timing import Deadlines
from diarize.streaming.turns import Turn, lines_of, map_line, merged_line

if TYPE_CHECKING:
    from websockets.asyncio.server import Server, ServerConnection
    from websockets.http11 import Request, Response

PAGE = Path(__file__).with_name("page.html")
STREAM_PATH = "/stream"
MOST_BYTES = 1 << 20  # of one message
MOST_REASON = 123  # bytes of the reason of a close
READING = 30.0  # seconds after which a client who does not read is given up
LAST, AT_HAND = 5.0, 0.1  # seconds: to hear what had come by the end; in which it is there
POLL = 3600.0  # seconds: nothing is due
PASS_POLL = 0.5  # seconds after which is looked whether a pass over the past is done
TRY_AGAIN_LATER, UNUSABLE, BROKEN = 1013, 1008, 1011  # codes of a close
END = "end"  # the message with which a client says that no more sound follows
SECURITY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
    "connect-src 'self' ws: wss:; worker-src blob:"
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What clients may ask of a server.

    Attributes:
        clients: at a time.
        seconds: of sound of one stream; then it is settled and closed.
    """

    clients: int = 8
    seconds: float = 36_000.0


@dataclass(eq=False)
class ClientStream:
    """One client's stream: bytes in, lines out."""

    diarizer: StreamingDiarizer
    pcm: Pcm
    deadlines: Deadlines
    files: ResultFiles
    _held: bytearray = field(default_factory=bytearray)  # what the stream has not taken in

    @property
    def seconds(self) -> float:
        """How much sound has come."""
        return self.diarizer.seconds + self._waiting

    @property
    def _waiting(self) -> float:
        """Seconds of it that the stream has not taken in."""
        return len(self._held) / (self.pcm.width * self.diarizer.rate)

    @property
    def patience(self) -> float:
        """Seconds in which sound must come, or else it is time to `catch_up`."""
        most = PASS_POLL if self.diarizer.settling else POLL
        return self.deadlines.patience(time.monotonic(), most)

    def hold(self, data: bytes) -> bool:
        """Keep samples that have come, and say whether the stream has work to do with them."""
        before = self.seconds
        self._held += data
        self.deadlines.heard(time.monotonic(), before, self.seconds)
        return self._waiting >= self.diarizer.idle

    def take(self) -> list[str]:
        """Take in what has come."""
        data, self._held = bytes(self._held), bytearray()
        return self._said(self.diarizer.push(self.pcm.decode(data)))

    def catch_up(self) -> list[str]:
        """No sound comes: decide on what would be late otherwise, and say what was settled."""
        said = self.take()
        return said + self._said(self.diarizer.catch_up(self.deadlines.due(time.monotonic())))

    def end(self) -> list[str]:
        """There is no more sound; what cannot be used of the last of it is left out."""
        said = []
        with contextlib.suppress(InputError):
            said = self.take()
        return said + self._said(self.diarizer.end())

    def settle(self) -> list[str]:
        """Settle all that was heard."""
        before = len(self.diarizer.settled)
        self.diarizer.finish()
        self.files.write(self.diarizer)
        final = lines_of(self.diarizer.settled[before:])
        left = self.pcm.left_over
        note = [json.dumps({"note": f"{left} bytes at the end are no sample"})] if left else []
        return [*final, map_line(self.diarizer.speaker_map()), *note]

    def _said(self, turns: list[Turn]) -> list[str]:
        self.files.write_settled(self.diarizer)
        lines = list(lines_of(turns))
        if new := self.diarizer.newly_merged():
            lines.append(merged_line(new))
        self.deadlines.decided(self.diarizer.decided)
        return lines


class StreamServer:
    """Listens to several clients at once.

    Args:
        limits: on clients and their streams.
        latency: seconds from sound to line, unless a client asks for another.
        out: folder for the result of every stream: what is settled, from pass to pass, and all of
            it at the end, also where its client is gone; None: nothing is kept.
        make: gives a new diarizer for `rate`, `latency` and `uri`.

    Attributes:
        n_clients: how many are listened to.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        latency: float = LATENCY,
        out: Path | None = None,
        make: Callable[..., StreamingDiarizer] = StreamingDiarizer,
    ) -> None:
        self.limits = limits or Limits()
        self.n_clients = self._n_streams = 0
        self._latency, self._out, self._make = latency, out, make
        # More threads than cores would only wait for each other; what takes long is apart.
        self._workers = ThreadPoolExecutor(os.cpu_count() or 1, "diarize-live")
        self._settling = ThreadPoolExecutor(self.limits.clients, "diarize-settling")
        self._page = PAGE.read_bytes()
        self._over, self._last = asyncio.Event(), math.inf
        self._accepted: WeakSet[ServerConnection] = WeakSet()

    async def listen(self, host: str, port: int) -> Server:
        """Begin to listen; port 0: any that is free.

        Raises:
            InputError: websockets is not installed, or nobody can listen there.
        """
        why = "clients are heard through websockets, which is not installed"
        extra("websockets.asyncio.server", why, "serve")
        from websockets.asyncio.server import ServerConnection, serve

        def accepted(*arguments: Any, **options: Any) -> ServerConnection:
            connection = ServerConnection(*arguments, **options)
            self._accepted.add(connection)
            return connection

        try:
            return await serve(
                self._attend, host, port, process_request=self._answer, max_size=MOST_BYTES,
                max_queue=4, compression=None, close_timeout=READING, ping_timeout=None,
                create_connection=accepted,  # type: ignore[arg-type]  # a wrapper will do
            )  # fmt: skip
        except OSError as problem:
            raise InputError(f"{host}:{port}: {problem.strerror or problem}") from None

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Give the page; let nobody in whom another page sends."""
        try:
            path = urlsplit(request.path).path
            origin, host = request.headers.get("Origin"), request.headers.get("Host")
            own = origin is None or urlsplit(origin).netloc == host
        except (ValueError, LookupError):  # no address; two of a header
            return connection.respond(400, "this is no request that can be understood\n")
        if path == STREAM_PATH:
            if own:
                return None
            return connection.respond(403, f"{origin}: only the server's own page may listen\n")
        if path != "/":
            return connection.respond(404, f"{path}: there are / and {STREAM_PATH}\n")
        response = connection.respond(200, "")
        response.body = self._page
        del response.headers["Content-Length"], response.headers["Content-Type"]
        response.headers["Content-Length"] = str(len(self._page))
        response.headers["Content-Type"] = "text/html; charset=utf-8"
        response.headers["Content-Security-Policy"] = SECURITY
        return response

    async def _attend(self, connection: ServerConnection) -> None:
        """Listen to one client from beginning to end."""
        from websockets.exceptions import ConnectionClosed

        most = self.limits.clients
        if self.n_clients >= most:
            reason = f"{most} clients are listened to, and no more: try again later"
            await _refuse(connection, reason, TRY_AGAIN_LATER)
            return
        self.n_clients += 1
        self._n_streams += 1
        uri = f"stream-{time.strftime('%Y%m%d-%H%M%S')}-{self._n_streams}"
        try:
            client = await _run(self._settling, self._begin, connection.request, uri)
            try:
                with contextlib.suppress(ConnectionClosed, TimeoutError):
                    await self._converse(connection, client)
            finally:
                await self._end(connection, client)
            await _hang_up(connection)
        except InputError as problem:
            await _refuse(connection, str(problem), UNUSABLE)
        except Exception as problem:  # a full disk, say, ends this stream alone
            reason = explain(problem)[1]
            warnings.warn(f"{uri}: {reason}", RuntimeWarning, stacklevel=1)
            await _refuse(connection, reason, BROKEN)
        finally:
            self.n_clients -= 1

    def _begin(self, request: Any, uri: str) -> ClientStream:
        """Begin a stream as the address asks for it."""
        pairs = parse_qsl(urlsplit(request.path).query, keep_blank_values=True)
        asked = dict(pairs)
        numbers = {"rate": SAMPLE_RATE, "channels": 1, "latency": self._latency}
        for name in asked.keys() - {"format", *numbers}:
            raise InputError(f"{name}: not one of format, {', '.join(numbers)}")
        if len(asked) < len(pairs):
            raise InputError(f"{', '.join(name for name, _ in pairs)}: one is given twice")
        for name in asked.keys() & numbers:
            try:
                numbers[name] = float(asked[name])
            except ValueError:
                raise InputError(f"{name} {asked[name]}: not a number") from None
        channels = numbers["channels"]
        if channels not in range(1, 1025):
            raise InputError(f"channels are 1 to 1024, not {channels:g}")
        pcm = Pcm(asked.get("format", "s16"), int(channels))
        latency = numbers["latency"]
        diarizer = self._make(numbers["rate"], latency=latency, uri=uri)
        return ClientStream(diarizer, pcm, Deadlines(latency), ResultFiles(self._out))

    async def _converse(self, connection: ServerConnection, client: ClientStream) -> None:
        """Take in messages to the end, and answer with what is said."""
        told = {"stream": client.diarizer.uri, "rate": client.diarizer.rate}
        await _send(connection, [json.dumps(told)])
        while client.seconds < self.limits.seconds:
            message = await self._next(connection, client.patience)
            if message == END:
                await _send(connection, await _run(self._workers, client.take))
                return
            if isinstance(message, str):
                raise InputError(f"a message is samples, or {END!r}")
            if message is None:
                await _send(connection, await _run(self._workers, client.catch_up))
            elif client.hold(message):  # what is no work needs no thread
                await _send(connection, await _run(self._workers, client.take))
        await _send(connection, [json.dumps({"note": "the stream is as long as it may be"})])

    async def _next(self, connection: ServerConnection, seconds: float) -> str | bytes | None:
        """The next message; None: none came in time. That the server ends is an end, too.

        What had come by then is heard before that, `LAST` seconds long.
        """
        message = asyncio.ensure_future(connection.recv())
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait({message, over}, timeout=seconds, return_when="FIRST_COMPLETED")
            if over.done() and not message.done():
                await asyncio.wait({message}, timeout=AT_HAND)
            if message.done() and time.monotonic() < self._last:
                return message.result()
            return END if over.done() else None
        finally:
            message.cancel()
            over.cancel()

    async def _end(self, connection: ServerConnection, client: ClientStream) -> None:
        """Settle what was heard, whether or not somebody is still there to be told."""
        try:
            await _tell(connection, await _run(self._workers, client.end))
        finally:  # also where the last sound came to nothing
            await _tell(connection, await _run(self._settling, client.settle))

    async def close(self, listening: Server) -> None:
        """End every stream as if its client had, and listen no more."""
        listening.close(close_connections=False)
        self._last = time.monotonic() + LAST
        self._over.set()
        for connection in self._accepted:
            if connection.request is None:  # browsers connect ahead, and may ask for nothing
                connection.transport.abort()
        await listening.wait_closed()
        self._workers.shutdown()
        self._settling.shutdown()


async def _run(workers: ThreadPoolExecutor, work: Callable[..., Any], *arguments: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(workers, work, *arguments)


async def _send(connection: ServerConnection, lines: Iterable[str]) -> None:
    """Send lines to a client who reads.

    Raises:
        TimeoutError: he does not; the connection is given up.
    """
    for line in lines:
        try:
            async with asyncio.timeout(READING):
                await connection.send(line)
        except TimeoutError:
            connection.transport.abort()
            raise


async def _tell(connection: ServerConnection, lines: Iterable[str]) -> None:
    """Send lines to a client who may be gone."""
    from websockets.exceptions import ConnectionClosed

    with contextlib.suppress(ConnectionClosed, TimeoutError):
        await _send(connection, lines)


async def _refuse(connection: ServerConnection, reason: str, code: int) -> None:
    from websockets.exceptions import ConnectionClosed

    with contextlib.suppress(ConnectionClosed, TimeoutError):
        await _send(connection, [json.dumps({"error": reason})])
        await _hang_up(connection, code, reason.encode()[:MOST_REASON].decode(errors="ignore"))


async def _hang_up(connection: ServerConnection, code: int = 1000, reason: str = "") -> None:
    """Close a connection; the client's own word to that stands behind all that it has sent."""
    from websockets.exceptions import ConnectionClosed

    closing = asyncio.ensure_future(connection.close(code, reason))
    with contextlib.suppress(ConnectionClosed):
        async for _ in connection:
            pass
    await closing
