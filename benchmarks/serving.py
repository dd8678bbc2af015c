"""How late the lines of `diarize serve` are, in real time, with one client and with eight.

    python benchmarks/serving.py --clients 1 --clients 8 --seconds 300

A server with `--refine 30` is fed a recording over websockets at the speed of speech, to each
client from another place on. A line's delay counts from the sound with which it begins to its
arrival. Beside it: how late the clients themselves woke up to send, which is what the machine was
good for meanwhile; the server's peak memory; and what one client more than eight was told.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from streaming import BLOCK, BUNDLED, MIB, as_bytes, resident
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from diarize.audio import SAMPLE_RATE, open_recording

PERCENTILES = (50, 90, 99, 100)


@dataclass
class Delays:
    """Seconds, of all clients together."""

    lines: list[float] = field(default_factory=list)
    begins: list[float] = field(default_factory=list)  # of these lines
    sending: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--audio", type=Path, default=BUNDLED, help="what is repeated")
    parser.add_argument("--clients", type=int, action="append", help="may repeat; default: 1 8")
    parser.add_argument("--seconds", type=float, default=300.0, help="to each client")
    parser.add_argument("--latency", type=float, default=2.0)
    parser.add_argument("--refine", type=float, default=30.0)
    given = parser.parse_args()
    samples = np.concatenate(list(open_recording(given.audio).blocks()))
    print(f"delays in seconds at {' '.join(f'{p} %' for p in PERCENTILES)}")
    for clients in given.clients or [1, 8]:
        measure(samples, clients, given.seconds, given.latency, given.refine)


def measure(
    samples: np.ndarray, clients: int, seconds: float, latency: float, refine: float
) -> None:
    """Print how late so many clients were told."""
    options = ["--port", "0", "--latency", str(latency), "--refine", str(refine)]
    command = [sys.executable, "-m", "diarize", "serve", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"ws://\S+", server.stderr.readline())
        assert found is not None
        delays = Delays()
        try:
            asyncio.run(attend(found[0], samples, clients, seconds, delays))
            peak, busy = resident(server.pid, "VmHWM") / MIB, cpu_seconds(server.pid) / seconds
        finally:
            server.terminate()
    print(f"{clients} clients: lines {shown(delays.lines)}; sending {shown(delays.sending)}")
    latest = delays.begins[int(np.argmax(delays.lines))] if delays.lines else 0.0
    share = late(delays, latency)
    print(f"  the latest one at {latest:.0f} s; {share:.1%} came after {latency:g} s")
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"  {busy:.2f} cores were busy with it; peak {peak:.0f} MiB; {load}")


async def attend(
    address: str, samples: np.ndarray, clients: int, seconds: float, delays: Delays
) -> None:
    """Let all clients talk at once, and another one knock where there are eight."""
    turned = [np.roll(samples, -i * len(samples) // clients) for i in range(clients)]
    talks = [
        talk(address, as_bytes(np.resize(x, int(seconds * SAMPLE_RATE))), delays) for x in turned
    ]
    if clients == 8:
        talks.append(knock(address, seconds / 2))
    await asyncio.gather(*talks)


async def talk(address: str, data: bytes, delays: Delays) -> None:
    """Send sound as it is spoken, and note when lines come."""
    async with connect(address, compression=None, proxy=None, max_queue=None) as client:
        await client.recv()
        began = time.monotonic()
        reader = asyncio.create_task(read(client, began, delays))
        for begin in range(0, len(data), 2 * BLOCK):
            block = data[begin : begin + 2 * BLOCK]
            due = began + (begin + len(block)) / 2 / SAMPLE_RATE
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            delays.sending.append(time.monotonic() - due)
            await client.send(block)
        await client.send("end")
        await reader


async def read(client: ClientConnection, began: float, delays: Delays) -> None:
    try:
        while True:
            line = json.loads(await client.recv())
            if line.get("final") is False:
                delays.lines.append(time.monotonic() - began - line["start"])
                delays.begins.append(line["start"])
    except ConnectionClosed:
        return


async def knock(address: str, after: float) -> None:
    await asyncio.sleep(after)
    async with connect(address, compression=None, proxy=None) as client:
        print("the ninth is told:", await client.recv())


def late(delays: Delays, latency: float) -> float:
    """Share of lines that came later than was promised."""
    return float(np.mean(np.array(delays.lines) > latency)) if delays.lines else 0.0


def shown(values: list[float]) -> str:
    return " ".join(f"{np.percentile(values, p):.2f}" for p in PERCENTILES) if values else "none"


def cpu_seconds(pid: int) -> float:
    """Seconds of a core that a process has taken (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
