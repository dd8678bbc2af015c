"""`diarize serve`: who speaks, told to programs and browsers while they send sound."""

from __future__ import annotations

import asyncio
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from diarize.cli.options import (
    DeviceOption,
    ModelOption,
    RefineOption,
    SeedOption,
    count,
    option,
    seconds,
)
from diarize.storage.weights import DEFAULT_MODEL

if TYPE_CHECKING:
    from diarize.streaming.server import StreamServer


SWITCH = 0.0005  # seconds for which a thread holds the interpreter where another waits for it


def serve(
    host: str = option(
        "127.0.0.1", "ADDRESS", "Where to listen; by default, this machine alone is heard."
    ),
    port: int = option(8765, "PORT", "0: any that is free.", min=0, max=65_535),
    clients: int = count(8, "How many are listened to at a time.", max=1024),
    longest: float = option(
        36_000.0, "SECONDS", "Of one stream, at most; then it is settled.", min=1.0
    ),
    latency: float = seconds(
        2.0,
        "From sound to line, at most, unless a client asks for another.",
        least=0.5,
        max=60.0,
    ),
    refine: RefineOption = None,
    out: Path | None = option(
        None,
        "DIR",
        "Keep the final result of each stream as RTTM, also where its client is gone; until then "
        "what is settled.",
        show_default="kept nowhere",
    ),
    model: ModelOption = DEFAULT_MODEL,
    device: DeviceOption = "auto",
    seed: SeedOption = 0,
) -> None:
    """Listen to several clients at once, and say who speaks.

    A websocket takes raw samples and gives lines as `diarize stream` prints them; with a browser
    there is a page that listens to the microphone, or plays a file. Ctrl-C or SIGTERM ends the
    server: what was heard until then is settled, told and written.
    """
    from diarize.storage.files import require_folder
    from diarize.streaming import StreamingDiarizer
    from diarize.streaming.server import Limits, StreamServer
    from diarize.threads import one_blas_thread, one_thread

    if out is not None:
        require_folder(out)
    make = partial(StreamingDiarizer, refine=refine, model=model, device=device, seed=seed)
    make(latency=latency)  # so that what cannot be used is refused now
    limits = Limits(clients=clients, seconds=longest)
    # Threads hold the interpreter for 5 ms as Python has it; for each message the loop that hands
    # them out would wait for several of them, and with eight clients fall behind.
    sys.setswitchinterval(SWITCH)
    with one_thread(), one_blas_thread():  # clients have a thread each, and share the cores
        asyncio.run(_listen(StreamServer(limits, latency, out, make), host, port))


async def _listen(server: StreamServer, host: str, port: int) -> None:
    """Listen until a signal comes; then end every stream as if its client had."""
    from diarize.cli.messages import note

    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    listening = await server.listen(host, port)
    found = listening.sockets[0].getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    note(f"http://{shown}:{found}/ is the page, ws://{shown}:{found}/stream takes samples")
    await over.wait()
    await server.close(listening)
