"""What all pictures have in common: formats, colours, and how they are saved."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from diarize.errors import InputError, extra
from diarize.storage.files import atomic_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")

# Okabe and Ito's colours, told apart by colour-blind readers too ("Color Universal Design", 2008);
# without black and yellow, which are hard to see on white or stand out too much.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")

RESOLUTION = 150  # dots per inch


def picture_format(path: str | os.PathLike[str]) -> str:
    """Say which format the suffix of a path asks for, and that matplotlib is there to draw it.

    Raises:
        InputError: the suffix is none of `FORMATS`, or matplotlib is missing.
    """
    suffix = os.path.splitext(path)[1].lower().removeprefix(".")
    if suffix not in FORMATS:
        raise InputError(f"{os.fspath(path)}: a picture ends in .{', .'.join(FORMATS)}")
    extra("matplotlib", "pictures need matplotlib", "plot")
    return suffix


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture whole or not at all; the same figure gives the same bytes.

    Raises:
        InputError: the path cannot be written to, or its suffix is no format.
    """
    import matplotlib
    from matplotlib.text import Text

    suffix = picture_format(path)
    with matplotlib.rc_context({"svg.hashsalt": "diarize"}), atomic_output(path) as stream:
        for text in figure.findobj(Text):
            text.set_parse_math(False)  # names may hold dollars
        # Without dates and random ids.
        dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
        figure.savefig(stream, format=suffix, dpi=RESOLUTION, metadata=dates[suffix])
