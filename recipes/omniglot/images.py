"""The drawings of OmniGlot as one tensor, and made-up ones for a quick run."""

from __future__ import annotations

import io
import re
import zipfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d

from diarize.errors import InputError

SIDE = 53
"""Pixels of a drawing's side as it is kept: half of the 105 published ones."""

TRAIN = "images_background_small1"
TEST = "images_background_small2"
FULL = ("images_background", "images_evaluation")
"""Archives of the full set: 30 alphabets to train on, 20 to test on."""

_DRAWING = re.compile(r"[^/]+/(?P<alphabet>[^/]+)/(?P<character>[^/]+)/[^/]+\.png")


@dataclass(frozen=True)
class Drawings:
    """Drawings of some characters; each character is one class.

    Attributes:
        images: ink 1 on ground 0.
        rows: the rows of `images` that hold each character's drawings.
        names: "alphabet/character" of each.
    """

    images: Float[Tensor, "n 53 53"]
    rows: list[np.ndarray]
    names: list[str]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, classes: list[int]) -> Drawings:
        """Some of the characters; the images are shared."""
        return Drawings(
            self.images, [self.rows[c] for c in classes], [self.names[c] for c in classes]
        )

    @property
    def alphabets(self) -> list[str]:
        """Each once, sorted."""
        return sorted({name.split("/")[0] for name in self.names})


def read_archive(path: Path) -> Drawings:
    """All drawings of an archive as published.

    Raises:
        InputError: there is no such archive, or it holds no drawings.
    """
    found: dict[str, list[np.ndarray]] = defaultdict(list)
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                match = _DRAWING.fullmatch(name)
                if match and not name.startswith("__MACOSX"):
                    image = Image.open(io.BytesIO(archive.read(name))).convert("L")
                    ink = np.asarray(image) < 128
                    found[f"{match['alphabet']}/{match['character']}"].append(ink)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    if not found:
        raise InputError(f"{path}: holds no ALPHABET/CHARACTER/NAME.png")
    return _gather(found)


def _gather(found: dict[str, list[np.ndarray]]) -> Drawings:
    counts = [len(drawings) for drawings in found.values()]
    ends = np.cumsum(counts)
    ink = np.stack([drawing for drawings in found.values() for drawing in drawings])
    return Drawings(
        shrink(torch.from_numpy(ink)),
        [np.arange(end - count, end) for count, end in zip(counts, ends, strict=True)],
        list(found),
    )


def shrink(ink: Tensor) -> Float[Tensor, "n 53 53"]:
    """Drawings (n, 105, 105) at half the size.

    Strokes are made one pixel wider to each side before, or they break when drawings are shrunk.
    """
    blocks = [
        avg_pool2d(
            max_pool2d(block[:, None].float(), 3, 1, 1), 2, ceil_mode=True, count_include_pad=False
        )[:, 0]
        for block in ink.split(256)
    ]
    return torch.cat(blocks)


def split(folder: Path) -> tuple[Drawings, Drawings, Drawings]:
    """Characters to train on, to validate on and to test on; none is in two of them.

    The small sets share two alphabets, drawing by drawing: those are left out of the test. Of the
    training archive, the last alphabets are held out for validation, a sixth of the characters or
    one alphabet at least.

    Raises:
        InputError: the folder holds neither the small archives nor the full ones.
    """
    for background, other in ((TRAIN, TEST), FULL):
        paths = [folder / f"{background}.zip", folder / f"{other}.zip"]
        if all(path.is_file() for path in paths):
            break
    else:
        raise InputError(
            f"{folder}: needs {TRAIN}.zip and {TEST}.zip, or {FULL[0]}.zip and {FULL[1]}.zip"
        )
    known, unknown = (read_archive(path) for path in paths)
    held_out: set[str] = set()
    for alphabet in reversed(known.alphabets):
        if len(_of(known, held_out)) * 6 >= len(known):
            break
        held_out.add(alphabet)
    return (
        known.take(_of(known, set(known.alphabets) - held_out)),
        known.take(_of(known, held_out)),
        unknown.take(_of(unknown, set(unknown.alphabets) - set(known.alphabets))),
    )


def _of(drawings: Drawings, alphabets: set[str]) -> list[int]:
    return [c for c, name in enumerate(drawings.names) if name.split("/")[0] in alphabets]
