"""Speed, memory and errors of the whole line, a stage of it or all, alone or beside the peer.

    python benchmarks/pipeline.py --peer                     each stage, one hour, 1 and 2 cores
    python benchmarks/pipeline.py --stage whole --minutes 1 60 600 --backend ckm gcr
    python benchmarks/pipeline.py --stage start              from the shell to an RTTM file
    python benchmarks/pipeline.py --stage help               from the shell to `diarize --help`
    python benchmarks/pipeline.py --stage size --peer        MiB that are installed
    python benchmarks/pipeline.py --stage errors --peer --recordings FOLDER ...

The peer is silero-vad, Resemblyzer and SpectralCluster as their own loaders and defaults have them,
in an environment of its own in the work folder, on the same file and cores, one after the other.
Ratios are given of elapsed time, and of time of the processors, which a busy machine leaves alone.
Fails where a ratio is above its limit: of processor time, for the help of elapsed time.

A long recording repeats a short one, each time from another place and at another level, so that no
two windows are equal. Errors are those on folders of FLAC and RTTM files, on the same
regions of speech; the number of speakers is inferred by both; no collar, overlap scored.
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
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from diarize.activity import SileroActivity
from diarize.audio import open_recording
from diarize.batch.workers import THREADS
from diarize.formats.rttm import read_rttm, rttm_text
from diarize.pipeline import Diarizer
from diarize.scoring import Report, score_files
from diarize.scoring.report import Scores

HERE = Path(__file__).resolve().parent
BUNDLED = HERE.parent / "egs" / "conversation.ogg"
PEER = ("resemblyzer==0.1.4", "spectralcluster==0.2.22", "silero-vad==6.2.3", "setuptools<80",
        "soundfile", "torch")  # fmt: skip
EACH_LIMIT, START_LIMIT, HELP_LIMIT = 0.7, 4.0, 2.0
UNHEARD = "train/lstm-compositional"  # weights that have not heard the voices of dev-b
CLIP = 30.0  # seconds of the recording that a cold start hears
LEVELS_DB = (-6.0, 0.0)  # each repetition's gain
MIB = 2**20
HEAVY = {"librosa", "matplotlib", "numba", "pandas", "pyannote", "scipy", "sklearn", "torch"}
PARTS = ("der", "missed_detection", "false_alarm", "confusion", "jer")


def main() -> None:
    stages = {"each": each, "whole": whole, "start": start, "help": help_screen}
    stages |= {"size": size, "errors": errors}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stage", choices=stages, default="each")
    parser.add_argument("--peer", action="store_true", help="the peer too: each, size, errors")
    parser.add_argument("--audio", type=Path, default=BUNDLED, help="what is repeated")
    parser.add_argument("--minutes", type=float, nargs="+", default=[60.0])
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--backend", nargs="+", default=["ckm"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--recordings", type=Path, nargs="+", help="FLAC and RTTM, for the errors")
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--python", type=Path, help="with the peer installed; default: made anew")
    given = parser.parse_args()
    if given.peer and not given.python:
        given.python = install(given.work / "peer")
    if given.stage == "errors" and not given.recordings:
        parser.error("--stage errors needs --recordings")
    sys.exit(stages[given.stage](given))


def install(folder: Path) -> Path:
    """An environment with the peer in it."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", *PEER]
    constraints = HERE.parent / "constraints.txt"
    subprocess.run([*command, "--constraint", str(constraints)], check=True)
    return python


def each(given: argparse.Namespace) -> bool:
    """Print what each stage takes, ours and the peer's; whether ours is too much of the peer's."""
    above = False
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder, "long.flac")
        seconds = write_long(given.audio, recording, given.minutes[0] * 60, given.seed)
        for cores in given.cores:
            command = [sys.executable, str(HERE / "pipeline_ours.py"), str(recording)]
            found = {"ours": measured(command, cores)}
            if given.peer:
                peer = [str(given.python), str(HERE / "pipeline_peer.py"), "each", str(recording)]
                found["peer"] = measured([*peer, str(cores)], cores)
            print(f"\n{seconds / 60:.0f} minutes, {cores} core(s)")
            print(f"| {'':32} | seconds | of a processor | real-time factor |")
            print(f"|{'-' * 34}|---------|----------------|------------------|")
            totals = []
            for name, stages in found.items():
                totals.append([sum(times) for times in zip(*stages.values(), strict=True)])
                for stage, (wall, cpu) in [*stages.items(), ("in all", totals[-1])]:
                    label = f"{name}: {stage}"
                    print(f"| {label:32} | {wall:7.1f} | {cpu:14.1f} | {wall / seconds:16.5f} |")
            if given.peer:
                ours, peers = totals
                above |= compare(ours, peers, EACH_LIMIT)[1] > EACH_LIMIT
    return above


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


