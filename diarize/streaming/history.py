"""What a stream leaves behind on disk: vectors and counts."""

from __future__ import annotations

import tempfile
import weakref
from bisect import bisect_left

import numpy as np
from jaxtyping import Float16, Float32, Float64

from diarize.activity.counter import MOST
from diarize.activity.counts import INSTANT, VoiceCounts


def halved(values: Float32[np.ndarray, "n m"]) -> Float16[np.ndarray, "n m"]:
    """Values in half precision, in which the smallest are zero."""
    with np.errstate(under="ignore"):
        return values.astype(np.float16)


class Records:
    """Records in a temporary file: memory does not grow with the stream.

    The file has no name, and is gone with the object.
    """

    def __init__(self, record: np.dtype) -> None:
        self._record = record
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the object
        weakref.finalize(self, self._file.close)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def append(self, records: np.ndarray) -> None:
        """Append records."""
        self._file.write(records.tobytes())
        self._n += len(records)

    def between(self, begin: int, end: int | None = None) -> np.ndarray:
        """The records `begin` to `end`."""
        stop = self._n if end is None else min(end, self._n)
        size = self._record.itemsize
        self._file.seek(begin * size)
        data = self._file.read(max(0, stop - begin) * size)
        self._file.seek(0, 2)
        return np.frombuffer(data, self._record)


class Spool(Records):
    """Windows on disk, in half precision: one of 128 dimensions takes 272 bytes, an hour 7 MB."""

    def __init__(self, dimension: int) -> None:
        super().__init__(np.dtype([("cell", "<f8", (2,)), ("vector", "<f2", (dimension,))]))

    def add(self, cells: Float64[np.ndarray, "n 2"], vectors: Float32[np.ndarray, "n p"]) -> None:
        """Append windows: the time for which each speaks, and its vector."""
        records = np.empty(len(cells), self._record)
        records["cell"], records["vector"] = cells, halved(vectors)
        self.append(records)

    def read(
        self, begin: int = 0, end: int | None = None
    ) -> tuple[Float64[np.ndarray, "n 2"], Float32[np.ndarray, "n p"]]:
        """Cells and vectors of the windows `begin` to `end`."""
        records = self.between(begin, end)
        return records["cell"].astype(np.float64), records["vector"].astype(np.float32)

    def since(self, begin: float) -> tuple[Float64[np.ndarray, "n 2"], Float32[np.ndarray, "n p"]]:
        """Cells and vectors of the windows whose cells end at so many seconds, or later."""

        def end(i: int) -> float:
            return float(self.between(i, i + 1)["cell"][0, 1])

        return self.read(bisect_left(range(len(self)), begin, key=end))


class CountSpool(Records):
    """How many were heard every 20 ms, on disk in half precision: 1.4 MB an hour.

    What is said at once stands until the same instants are heard again, knowing what came after.
    """

    def __init__(self) -> None:
        super().__init__(np.dtype(("<f2", (MOST + 1,))))
        self._once = np.zeros((0, MOST + 1), np.float16)  # what was not heard again yet

    def add(self, now: Float32[np.ndarray, "n 4"], again: Float32[np.ndarray, "m 4"]) -> None:
        """Take in probabilities of so many voices, of the instants that follow the last ones.

        Args:
            now: said at once.
            again: said again of instants of which something was said before, or is now.
        """
        self.append(halved(again))
        self._once = np.concatenate([self._once, halved(now)])[len(again) :]

    def read(self, begin: float = 0.0) -> VoiceCounts | None:
        """All from so many seconds on; None: nobody listened for that."""
        n = len(self) + len(self._once)
        if not n:
            return None
        first = min(int(max(0.0, begin) / INSTANT), n)
        counts = np.concatenate([self.between(first), self._once[max(0, first - len(self)) :]])
        return VoiceCounts(first * INSTANT, counts.astype(np.float32))
