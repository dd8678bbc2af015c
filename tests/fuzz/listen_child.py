"""Runs `diarize run` on many files in one process, under a limit on memory; see test_sounds.py.

Reads paths from standard input. For each it prints the path before it starts, and a line of JSON
when it has ended: the exit code, what went to standard output and to standard error, the seconds.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

ALLOWANCE = int(sys.argv[1]) << 20  # bytes beyond what is taken before the first file
OPTIONS = sys.argv[2:]


def main() -> None:
    """Listen to one file after the other."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - to the end
    os.dup2(out.fileno(), 1)  # what C libraries print is caught as well
    os.dup2(err.fileno(), 2)
    from diarize.cli import run_command

    limited = False
    for line in sys.stdin:
        path = line.rstrip("\n")
        print(path, file=report, flush=True)
        for stream in (out, err):
            os.ftruncate(stream.fileno(), 0)
            os.lseek(stream.fileno(), 0, os.SEEK_SET)
        began = time.monotonic()
        status = run_command(["run", path, *OPTIONS])
        sys.stdout.flush()
        sys.stderr.flush()
        texts = [
            os.pread(stream.fileno(), 1 << 20, 0).decode("utf-8", "replace")
            for stream in (out, err)
        ]
        print(json.dumps([status, *texts, time.monotonic() - began]), file=report, flush=True)
        if not limited:  # the first file has loaded all that is loaded
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + ALLOWANCE, size + ALLOWANCE))
            limited = True


if __name__ == "__main__":
    main()
