"""Draw trials: whose voices, in which sets, out of which excerpts; and the sound of a row.

A trial has 5 speakers of one pool of corpora and the same number of rows of every set of up to d
of them. A row is 2 s: one excerpt of each speaker of its set, all at one level, averaged.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.mixing.speech import find_utterances
from diarize.mixing.voices import Voices, collect_voices
from diarize.storage.files import atomic_output

SPEAKERS = 5
SECONDS = 2.0
EXCERPT = round(SECONDS * SAMPLE_RATE)  # samples
LEVEL = 0.05  # root mean square of each excerpt


def pooled_voices(speech: Path, split: str, pool: Sequence[str]) -> Voices:
    """The speech, without pauses, of the speakers of one split in corpora that begin so."""
    utterances = find_utterances(speech, split)
    chosen = [u for u in utterances if u.corpus.startswith(tuple(pool))]
    if len({u.speaker for u in chosen}) < SPEAKERS:
        raise InputError(f"{speech}: fewer than {SPEAKERS} speakers of {split} in {' '.join(pool)}")
    return collect_voices(chosen, speeds=(1.0,))


def draw_groups(n_voices: int, count: int, rng: np.random.Generator) -> list[list[int]]:
    """`count` different groups of speakers, each time out of those who have been drawn least."""
    used = np.zeros(n_voices, np.int64)
    groups: list[list[int]] = []
    for _ in range(count):
        for _ in range(100):  # with few speakers the first draws may all have been there
            group = np.argsort(used + rng.random(n_voices))[:SPEAKERS].tolist()
            if sorted(group) not in [sorted(other) for other in groups]:
                break
        used[group] += 1
        groups.append(group)
    return groups


def draw_rows(
    lengths: Sequence[int], n: int, d: int, rng: np.random.Generator
) -> tuple[list[list[int]], list[list[int]]]:
    """Sets of n rows, as often each, and where the excerpt of each of their speakers begins.

    A speaker's excerpts begin evenly over his speech, so that all of it is heard as often.
    """
    kinds = [list(c) for size in range(1, d + 1) for c in combinations(range(SPEAKERS), size)]
    if n % len(kinds):
        raise InputError(f"n = {n} is no multiple of the {len(kinds)} sets of up to {d}")
    sets = [kinds[i] for i in rng.permutation(np.arange(n) % len(kinds))]
    heard = Counter(speaker for row in sets for speaker in row)
    begins = []
    for speaker, length in enumerate(lengths):
        m = heard[speaker]
        places = (np.arange(m) + rng.random(m)) / m * max(0, length - EXCERPT)
        begins.append(iter(rng.permutation(places).astype(int).tolist()))
    return sets, [[next(begins[speaker]) for speaker in row] for row in sets]


def mix(
    voices: Voices, speakers: Sequence[int], sets: list[list[int]], begins: list[list[int]]
) -> np.ndarray:
    """The sound of rows, shape (rows, 32000)."""
    rows = np.zeros((len(sets), EXCERPT), np.float32)
    for sound, row, starts in zip(rows, sets, begins, strict=True):
        for speaker, start in zip(row, starts, strict=True):
            first = voices.starts[speakers[speaker]] + start
            last = min(first + EXCERPT, voices.ends[speakers[speaker]])
            excerpt = np.resize(voices.samples[first:last], EXCERPT).astype(np.float32)
            sound += excerpt * np.float32(LEVEL / max(float(excerpt.std()), 1e-4) / len(row))
    return rows


def write_plan(path: Path, plan: str) -> None:
    """Write a plan; vectors and results beside it are of the one that is there already.

    Raises:
        InputError: that is another.
    """
    if path.exists() and path.read_text() != plan:
        raise InputError(f"{path}: of other voices, or another seed or number; use another WORK")
    with atomic_output(path, "w") as file:
        file.write(plan)


def main() -> None:
    """Write the plan of each trial as JSON, and print how much speech lies under each size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("speech", type=Path)
    parser.add_argument("out", type=Path, help="WORK/valid or WORK/test")
    parser.add_argument("--split", required=True)
    parser.add_argument("--pool", required=True, nargs="+")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--sizes", nargs="+", required=True, metavar="D:N")
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    voices = pooled_voices(a.speech, a.split, a.pool)
    lengths = voices.ends - voices.starts
    # Every size has the same groups of speakers.
    groups = draw_groups(len(voices), a.trials, np.random.default_rng([a.seed, a.trials]))
    minutes = lengths.sum() / SAMPLE_RATE / 60
    most = max(Counter(voice for group in groups for voice in group).values())
    print(
        f"{a.split}: {len(voices)} speakers, {minutes:.1f} minutes of speech without pauses; "
        f"a speaker is in at most {most} of {a.trials} trials.\n"
    )
    print("| d | n | distinct speech per trial (s) | excerpts per trial (s) | each second heard |")
    print("|---|---|---|---|---|")
    for size in a.sizes:
        d, n = map(int, size.split(":"))
        folder = a.out / f"d{d}_n{n}"
        folder.mkdir(parents=True, exist_ok=True)
        distinct = []
        for trial, group in enumerate(groups):
            rng = np.random.default_rng([a.seed, d, n, trial])
            sets, begins = draw_rows(lengths[group], n, d, rng)
            plan = {
                "sets": sets,
                "speakers": voices.speakers[group].tolist(),
                "begins": begins,
            }
            write_plan(folder / f"{trial:02d}.json", json.dumps(plan))
            distinct.append(sum(_covered(s, sets, begins) for s in range(SPEAKERS)))
        drawn = sum(map(len, sets)) * SECONDS
        mean = np.mean(distinct)
        print(f"| {d} | {n} | {mean:.0f} | {drawn:.0f} | {drawn / mean:.0f} times |")
    print()


def _covered(speaker: int, sets: list[list[int]], begins: list[list[int]]) -> float:
    """Seconds of a speaker's speech that lie in an excerpt."""
    starts = sorted(
        begin
        for row, row_begins in zip(sets, begins, strict=True)
        for who, begin in zip(row, row_begins, strict=True)
        if who == speaker
    )
    gaps = np.diff(starts)
    return float(np.minimum(gaps, EXCERPT).sum() + EXCERPT) / SAMPLE_RATE


if __name__ == "__main__":
    main()
