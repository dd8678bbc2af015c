"""Several recordings at once: threads against processes, after both have begun.

    python benchmarks/jobs.py FILE... [--jobs 2] [--rounds 3]

Each pool loads the model in every worker and hears one file there before the clock starts; then all
files are heard. The rounds alternate, so that a busy moment meets both.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache

from diarize import Diarizer
from diarize.batch.workers import THREADS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    with (
        ThreadPoolExecutor(1) as one,
        ThreadPoolExecutor(given.jobs) as threads,
        ProcessPoolExecutor(given.jobs, mp_context=spawn) as processes,
    ):
        pools = {"one after the other": one, "threads": threads, "processes": processes}
        for pool in pools.values():
            heard_in(pool, given.files[:1] * given.jobs)
        times: dict[str, list[float]] = {name: [] for name in pools}
        for _ in range(given.rounds):
            for name, pool in pools.items():
                times[name].append(heard_in(pool, given.files))
    alone = statistics.median(times["one after the other"])
    for name, seconds in times.items():
        median = statistics.median(seconds)
        print(f"{name:20} {median:7.1f} s   {alone / median:5.2f} times as fast")


def heard_in(pool: Executor, files: list[str]) -> float:
    """Seconds in which a pool hears all files."""
    begin = time.perf_counter()
    list(pool.map(hear, files))
    return time.perf_counter() - begin


def hear(path: str) -> int:
    """Diarize a file; how many turns there are."""
    return len(diarizer()(path))


@cache
def diarizer() -> Diarizer:
    """The one of this process; threads share it."""
    return Diarizer()


if __name__ == "__main__":
    os.environ.update(dict.fromkeys(THREADS, "1"))  # as `diarize run -j` does
    main()
