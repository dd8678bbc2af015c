"""How good a diarization is, as a picture: the error rate of each recording and what it is of."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diarize.errors import InputError
from diarize.report.pictures import COLOURS, picture_format, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from diarize.scoring import Scores

KINDS = {
    "missed_detection": ("missed", COLOURS[4], ""),
    "false_alarm": ("false alarm", COLOURS[1], "///"),
    "confusion": ("confusion", COLOURS[5], "..."),
}
"""Name, colour and pattern of each kind of error: told apart in print without colours, too."""

MOST_NAMES = 80
"""Recordings that are named; of more, the bars alone show how errors are spread."""

WIDTH = 8.0  # inches
BAR, THIN_BAR = 0.24, 0.05  # inches
MARGIN = 1.4  # inches for title, axis and legend


def plot_score(files: Mapping[str, Scores], total: Scores, path: str | Path) -> None:
    """Draw a bar for each recording, the worst on top, and one for all of them.

    A bar is as long as the diarization error rate, in parts for missed speech, false alarm and
    confusion. Recordings whose rate is undefined are left out, and counted in the title.

    Raises:
        InputError: the suffix is not .svg, .png or .pdf, no rate is defined, or no matplotlib here.
    """
    picture_format(path)
    rated = {uri: rates for uri, scores in files.items() if (rates := _rates(scores)) is not None}
    overall = _rates(total)
    if not rated or overall is None:
        raise InputError(f"{path}: there is no error rate to draw")
    from matplotlib.figure import Figure

    order = sorted(rated, key=lambda uri: (-sum(rated[uri]), uri))
    named = len(order) <= MOST_NAMES
    height = (BAR if named else THIN_BAR) * len(order)
    figure = Figure(figsize=(WIDTH, height + BAR + MARGIN), layout="constrained")
    axis, below = figure.subplots(2, sharex=True, gridspec_kw={"height_ratios": [height, BAR]})
    _draw(axis, [rated[uri] for uri in order], order if named else [])
    _draw(below, [overall], ["all"])
    axis.tick_params(axis="x", bottom=False)
    below.set_xlabel("share of the time that speakers speak")
    figure.legend(
        *axis.get_legend_handles_labels(),
        loc="outside lower center", ncols=len(KINDS), frameon=False, fontsize=9,
    )  # fmt: skip
    left_out = len(files) - len(rated)
    axis.set_title(
        f"diarization error rate {sum(overall):.1%} over {len(order)} recordings"
        + (f", {left_out} without speech left out" if left_out else ""),
        loc="left",
        fontsize=10,
    )
    save_figure(figure, path)


def read_scores(path: str | os.PathLike[str]) -> tuple[dict[str, Scores], Scores]:
    """Read what `diarize score --json` printed: scores by recording, and of all.

    Raises:
        InputError: the file cannot be read, or is none of these.
    """
    from diarize.formats.lines import parse_json, read_text

    name, text = read_text(path)
    try:
        content = parse_json(name, text)
    except InputError:
        raise InputError(
            f"{name}: not JSON: give REF and HYP, or what `diarize score --json` printed"
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get("files"), dict):
        raise InputError(f"{name}: not what `diarize score --json` prints: no object 'files'")
    files = {uri: _scores(name, uri, value) for uri, value in content["files"].items()}
    return files, _scores(name, "total", content.get("total"))


def _scores(name: str, of: str, value: Any) -> Scores:
    from diarize.scoring import Scores

    wanted = [field.name for field in fields(Scores)]
    if not isinstance(value, dict) or not set(wanted) <= set(value):
        raise InputError(f"{name}: scores of {of} lack some of {', '.join(wanted)}")
    for key in wanted:
        rate = value[key]
        # bool is an int to Python, and true is no rate
        if rate is not None and (type(rate) not in (int, float) or not math.isfinite(rate)):
            raise InputError(f"{name}: {key} of {of} is no number")
    return Scores(**{key: value[key] for key in wanted})


def _rates(scores: Scores) -> tuple[float, ...] | None:
    """The three parts of the error rate in the order of `KINDS`; None: it is undefined."""
    rates = [getattr(scores, kind) for kind in KINDS]
    return None if None in rates else tuple(rates)


def _draw(axis: Axes, rows: list[tuple[float, ...]], names: list[str]) -> None:
    from matplotlib.ticker import PercentFormatter

    places = range(len(rows))
    ends = [0.0] * len(rows)
    for part, (label, colour, hatch) in enumerate(KINDS.values()):
        lengths = [row[part] for row in rows]
        axis.barh(
            places, lengths, left=ends, height=0.75, color=colour, hatch=hatch, label=label,
            edgecolor="white", linewidth=0,
        )  # fmt: skip
        ends = [end + length for end, length in zip(ends, lengths, strict=True)]
    for place, end in zip(places, ends, strict=True) if names else ():
        axis.annotate(f"{end:.1%}", (end, place), xytext=(4, 0), textcoords="offset points",
                      va="center", fontsize=8)  # fmt: skip
    axis.set_yticks(list(places) if names else [], labels=names, fontsize=9)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
