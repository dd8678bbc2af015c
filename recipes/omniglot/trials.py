"""Write the trials of table 3: vectors of canvases, and the characters that each one holds.

python -m omniglot.trials DIR WORK [--sizes 150 750 1500 7500 15000] [--trials 10] [--seed 0]
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from omniglot.episodes import draw
from omniglot.images import Drawings, split
from omniglot.model import Embedding, load_model

from diarize.errors import InputError
from diarize.formats.sets import sets_text
from diarize.sets import SpeakerSets
from diarize.storage.files import atomic_output

CHARACTERS = 5
LARGEST_SET = 2
SIZES = (150, 750, 1500, 7500, 15000)
VALIDATION_SIZE = 150
BLOCK = 512
"""Canvases that are drawn at a time."""


def make_trial(
    model: Embedding, drawings: Drawings, n: int, seed: Sequence[int]
) -> tuple[Float[np.ndarray, "n dim"], SpeakerSets]:
    """A trial of 5 random characters, with each of their 15 sets of one and two as often.

    Raises:
        InputError: n is no multiple of the number of sets.
    """
    rng = np.random.default_rng(list(seed))
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    kinds = [
        list(members)
        for size in range(1, LARGEST_SET + 1)
        for members in combinations(range(CHARACTERS), size)
    ]
    if n % len(kinds):
        raise InputError(f"n = {n} is no multiple of the {len(kinds)} sets")
    classes = rng.choice(len(drawings), CHARACTERS, replace=False)
    sets = [kinds[i] for i in rng.permutation(np.arange(n) % len(kinds))]
    vectors = []
    for start in range(0, n, BLOCK):
        named = [[int(classes[c]) for c in members] for members in sets[start : start + BLOCK]]
        vectors.append(model.embed(draw(drawings, named, generator)))
    return torch.cat(vectors).numpy(), SpeakerSets.from_lists(sets)


def write_trials(
    model: Embedding, drawings: Drawings, folder: Path, n: int, count: int, seed: Sequence[int]
) -> None:
    """Write those trials of FOLDER/d2_n{N} that are not there yet."""
    target = folder / f"d{LARGEST_SET}_n{n}"
    target.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        path = target / f"{number:02}.npz"
        if path.exists():
            continue
        vectors, sets = make_trial(model, drawings, n, [*seed, n, number])
        with atomic_output(path.with_suffix(".json"), "w") as stream:
            stream.write(sets_text(sets, "truth"))
        with atomic_output(path) as stream:
            np.savez(stream, embeddings=vectors)


def check_model(work: Path) -> None:
    """Remember of which model the trials are.

    Raises:
        InputError: those that are there are of another.
    """
    digest = hashlib.sha256((work / "model.pt").read_bytes()).hexdigest()
    seen = work / "trials.sha256"
    if seen.is_file() and seen.read_text() != digest:
        raise InputError(
            f"{work}: the trials there are of another model; remove trials.sha256, valid, test, "
            "presets and results"
        )
    with atomic_output(seen, "w") as stream:
        stream.write(digest)


def main(arguments: Sequence[str]) -> None:
    """Trials of the characters held out, and of those to test on."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--valid-size", type=int, default=VALIDATION_SIZE)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    check_model(given.work)
    model = load_model(given.work / "model.pt")
    _, held_out, unknown = split(given.folder)
    valid, test = given.work / "valid", given.work / "test"
    write_trials(model, held_out, valid, given.valid_size, given.trials, [given.seed, 0])
    for n in given.sizes:
        write_trials(model, unknown, test, n, given.trials, [given.seed, 1])


if __name__ == "__main__":
    main(sys.argv[1:])
