"""Write archives of made-up characters in the layout of OmniGlot, for a quick run.

python -m omniglot.made_up FOLDER
"""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import numpy as np
from omniglot.images import TEST, TRAIN
from PIL import Image, ImageDraw

SIDE = 105
"""Pixels of a published drawing's side."""

CHARACTERS = 8
"""Of each alphabet."""

DRAWINGS = 12
"""Of each character."""

STROKES = 3
JITTER = 3.0
"""Pixels by which a point of a stroke differs between drawings (standard deviation)."""

# As published, the archives share alphabets.
ALPHABETS = {TRAIN: ("Ones", "Threes", "Twos"), TEST: ("Fours", "Ones")}


def character(rng: np.random.Generator) -> np.ndarray:
    """Points of the strokes of a new character, (strokes, points, 2), in pixels."""
    return rng.uniform(15, SIDE - 15, (STROKES, 3, 2))


def drawing(strokes: np.ndarray, rng: np.random.Generator) -> bytes:
    """A PNG of the character, drawn by an unsteady hand: black ink on white."""
    image = Image.new("1", (SIDE, SIDE), 1)
    pen = ImageDraw.Draw(image)
    for stroke in strokes + rng.normal(0.0, JITTER, strokes.shape):
        pen.line([tuple(point) for point in stroke], fill=0, width=3)
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def main(folder: Path) -> None:
    """Write both archives."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, alphabets in ALPHABETS.items():
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            for alphabet in alphabets:
                rng = np.random.default_rng(list(alphabet.encode()))
                for number in range(1, CHARACTERS + 1):
                    strokes = character(rng)
                    for copy in range(1, DRAWINGS + 1):
                        path = f"{name}/{alphabet}/character{number:02}/{number:04}_{copy:02}.png"
                        archive.writestr(path, drawing(strokes, rng))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
