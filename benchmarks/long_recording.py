"""Real-time factor and peak memory of `diarize run` on a recording of many hours.

    python benchmarks/long_recording.py --hours 1 --backend ckm --backend gcr

The recording repeats a short one, each time from another place and at another level, so that no
two windows are equal. Start-up (imports, weights) is measured on five seconds and taken off.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile

BUNDLED = Path(__file__).resolve().parents[1] / "egs" / "conversation.ogg"
LEVELS_DB = (-6.0, 0.0)  # each repetition's gain
MIB = 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--audio", type=Path, default=BUNDLED, help="what is repeated")
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--backend", action="append", help="may repeat; default: ckm")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder, "long.flac")
        seconds = write_long(given.audio, recording, given.hours * 3600, given.seed)
        print(f"{seconds / 3600:.2f} hours, {os.cpu_count()} cores")
        print(
            f"{'backend':10} {'start-up':>9} {'seconds':>9} {'rt factor':>9} {'MiB':>6}  speakers"
        )
        for backend in given.backend or ["ckm"]:
            options = ["--backend", backend, "--seed", str(given.seed)]
            start_up, _, _ = run([str(given.audio), "--end", "5", *options])
            took, memory, speakers = run([str(recording), *options])
            factor = (took - start_up) / seconds
            print(
                f"{backend:10} {start_up:9.1f} {took:9.1f} {factor:9.4f} {memory / MIB:6.0f}  "
                f"{speakers}",
                flush=True,
            )


def write_long(source: Path, target: Path, seconds: float, seed: int) -> float:
    """Repeat `source` until there are `seconds`, a repetition at a time; returns the length."""
    rng = np.random.default_rng(seed)
    samples, rate = soundfile.read(source, dtype="float32", always_2d=True)
    missing = total = round(seconds * rate)
    with soundfile.SoundFile(target, "w", rate, samples.shape[1], "PCM_16") as output:
        while missing > 0:
            turned = np.roll(samples, -rng.integers(len(samples)), axis=0)
            output.write((turned * 10 ** (rng.uniform(*LEVELS_DB) / 20))[:missing])
            missing -= len(samples)
    return total / rate


def run(arguments: list[str]) -> tuple[float, int, int]:
    """Run `diarize run`; returns seconds, peak resident bytes and the number of speakers."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as messages:
        start = time.perf_counter()
        command = [sys.executable, "-m", "diarize", "run", *arguments]
        child = subprocess.Popen(command, stdout=output, stderr=messages)
        _, status, usage = os.wait4(child.pid, 0)  # the usage of this child alone
        took = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            messages.seek(0)
            sys.exit(f"{' '.join(command)}: exit code {child.returncode}\n{messages.read()}")
        output.seek(0)
        speakers = {line.split()[7] for line in output}
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return took, usage.ru_maxrss * unit, len(speakers)


if __name__ == "__main__":
    main()
