"""Who spoke when, as a picture: a lane for each speaker, a band where speech overlaps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from diarize.errors import InputError
from diarize.report.pictures import COLOURS, picture_format, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pyannote.core import Annotation

HATCHES = ("", "///", "...", "xxx")  # for each further round through the colours
OVERLAP = "#D9D9D9"

STEPS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)  # seconds between ticks
N_TICKS = 12

WIDTH = 10.0  # inches
LANE = 0.28  # inches
MARGIN = 0.75  # inches for a panel's title and its share of the axis


def plot_timeline(
    annotations: Mapping[str, Annotation],
    path: str | Path,
    *,
    reference: Mapping[str, Annotation] | None = None,
) -> None:
    """Draw recordings under one another, each with a lane for every speaker.

    With a reference, its lanes stand above those of the hypothesis, and a speaker has the colour of
    the reference speaker with whom it shares most time (one to one, as in the error rate).

    Raises:
        InputError: the suffix is not .svg, .png or .pdf, `annotations` is empty, or matplotlib is
            missing.
    """
    picture_format(path)
    if not annotations:
        raise InputError(f"{path}: there is no recording to draw")
    from matplotlib.figure import Figure

    panels = _panels(annotations, reference or {})
    heights = [LANE * max(1, len(styles)) + MARGIN for _, _, styles, _ in panels]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    axes = figure.subplots(
        len(panels), squeeze=False, gridspec_kw={"height_ratios": [*heights]}
    ).flat
    for axis, (title, annotation, styles, end) in zip(axes, panels, strict=True):
        _draw(axis, title, annotation, styles, end)
    save_figure(figure, path)


def _panels(
    annotations: Mapping[str, Annotation], reference: Mapping[str, Annotation]
) -> list[tuple[str, Annotation, dict[str, int], float]]:
    """Title, turns, each speaker's style in the order of the lanes, and end in seconds."""
    panels = []
    for uri, annotation in annotations.items():
        truth = reference.get(uri)
        ends = [part.get_timeline().extent().end for part in (annotation, truth) if part]
        end = max(ends, default=1.0)
        if truth is None:
            panels.append((uri, annotation, _by_appearance(annotation), end))
            continue
        styles = _by_appearance(truth)
        panels.append((f"{uri}: reference", truth, styles, end))
        panels.append((f"{uri}: hypothesis", annotation, _matched(annotation, truth, styles), end))
    return panels


def _by_appearance(annotation: Annotation) -> dict[str, int]:
    labels = [label for _, _, label in annotation.itertracks(yield_label=True)]
    return {label: style for style, label in enumerate(dict.fromkeys(labels))}


def _matched(annotation: Annotation, truth: Annotation, styles: dict[str, int]) -> dict[str, int]:
    """Give each speaker the style of their partner in the truth; others have their own."""
    from diarize.report.errors import partners
    from diarize.scoring.elements import decompose

    labels, true_labels = annotation.labels(), truth.labels()
    pairs = partners(decompose(truth, annotation))
    matched = {labels[column]: styles[true_labels[row]] for row, column in pairs}
    others = [label for label in _by_appearance(annotation) if label not in matched]
    matched |= {label: len(styles) + i for i, label in enumerate(others)}
    return dict(sorted(matched.items(), key=lambda item: item[1]))


def _draw(
    axis: Axes, title: str, annotation: Annotation, styles: dict[str, int], end: float
) -> None:
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    for segment in annotation.get_overlap():
        axis.axvspan(segment.start, segment.end, color=OVERLAP, linewidth=0, zorder=0)
    for lane, (label, style) in enumerate(styles.items()):
        turns = annotation.label_timeline(label)
        axis.broken_barh(
            [(turn.start, turn.duration) for turn in turns],
            (lane - 0.35, 0.7),
            facecolor=COLOURS[style % len(COLOURS)],
            hatch=HATCHES[style // len(COLOURS) % len(HATCHES)],
            edgecolor="white",
            linewidth=0.0,
        )
    axis.set(xlim=(0.0, end), ylim=(max(1, len(styles)) - 0.5, -0.5))
    axis.set_yticks(range(len(styles)), labels=list(styles))
    step = next((step for step in STEPS if end <= N_TICKS * step), STEPS[-1])
    axis.xaxis.set_major_locator(MultipleLocator(step))
    axis.xaxis.set_major_formatter(FuncFormatter(_clock))
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    overlap = annotation.get_overlap().duration()
    speech = annotation.get_timeline().support().duration()
    share = f", overlap {overlap / speech:.0%} of speech (grey)" if overlap else ""
    axis.set_title(f"{title}{share}", loc="left", fontsize=10)


def _clock(seconds: float, _: int) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