def whole(given: argparse.Namespace) -> None:
    """Print real-time factor and peak memory of `diarize run` for recordings of these lengths.

    Start-up (imports, weights) is measured on five seconds and taken off the factor.
    """
    ways = {name: ["--backend", name, "--seed", str(given.seed)] for name in given.backend}
    starts = {name: run([str(given.audio), "--end", "5", *way])[0] for name, way in ways.items()}
    print(f"{os.cpu_count()} cores\n")
    print("| minutes | backend    | start-up | seconds | rt factor | peak MiB | speakers |")
    print("|---------|------------|----------|---------|-----------|----------|----------|")
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder, "long.flac")
        for minutes in given.minutes:
            seconds = write_long(given.audio, recording, minutes * 60, given.seed)
            for name, way in ways.items():
                took, memory, speakers = run([str(recording), *way])
                factor = (took - starts[name]) / seconds
                print(
                    f"| {minutes:7g} | {name:10} | {starts[name]:8.1f} | {took:7.1f} "
                    f"| {factor:9.4f} | {memory / MIB:8.0f} | {speakers:8} |",
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


def start(given: argparse.Namespace) -> bool:
    """Print what a short clip takes from the shell to its RTTM; whether it is too long."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "out.rttm"))
        clip = ["-m", "diarize", "run", str(given.audio), "--end", str(CLIP), "--out", out]
        commands = {"import torch": ["-c", "import torch"], f"{CLIP:.0f} s to RTTM": clip}
        _, cpu = timed(commands, 5, START_LIMIT)
    return cpu > START_LIMIT


def help_screen(given: argparse.Namespace) -> bool:
    """Print what `diarize --help` takes against what its screen is made of; whether too long.

    Also too long is the import of any heavy library.
    """
    screen = ["-m", "diarize", "--help"]
    command = [sys.executable, "-X", "importtime", *screen]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    imports = [line for line in said.splitlines() if line.startswith("import time:")]
    heavy = HEAVY & {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in imports}
    peer = ["-c", "import typer, rich.console"]
    commands = {"import typer, rich.console": peer, "diarize --help": screen}
    wall, _ = timed(commands, 15, HELP_LIMIT)
    print(f"heavy imports: {', '.join(sorted(heavy)) or 'none'}")
    return bool(heavy) or wall > HELP_LIMIT


def size(given: argparse.Namespace) -> None:
    """Print what is installed: with the wheel of an installation that is not editable."""
    print("| | installed MiB | of it torch |\n|---|---|---|")
    wanted: dict[str, tuple[str, Sequence[str]]] = {"ours": (sys.executable, ["diarize-sets"])}
    if given.peer:
        names = [name.partition("==")[0].partition("<")[0] for name in PEER if name != "torch"]
        wanted["peer"] = str(given.python), names
    for name, (python, distributions) in wanted.items():
        command = [python, str(HERE / "pipeline_size.py"), *distributions]
        found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        print(f"| {name} | {found['MiB']:.0f} | {found['torch']:.0f} |")


def timed(commands: Mapping[str, Sequence[str]], rounds: int, limit: float) -> list[float]:
    """Print the median seconds of two interpreters; the second by the first, elapsed and CPU."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):  # in turn, so that a busy moment meets both
        for name, command in commands.items():
            times[name].append(seconds_of(command))
    medians = [[statistics.median(column) for column in zip(*taken, strict=True)]
               for taken in times.values()]  # fmt: skip
    print("| | seconds | of a processor |\n|---|---|---|")
    for name, (wall, cpu) in zip(times, medians, strict=True):
        print(f"| {name} | {wall:.2f} | {cpu:.2f} |")
    peer, own = medians
    return compare(own, peer, limit)


def compare(own: Sequence[float], peer: Sequence[float], limit: float) -> list[float]:
    """Print our seconds by the peer's, elapsed and of processors; returns both ratios."""
    wall, cpu = (a / b for a, b in zip(own, peer, strict=True))
    print(f"\nratio: {wall:.2f} of elapsed, {cpu:.2f} of processor time (limit {limit})\n")
    return [wall, cpu]


def seconds_of(arguments: Sequence[str]) -> tuple[float, float]:
    """Seconds of an interpreter from its start to its end: elapsed, and of the processors."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    silent = subprocess.DEVNULL
    subprocess.run([sys.executable, *arguments], stdout=silent, stderr=silent, check=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu


def errors(given: argparse.Namespace) -> None:
    """Print the errors of both on folders; the RTTM files go to the work folder."""
    scores = {folder.name: errors_in(folder, given) for folder in given.recordings}
    print("| recordings | system |", " | ".join(PARTS), "| count error |")
    print("|---|---|" + "---|" * (len(PARTS) + 1))
    for name, systems in scores.items():
        for system, score in systems.items():
            cells = " | ".join(f"{value:.1f}" for value in percent(score.total))
            print(f"| {name} | {system} | {cells} | {score.total.speaker_count_error:.2f} |")
    if given.peer:
        for systems in scores.values():
            compare_errors(systems["ours"].files, systems["peer"].files)


def errors_in(folder: Path, given: argparse.Namespace) -> dict[str, Report]:
    """The errors of each system on the recordings of a folder."""
    recordings = sorted(folder.glob("*.flac"))
    if not recordings:
        sys.exit(f"{folder}: no FLAC files")
    references = {k: a for p in recordings for k, a in read_rttm(p.with_suffix(".rttm")).items()}
    listing, hypotheses = given.work / "regions.json", given.work / "peer-rttm"
    hypotheses.mkdir(parents=True, exist_ok=True)
    activity = SileroActivity()
    regions = {path: activity(open_recording(path)) for path in recordings}
    found: dict[str, dict[str, Any]] = {"ours": {}}
    for path in recordings:
        diarizer = Diarizer(backend=given.backend[0], model=UNHEARD, activity=regions[path])
        heard = diarizer(path)
        (given.work / f"{path.stem}.rttm").write_text(rttm_text(heard))
        found["ours"][path.stem] = heard
    if given.peer:
        content = [
            {"audio": str(path.resolve()), "uri": path.stem, "regions": regions[path].tolist()}
            for path in recordings
        ]
        listing.write_text(json.dumps(content))
        script = [str(given.python), str(HERE / "pipeline_peer.py"), "errors"]
        subprocess.run([*script, str(listing), str(hypotheses)], check=True)
        found["peer"] = {
            path.stem: read_rttm(hypotheses / f"{path.stem}.rttm")[path.stem] for path in recordings
        }
    return {name: score_files(references, heard) for name, heard in found.items()}


def compare_errors(ours: Mapping[str, Scores], peer: Mapping[str, Scores]) -> None:
    """Print what decides each recording."""
    print("\n| recording | ours | peer | ours - peer: missed, false alarm, confusion |")
    print("|---|---|---|---|")
    wins = 0
    for uri, scored in ours.items():
        mine, theirs = percent(scored), percent(peer[uri])
        wins += mine[0] < theirs[0]
        parts = ", ".join(f"{a - b:+.1f}" for a, b in zip(mine[1:4], theirs[1:4], strict=True))
        print(f"| {uri} | {mine[0]:.1f} | {theirs[0]:.1f} | {parts} |")
    print(f"\nOurs has the lower DER in {wins} of {len(ours)}.")


def percent(scores: Scores) -> list[float]:
    """The parts in percent; what is undefined (no speech at all) counts as zero."""
    return [100 * (getattr(scores, part) or 0.0) for part in PARTS]


if __name__ == "__main__":
    main()
