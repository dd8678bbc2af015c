"""Memory, speed and latency of `diarize stream`.

    python benchmarks/streaming.py --hours 10

First a short recording is repeated for hours, each time from another place and at another level,
and fed as raw samples as fast as they are taken. After every hour of it: resident memory, and how
many times real time it went. Then 20 seconds are fed at real speed, for each latency: how long
after its sound a line came, at most and for the first line.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from diarize.audio import SAMPLE_RATE, open_recording

BUNDLED = Path(__file__).resolve().parents[1] / "egs" / "conversation.ogg"
LEVELS_DB = (-6.0, 0.0)  # each repetition's gain
ROOM = 1e-3  # of full scale, what a quiet room sounds like
MIB = 2**20
HOUR = 3600 * SAMPLE_RATE  # samples
WARM_UP = 8  # seconds of speech, and of silence after it
BLOCK = SAMPLE_RATE // 20  # samples, 50 ms, fed at a time at real speed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--audio", type=Path, default=BUNDLED, help="what is repeated")
    parser.add_argument("--silence", action="store_true", help="nobody speaks: a quiet room")
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--every", type=float, default=1.0, help="hours between two figures")
    parser.add_argument("--seconds", type=float, default=20.0, help="fed at real speed")
    parser.add_argument("--latency", type=float, action="append", help="may repeat; default: 1 2 5")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    samples = np.concatenate(list(open_recording(given.audio).blocks()))
    if given.silence:
        samples = np.random.default_rng(given.seed).normal(0, ROOM, len(samples))
    if given.hours:
        measure_hours(samples, given.hours, given.every, given.seed)
    if given.silence:
        return
    print("\nlatency  first line after  latest line after")
    for latency in given.latency or [1.0, 2.0, 5.0]:
        delays = line_delays(samples[: int(given.seconds * SAMPLE_RATE)], latency)
        print(f"{latency:5.1f} s {delays[0]:14.2f} s {max(delays):16.2f} s", flush=True)


def measure_hours(samples: np.ndarray, hours: float, every: float, seed: int) -> None:
    """Print memory and speed every so many hours, and what the last pass takes."""
    child = stream()
    assert child.stdin is not None
    threading.Thread(target=drain, args=(child,), daemon=True).start()
    total, fed, reported = int(hours * HOUR), 0, 0
    print("hour  times real time  resident MiB", flush=True)
    began = time.perf_counter()
    for block in repeated(samples, seed):
        child.stdin.write(as_bytes(block[: total - fed]))
        fed += len(block)
        if fed >= min(total, (reported + 1) * every * HOUR):
            reported += 1
            now = time.perf_counter()
            speed = min(fed, total) / SAMPLE_RATE / (now - began)
            print(
                f"{min(fed, total) / HOUR:4.2f} {speed:16.1f} {resident(child.pid) / MIB:13.0f}",
                flush=True,
            )
        if fed >= total:
            break
    child.stdin.close()
    began = time.perf_counter()
    child.wait()
    print(f"the last pass: {time.perf_counter() - began:.1f} s, exit code {child.returncode}")


def line_delays(samples: np.ndarray, latency: float) -> list[float]:
    """Seconds between the sound at which a live line begins and the line, fed at real speed."""
    child = stream("--latency", str(latency))
    assert child.stdin is not None and child.stdout is not None
    arrived: list[tuple[float, str]] = []

    def read() -> None:
        for line in child.stdout or ():
            arrived.append((time.perf_counter(), line.decode()))

    reader = threading.Thread(target=read)
    reader.start()
    # Some speech and silence first: the program has to start, and that is not measured.
    before = np.concatenate([samples[: WARM_UP * SAMPLE_RATE], np.zeros(WARM_UP * SAMPLE_RATE)])
    child.stdin.write(as_bytes(before))
    child.stdin.flush()
    n_before = -1
    while not arrived or len(arrived) > n_before:  # until it has caught up
        n_before = len(arrived)
        time.sleep(latency + 2)
    began = time.perf_counter()
    for begin in range(0, len(samples), BLOCK):
        block = samples[begin : begin + BLOCK]
        pause = began + (begin + len(block)) / SAMPLE_RATE - time.perf_counter()
        time.sleep(max(0.0, pause))
        child.stdin.write(as_bytes(block))
        child.stdin.flush()
    time.sleep(latency)  # the stream stalls: what is left is due, too
    due = time.perf_counter()
    child.stdin.close()
    reader.join()
    child.wait()
    spoken = [(when, json.loads(line)) for when, line in arrived[n_before:] if when <= due]
    return [
        when - began - (line["start"] - len(before) / SAMPLE_RATE)
        for when, line in spoken
        if line.get("final") is False
    ]


def stream(*arguments: str) -> subprocess.Popen[bytes]:
    """Start `diarize stream` on raw samples; nothing is shown of what it notes."""
    command = [sys.executable, "-m", "diarize", "stream", "--rate", str(SAMPLE_RATE), *arguments]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def repeated(samples: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Repeat a recording without an end."""
    rng = np.random.default_rng(seed)
    while True:
        turned = np.roll(samples, -rng.integers(len(samples)))
        yield turned * 10 ** (rng.uniform(*LEVELS_DB) / 20)


def as_bytes(samples: np.ndarray) -> bytes:
    """Samples as signed 16-bit integers, little-endian."""
    return (np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()


def drain(child: subprocess.Popen[bytes]) -> None:
    """Read all lines, so that the pipe never fills."""
    for _ in child.stdout or ():
        pass


def resident(pid: int, what: str = "VmRSS") -> int:
    """Bytes of memory that a process holds now, or has held at most (VmHWM; Linux)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith(f"{what}:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
