"""NIST's md-eval as a peer: random conversations for it, and what it says of many at once."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np

# Debian's package sctk puts it where no PATH leads.
MD_EVAL = shutil.which("md-eval.pl", path="/usr/lib/sctk/bin:/usr/bin:/usr/local/bin")
NEEDS_MD_EVAL = "md-eval.pl is not installed (Debian package sctk)"
_TIMES = {
    "reference": "SCORED SPEAKER TIME",
    "missed_detection": "MISSED SPEAKER TIME",
    "false_alarm": "FALARM SPEAKER TIME",
    "confusion": "SPEAKER ERROR TIME",
}

Turns = list[tuple[str, int, int]]  # speaker, start, end in milliseconds


class Case(NamedTuple):
    """A recording: true and inferred turns, and the regions to score."""

    reference: Turns
    hypothesis: Turns
    regions: list[tuple[int, int]]


def draw_case(generator: np.random.Generator, *, empty_turns: bool, odd_regions: bool) -> Case:
    """Draw a conversation of minutes, and a hypothesis that is wrong in many ways.

    Args:
        generator: of random numbers.
        empty_turns: whether the reference may have turns without length.
        odd_regions: whether no region begins or ends where a turn does, and no overlap where
            another does: there md-eval loses count when it leaves overlap out.
    """
    end = int(generator.integers(200_000, 400_000))
    speakers = [f"ref{n}" for n in range(generator.integers(1, 6))]
    reference = _apart(_conversation(generator, speakers, end))
    kind = generator.integers(4)
    if kind == 0:  # nothing to do with the reference
        names = [f"sys{n}" for n in range(generator.integers(1, 7))]
        hypothesis = _conversation(generator, names, end)
    else:  # the reference, with boundaries moved, turns left out, given away and added
        jitter = (0, 200, 2_000)[generator.integers(3)]
        names = [f"sys{n}" for n in range(generator.integers(1, len(speakers) + 2))]
        hypothesis = []
        for speaker, start, stop in reference:
            if generator.random() < 0.1:
                continue
            name = names[int(speaker.removeprefix("ref")) % len(names)]
            if generator.random() < 0.15:
                name = names[generator.integers(len(names))]
            first, last = sorted(
                max(0, t + int(generator.integers(-jitter, jitter + 1))) for t in (start, stop)
            )
            hypothesis.append((name, first, last))
        hypothesis += _conversation(generator, names, end)[: generator.integers(4)]
    if empty_turns:
        reference += [(speakers[0], t, t) for t in generator.integers(0, end, 2).tolist()]
    hypothesis += [(names[0], t, t) for t in generator.integers(0, end, 2).tolist()]
    if odd_regions:
        reference = _without_touching_overlaps(reference)
    edges = sorted({t for _, *times in reference for t in times} | {0, end})
    regions = [(0, end + 5_000)]
    if generator.random() < 0.7:
        choices = np.arange(1, end, 7) if odd_regions else np.array(edges)
        count = 2 * int(generator.integers(1, 6))
        cuts = sorted({int(t) for t in generator.choice(choices, count)})
        regions = list(zip(cuts[::2], cuts[1::2], strict=False)) or regions
    if odd_regions:
        taken = {t for _, *times in reference for t in times}
        regions = [(_beside(start, taken), _beside(stop, taken)) for start, stop in regions]
        regions = [(start, stop) for start, stop in regions if start < stop]
    return Case(reference, hypothesis, regions or [(0, end + 5_000)])


def _conversation(generator: np.random.Generator, names: list[str], end: int) -> Turns:
    """Turns with pauses, overlap, and boundaries that touch."""
    turns, now = [], int(generator.integers(0, 5_000))
    while now < end:
        name = names[generator.integers(len(names))]
        length = int(generator.choice([1, 500, 5_000, 20_000, 40_000]) * (1 + generator.random()))
        turns.append((name, now, now + length))
        move = generator.random()
        if move < 0.3:
            now += length  # the next turn touches this one
        elif move < 0.6:
            now = max(0, now + length - int(generator.integers(0, 3_000)))  # or overlaps it
        else:
            now += length + int(generator.integers(0, 6_000))
    return turns


def _apart(turns: Turns) -> Turns:
    """The turns that overlap no earlier turn of the same speaker."""
    kept: Turns = []
    for name, start, end in turns:
        if all(name != other or end <= s or start >= e for other, s, e in kept):
            kept.append((name, start, end))
    return kept


def _without_touching_overlaps(turns: Turns) -> Turns:
    """The turns but those that begin, below another turn, exactly where a third one ends."""
    ends = {end for _, _, end in turns}
    return [
        turn
        for turn in turns
        if turn[1] not in ends or not any(start < turn[1] < end for _, start, end in turns)
    ]


def _beside(time: int, taken: set[int]) -> int:
    while time in taken:
        time += 1
    return time


def rttm(cases: dict[str, Turns]) -> str:
    """The turns of recordings as RTTM, those without length too."""
    return "".join(
        f"SPEAKER {uri} 1 {start / 1000:.3f} {(end - start) / 1000:.3f} <NA> <NA> {who} <NA> <NA>\n"
        for uri, turns in cases.items()
        for who, start, end in turns
    )


def uem(cases: dict[str, list[tuple[int, int]]]) -> str:
    """The regions of recordings as UEM."""
    return "".join(
        f"{uri} 1 {start / 1000:.3f} {end / 1000:.3f}\n"
        for uri, regions in cases.items()
        for start, end in regions
    )


def md_eval(folder: Path, *options: str) -> dict[str, dict[str, float]]:
    """What md-eval says of ref.rttm, sys.rttm and, where there is one, all.uem of a folder.

    Returns:
        By recording, seconds of reference speech and of each error, and `der` as a fraction.
    """
    command = [str(MD_EVAL), "-af", "-r", "ref.rttm", "-s", "sys.rttm", *options]
    if (folder / "all.uem").exists():
        command += ["-u", "all.uem"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found = {}
    for part in done.stdout.split("*** Performance analysis for Speaker Diarization for f=")[1:]:
        times = {}
        for name, title in _TIMES.items():
            match = re.search(rf"{title} = *([0-9.]+) secs", part)
            assert match, part
            times[name] = float(match[1])
        match = re.search(r"OVERALL SPEAKER DIARIZATION ERROR = ([0-9.]+) percent", part)
        assert match, part
        found[part.split()[0]] = times | {"der": float(match[1]) / 100}
    return found
