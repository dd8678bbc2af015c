"""What a stream leaves behind: vectors on disk, and turns as they were said."""

from __future__ import annotations

import tempfile
import weakref

import numpy as np
from jaxtyping import Float32, Float64


class Spool:
    """Windows in a temporary file: memory does not grow with the stream.

    The file has no name, and is gone with the object. A window of 256 dimensions takes 528 bytes:
    at 7 a second of speech, 13 MB an hour.

    Args:
        dimension: of the vectors, which are kept in half precision.
    """

    def __init__(self, dimension: int) -> None:
        self._record = np.dtype([("cell", "<f8", (2,)), ("vector", "<f2", (dimension,))])
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the object
        weakref.finalize(self, self._file.close)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, cells: Float64[np.ndarray, "n 2"], vectors: Float32[np.ndarray, "n p"]) -> None:
        """Append windows: the time for which each speaks, and its vector."""
        records = np.empty(len(cells), self._record)
        records["cell"], records["vector"] = cells, vectors
        self._file.write(records.tobytes())
        self._n += len(cells)

    def read(
        self, begin: int = 0, end: int | None = None
    ) -> tuple[Float64[np.ndarray, "n 2"], Float32[np.ndarray, "n p"]]:
        """Cells and vectors of the windows `begin` to `end`."""
        stop = self._n if end is None else min(end, self._n)
        size = self._record.itemsize
        self._file.seek(begin * size)
        data = self._file.read(max(0, stop - begin) * size)
        self._file.seek(0, 2)
        records = np.frombuffer(data, self._record)
        return records["cell"].astype(np.float64), records["vector"].astype(np.float32)


class Said:
    """Turns that were said, those that went on joined to one."""

    def __init__(self) -> None:
        self.turns: list[tuple[float, float, tuple[str, ...]]] = []

    def add(self, begin: float, end: float, speakers: tuple[str, ...]) -> None:
        """Add a stretch that does not begin before the end of the last one."""
        if self.turns:
            last = self.turns[-1]
            if last[2] == speakers and begin - last[1] <= 1e-9:
                self.turns[-1] = (last[0], end, last[2])
                return
        self.turns.append((begin, end, speakers))
