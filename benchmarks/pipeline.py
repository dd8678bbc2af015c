"""Speed of the whole line: by stage against a peer, cold start, memory by length.

    python benchmarks/pipeline.py                            stages, one hour, 1 and 2 cores
    python benchmarks/pipeline.py --part start               from the shell to an RTTM file
    python benchmarks/pipeline.py --part memory --minutes 1 --minutes 60 --minutes 600

The peer is silero-vad, Resemblyzer and SpectralCluster as their own loaders and defaults have them,
in an environment of its own in the work folder, on the same file and cores, one after the other.
Ratios are given of elapsed time, and of time of the processors, which a busy machine leaves alone.
Fails where a ratio of processor time is above its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from long_recording import BUNDLED, MIB, run, write_long
from peer import install

from diarize.batch.workers import THREADS

HERE = Path(__file__).resolve().parent
SILERO = "silero-vad==6.2.3"
STAGES_LIMIT, START_LIMIT = 0.4, 4.0
ROUNDS = 5
CLIP = 30.0  # seconds of the recording that a cold start hears


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", choices=("stages", "start", "memory"), default="stages")
    parser.add_argument("--audio", type=Path, default=BUNDLED, help="what is repeated")
    parser.add_argument("--minutes", type=float, action="append", help="may repeat; default: 60")
    parser.add_argument("--cores", type=int, action="append", help="may repeat; default: 1 and 2")
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--python", type=Path, help="with the peer installed; default: made anew")
    given = parser.parse_args()
    minutes = given.minutes or [60.0]
    if given.part == "start":
        sys.exit(start(given.audio))
    with tempfile.TemporaryDirectory() as folder:
        if given.part == "memory":
            memory(given.audio, minutes, Path(folder))
            return
        python = given.python or install_peer(given.work)
        recording = Path(folder, "long.flac")
        seconds = write_long(given.audio, recording, minutes[0] * 60, seed=0)
        ratios = [stages(python, recording, seconds, n) for n in given.cores or [1, 2]]
    sys.exit(max(ratios) > STAGES_LIMIT)


def install_peer(work: Path) -> Path:
    """An environment with the peer and the detector in it."""
    python = install(work / "peer")
    constraints = HERE.parent / "constraints.txt"
    command = [str(python), "-m", "pip", "install", "--quiet", SILERO]
    subprocess.run([*command, "--constraint", str(constraints)], check=True)
    return python


def stages(python: Path, recording: Path, seconds: float, cores: int) -> float:
    """Print what each stage takes, ours and the peer's; returns the ratio of processor time."""
    ours = measured([sys.executable, str(HERE / "pipeline_stages.py"), str(recording)], cores)
    command = [str(python), str(HERE / "pipeline_peer.py"), str(recording), str(cores)]
    peer = measured(command, cores)
    print(f"\n{seconds / 60:.0f} minutes, {cores} core(s)")
    print(f"| {'':32} | seconds | of a processor | real-time factor |")
    print(f"|{'-' * 34}|---------|----------------|------------------|")
    totals = []
    for name, found in (("ours", ours), ("peer", peer)):
        total = [sum(times) for times in zip(*found.values(), strict=True)]
        totals.append(total)
        for stage, (wall, cpu) in [*found.items(), ("in all", total)]:
            label = f"{name}: {stage}"
            print(f"| {label:32} | {wall:7.1f} | {cpu:14.1f} | {wall / seconds:16.5f} |")
    wall, cpu = (mine / theirs for mine, theirs in zip(*totals, strict=True))
    print(f"ratio: {wall:.2f} of elapsed, {cpu:.2f} of processor time (limit {STAGES_LIMIT})")
    return cpu


def measured(command: Sequence[str], cores: int) -> dict[str, Any]:
    """The stages that a script tells, on so many cores."""

    def confine() -> None:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])

    threads = dict.fromkeys(THREADS, str(cores))
    environment = os.environ | threads | {"OMP_WAIT_POLICY": "passive"}  # as `diarize` sets it
    result = subprocess.run(
        command, env=environment, preexec_fn=confine, capture_output=True, text=True, check=False
    )
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{result.stderr}")
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])["stages"]
    return found


def start(audio: Path) -> bool:
    """Print what a short clip takes from the shell to its RTTM; whether it is too long."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "out.rttm"))
        clip = ["-m", "diarize", "run", str(audio), "--end", str(CLIP), "--out", out]
        commands = {"import torch": ["-c", "import torch"], "30 s to RTTM": clip}
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(ROUNDS):  # in turn, so that a busy moment meets both
            for name, command in commands.items():
                times[name].append(seconds_of(command))
    medians = [
        [statistics.median(column) for column in zip(*taken, strict=True)]
        for taken in times.values()
    ]
    for name, (wall, cpu) in zip(times, medians, strict=True):
        print(f"{name:14} {wall:6.2f} s elapsed   {cpu:6.2f} s of a processor")
    wall, cpu = (own / peer for peer, own in zip(*medians, strict=True))
    print(f"ratio          {wall:6.2f} elapsed     {cpu:6.2f} (limit {START_LIMIT})")
    return cpu > START_LIMIT


def seconds_of(arguments: Sequence[str]) -> tuple[float, float]:
    """Seconds of an interpreter from its start to its end: elapsed, and of the processors."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], stderr=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu


def memory(audio: Path, lengths: Sequence[float], folder: Path) -> None:
    """Print the peak memory of `diarize run` for recordings of these lengths, in minutes."""
    print("| minutes | seconds | peak MiB |\n|---------|---------|----------|")
    for length in lengths:
        recording = folder / "long.flac"
        write_long(audio, recording, length * 60, seed=0)
        took, peak, _ = run([str(recording)])
        print(f"| {length:7.0f} | {took:7.1f} | {peak / MIB:8.0f} |", flush=True)


if __name__ == "__main__":
    main()
