"""Time per vector of Links, against a literal loop over its subclusters in the same run.

    python benchmarks/links.py

Unit vectors at random, nearly perpendicular to each other, are the centers of as many subclusters
as asked for; further vectors lie near one of them, so that their number stays. The table tells time
against subclusters and dimension, then against vectors seen. Compositions are off but in the last
lines, where a fifth of the vectors are mixtures. Seconds are processor time of a single thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from diarize.clustering.links import Links

SPREAD = 0.5  # length of the noise that is added to a center
TIMED = 2000  # vectors, for one figure
PARTS = 20  # of these
LITERAL = 20  # vectors, for the loop
ALIKE: dict[str, Any] = {
    "T_c": 0.8,
    "T_s": 0.7,
    "T_p": 0.9,
}  # noise of that length stays within T_s of its center


def array_bytes(thing: object) -> int:
    """Bytes of the arrays in an object, and in what it is made of."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, list | tuple):
        return sum(map(array_bytes, thing))
    return sum(map(array_bytes, vars(thing).values())) if hasattr(thing, "__dict__") else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--vectors", type=int, default=10**6, help="most vectors seen")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    with threadpool_limits(1):
        print("dimension  subclusters  us/vector  literal loop  ratio")
        for dimension in (128, 256):
            for n in (10, 100, 1000):
                links, centers = known(n, dimension, rng)
                own = per_vector(links, draw(centers, TIMED, rng))
                loop = literal_seconds(centers, draw(centers, LITERAL, rng))
                print(
                    f"{dimension:9} {n:12} {own:10.0f} {loop:13.0f} {loop / own:6.0f}", flush=True
                )
        print("\nvectors seen (256 dimensions, 100 subclusters)  us/vector  state, bytes")
        links, centers = known(100, 256, rng)
        seen = 100
        for n in (10**i for i in range(3, 1 + len(str(given.vectors)) - 1)):
            for block in blocks(centers, n - seen, rng):
                links.partial_fit(block)
            seen = n
            size = array_bytes(links)
            took = per_vector(links, draw(centers, TIMED, rng))
            seen += TIMED
            print(f"{n:46} {took:10.0f} {size:13}", flush=True)
        print("\nspeakers (256 dimensions, compositions on, a fifth mixtures)  us/vector")
        for n in (5, 20):
            links, centers = known(n, 256, rng, Links(compose=together, **ALIKE))
            links.partial_fit(np.repeat(centers, 5, axis=0))
            rows = draw(centers, TIMED, rng)
            a, b = rng.integers(n, size=(2, TIMED // 5))
            rows[::5] = together(centers[a], centers[b])
            print(f"{n:59} {per_vector(links, rows):10.0f}", flush=True)


def known(
    n: int, dimension: int, rng: np.random.Generator, links: Links | None = None
) -> tuple[Links, np.ndarray]:
    """Links that know n subclusters, and their centers."""
    centers = unit(rng.normal(size=(n, dimension)))
    links = links or Links(max_set_size=1, max_subclusters=n + 1, **ALIKE)
    links.partial_fit(centers)
    return links, centers


def draw(centers: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Vectors near these centers."""
    noise = rng.normal(size=(n, centers.shape[1])) * SPREAD / sqrt(centers.shape[1])
    return unit(centers[rng.integers(len(centers), size=n)] + noise)


def blocks(centers: np.ndarray, n: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    while n > 0:
        yield draw(centers, min(n, 10_000), rng)
        n -= 10_000


def per_vector(links: Links, rows: np.ndarray) -> float:
    """Microseconds from a vector to its answer: the median over parts, as a cache may be shared."""
    times = []
    for part in np.array_split(rows, PARTS):
        start = time.process_time()
        for x in part:
            links.partial_fit(x)
        times.append((time.process_time() - start) / len(part) * 1e6)
    return float(np.median(times))


def literal_seconds(centers: np.ndarray, rows: np.ndarray) -> float:
    """Microseconds per vector of the search for the nearest subcluster alone, in plain Python."""
    lists = centers.tolist()
    start = time.process_time()
    for x in rows.tolist():
        best, found = -1.0, -1
        for j, center in enumerate(lists):
            similarity = sum(a * b for a, b in zip(center, x, strict=True))
            if similarity > best:
                best, found = similarity, j
        assert found >= 0
    return (time.process_time() - start) / len(rows) * 1e6


def together(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A composition: the mean, on the sphere."""
    return unit(a + b)


def unit(vectors: np.ndarray) -> np.ndarray:
    lengths: np.ndarray = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


if __name__ == "__main__":
    main()
