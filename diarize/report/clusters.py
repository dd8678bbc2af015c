"""Clusters as a picture: where single speakers lie, and where their unions do.

The manner is that of figure 3 of "Compositional Clustering" (Li, He, Whitehill).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float64

from diarize.errors import InputError
from diarize.report.pictures import COLOURS, picture_format, save_figure
from diarize.sets import SpeakerSets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Colour = tuple[float, float, float]

MOST_POINTS = 5_000
"""Rows that are drawn at most: more make one blot, and a vector picture nobody can open."""

PER_COLUMN = 24
"""Sets in a column of the legend."""

WIDTH, HEIGHT = 7.0, 5.5  # inches, without the legend
COLUMN = 1.0  # inches that a column of the legend takes
NOBODY: Colour = (0.7, 0.7, 0.7)


def plot_clusters(rows: Float[np.ndarray, "n p"], sets: SpeakerSets, path: str | Path) -> None:
    """Draw vectors in the plane of their two largest principal components.

    A row of one speaker is a circle, one of several a plus sign, one of nobody a grey dot. Each set
    has a colour; that of several speakers is the mean of theirs. Arrows lead from the centroid of
    each speaker to the centroids of the sets that hold him. Of more than `MOST_POINTS` rows, an
    evenly spaced part is drawn.

    Raises:
        InputError: the suffix is not .svg, .png or .pdf, there are no rows, the sets are of another
            number of rows, or matplotlib is missing.
    """
    picture_format(path)
    if not len(rows):
        raise InputError(f"{path}: there are no rows to draw")
    if len(rows) != len(sets):
        raise InputError(f"{path}: {len(rows)} rows, but sets of {len(sets)}")
    from matplotlib.figure import Figure

    points, shares = project(rows)
    distinct, ids = sets.distinct()
    order = sorted(range(len(distinct)), key=lambda i: (distinct.sizes[i], distinct.to_lists()[i]))
    columns = -(-len(order) // PER_COLUMN)
    figure = Figure(figsize=(WIDTH + COLUMN * columns, HEIGHT), layout="constrained")
    axis = figure.subplots()
    drawn = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_POINTS)).astype(np.int64))
    colours = _colours(distinct)
    for number in order:
        chosen = drawn[ids[drawn] == number]
        members = np.flatnonzero(distinct.membership[number])
        _draw_set(axis, points[chosen], members, colours[number])
    centroids = np.stack([points[ids == number].mean(axis=0) for number in range(len(distinct))])
    _draw_arrows(axis, distinct, centroids, colours)
    axis.set_xlabel(f"first principal component ({shares[0]:.0%} of the variance)")
    axis.set_ylabel(f"second ({shares[1]:.0%})")
    axis.set_aspect("equal", adjustable="datalim")
    axis.spines[["top", "right"]].set_visible(False)
    if len(drawn) < len(rows):
        axis.set_title(f"{len(drawn)} of {len(rows)} rows", loc="left", fontsize=10)
    axis.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=columns, frameon=False, fontsize=9
    )
    save_figure(figure, path)


def project(
    rows: Float[np.ndarray, "n p"],
) -> tuple[Float64[np.ndarray, "n 2"], Float64[np.ndarray, "2"]]:
    """Coordinates along the two largest principal components, and their shares of the variance.

    Of each component the largest entry is positive, so that the picture is not mirrored by chance;
    a component that there is not (one column, rows that are all equal) is zero.
    """
    mean = rows.mean(axis=0, dtype=np.float64)
    p = rows.shape[1]
    # The scatter needs no more memory than p x p, however many rows there are.
    scatter = np.zeros((p, p))
    for start in range(0, len(rows), MOST_POINTS):
        centered = rows[start : start + MOST_POINTS] - mean
        scatter += centered.T @ centered
    variances, directions = np.linalg.eigh(scatter)
    axes = np.zeros((p, 2))
    axes[:, : min(2, p)] = directions[:, ::-1][:, :2]
    largest = np.abs(axes).argmax(axis=0)
    axes *= np.where(axes[largest, [0, 1]] < 0, -1.0, 1.0)
    shares = np.zeros(2)
    total = float(np.trace(scatter))
    if total > 0:
        shares[: min(2, p)] = np.maximum(variances[::-1][:2], 0) / total
    return (rows @ axes - mean @ axes).astype(np.float64), shares


def _colours(sets: SpeakerSets) -> list[Colour]:
    """A colour for each set."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    palette = [to_rgb(colour) for colour in COLOURS]
    more = max(1, sets.n_speakers - len(palette))
    palette += [to_rgb(colormaps["turbo"]((i + 0.5) / more)) for i in range(more)]
    found: list[Colour] = []
    for members in sets.to_lists():
        red, green, blue = np.mean([palette[m] for m in members], axis=0) if members else NOBODY
        found.append((float(red), float(green), float(blue)))
    return found


def _draw_set(
    axis: Axes, points: Float64[np.ndarray, "m 2"], members: np.ndarray, colour: Colour
) -> None:
    """The rows of one set."""
    label = "+".join(map(str, members)) or "nobody"
    x, y = points.T
    if len(members) == 1:
        axis.scatter(x, y, s=22, facecolors="none", edgecolors=[colour], linewidths=1, label=label)
    elif len(members):
        axis.scatter(x, y, s=30, marker="+", color=[colour], linewidths=1, label=label)
    else:
        axis.scatter(x, y, s=6, marker=".", color=[colour], label=label)


def _draw_arrows(
    axis: Axes, sets: SpeakerSets, centroids: Float64[np.ndarray, "m 2"], colours: list[Colour]
) -> None:
    """From the parts that occur alone to the compositions; and the speakers' numbers."""
    alone = {members[0]: i for i, members in enumerate(sets.to_lists()) if len(members) == 1}
    for number, members in enumerate(sets.to_lists()):
        for member in members if len(members) > 1 else ():
            if member in alone:
                axis.annotate(
                    "",
                    xy=tuple(centroids[number]),
                    xytext=tuple(centroids[alone[member]]),
                    arrowprops={
                        "arrowstyle": "-|>",
                        "color": colours[alone[member]],
                        "linewidth": 0.8,
                        "alpha": 0.7,
                    },
                )
    for member, number in alone.items():
        axis.annotate(
            str(member),
            tuple(centroids[number]),
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold",
            bbox={"boxstyle": "circle,pad=0.2", "fc": "white", "ec": colours[number]},
        )
