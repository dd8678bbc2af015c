"""Images and labels in the idx files of MNIST and Fashion-MNIST, packed by gzip or not."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from diarize.errors import InputError

UNSIGNED_BYTES = 8
"""The kind of values that both data sets have, third byte of the header."""


def read_idx_pair(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (n, rows, columns) and labels (n,), uint8, of one part, `train` or `t10k`.

    Raises:
        InputError: a file that is missing or holds something else.
    """
    images = read_idx(folder / f"{part}-images-idx3-ubyte")
    labels = read_idx(folder / f"{part}-labels-idx1-ubyte")
    if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
        raise InputError(f"{folder}: {part} has no label for each image")
    return images, labels


def read_idx(path: Path) -> np.ndarray:
    """The array of bytes in an idx file, or in the same with `.gz` at the end of its name."""
    packed = path.with_name(f"{path.name}.gz")
    try:
        content = path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{path}: no such file, nor {packed.name}") from None
    except (OSError, EOFError) as error:
        raise InputError(f"{packed}: cannot be unpacked ({error})") from None
    # Two zeros, the kind of values, the number of axes, then each axis's length.
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != UNSIGNED_BYTES:
        raise InputError(f"{path}: no idx file of bytes")
    header = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:header], ">u4").astype(int)
    if len(content) != header + shape.prod():
        raise InputError(f"{path}: cut off")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
