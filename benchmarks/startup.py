"""How long `diarize --help` takes, as a ratio to importing what its screen is made of.

    python benchmarks/startup.py

Fails when a heavy library is imported, or when the ratio is above `LIMIT`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

HEAVY = ("librosa", "matplotlib", "numba", "pandas", "pyannote", "scipy", "sklearn", "torch")
HELP = ["-m", "diarize", "--help"]
PEER = ["-c", "import typer, rich.console"]
ROUNDS = 15
LIMIT = 2.0


def main() -> None:
    heavy = sorted(imported() & set(HEAVY))
    times: dict[str, list[float]] = {"help": [], "peer": []}
    for _ in range(ROUNDS):  # in turn, so that a busy moment meets both
        times["help"].append(seconds(HELP))
        times["peer"].append(seconds(PEER))
    own, peer = (statistics.median(times[name]) for name in ("help", "peer"))
    print(f"diarize --help              {own:6.3f} s")
    print(f"import typer, rich.console  {peer:6.3f} s")
    print(f"ratio                       {own / peer:6.2f}   (limit {LIMIT})")
    print(f"heavy imports               {', '.join(heavy) or 'none'}")
    if heavy or own > LIMIT * peer:
        sys.exit(1)


def imported() -> set[str]:
    """The top-level packages that `diarize --help` imports."""
    result = subprocess.run(
        [sys.executable, "-X", "importtime", *HELP], capture_output=True, text=True, check=True
    )
    lines = [line for line in result.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in lines}


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
