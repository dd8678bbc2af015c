"""The figures of the documentation, drawn by the toolkit itself from the bundled conversation.

python docs/figures.py      draws `docs/figures/*.svg` and `egs/timeline.svg` anew
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from comparison import RATE, Figure, number, read

from diarize import Diarizer
from diarize.clustering import make
from diarize.formats import read_rttm
from diarize.report.clusters import plot_clusters
from diarize.report.pictures import COLOURS, save_figure
from diarize.report.sound import page_sound
from diarize.report.timeline import plot_timeline

DOCS = Path(__file__).parent
CONVERSATION = DOCS.parent / "egs" / "conversation.ogg"
BOTH = "#7A5195"  # between the colours of its parts


def draw_all(folder: Path) -> None:
    """Draw every figure, those of the pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    draw_idea(folder / "idea.svg")
    draw_waveforms(folder / "waveforms.svg")
    draw_conversation(folder, CONVERSATION.with_name("timeline.svg"))
    draw_comparison(folder / "comparison.svg")


def draw_idea(path: Path) -> None:
    """Clusters that are unions of others (after figure 1 of Li, He, Whitehill).

    Pictures of rectangles, of circles, and of both: without g they are three clusters, with g two
    properties and the set of both.
    """
    from matplotlib.figure import Figure

    rng = np.random.default_rng(0)
    properties = np.array([[1.0, 0.1], [0.1, 1.0], [1.0, 1.0]])
    rows = np.repeat(properties, 30, axis=0) + rng.normal(0, 0.07, (90, 2))
    plain = make("ac", n_speakers=3, max_set_size=1).fit(rows)
    composed = make("ckm", n_speakers=2, compose=np.maximum, random_state=0).fit(rows)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for axis, found, title in (
        (left, plain, "without g: three clusters"),
        (right, composed, "with g: two clusters and their union"),
    ):
        lists = found.sets_.to_lists()
        for members in sorted({tuple(members) for members in lists}, key=lambda m: (len(m), m)):
            chosen = rows[[tuple(one) == members for one in lists]]
            colour = BOTH if len(members) > 1 else COLOURS[(0, 1, 2)[members[0]]]
            axis.scatter(*chosen.T, s=16, color=colour, marker="+" if len(members) > 1 else "o")
            label = "{" + ", ".join("abc"[m] for m in members) + "}"
            middle = chosen.mean(axis=0)
            beside = middle + np.array([0, 0.22 if middle[1] > 0.5 else -0.28])
            axis.annotate(label, beside, fontsize=13, fontweight="bold", ha="center")
        axis.set_title(title, loc="left", fontsize=11)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set(xlim=(-0.2, 1.4), ylim=(-0.2, 1.4), xticks=[], yticks=[])
    arrow = {"arrowstyle": "-|>", "color": "#555555", "shrinkA": 24, "shrinkB": 24}
    for part in properties[:2]:
        right.annotate("", xy=properties[2], xytext=part, arrowprops=arrow)
    save_figure(figure, path)


def draw_waveforms(path: Path) -> None:
    """Two speakers alone and at once (after figure 2): what is added up is hard to tell apart."""
    from matplotlib.figure import Figure

    from diarize.audio import open_recording

    figure = Figure(figsize=(9, 1.6), layout="constrained")
    parts = ((8.0, "one speaker", COLOURS[1]), (12.6, "another", COLOURS[2]), (11.2, "both", BOTH))
    for axis, (start, title, colour) in zip(figure.subplots(1, 3, sharey=True), parts, strict=True):
        sound = page_sound(open_recording(CONVERSATION, start=start, end=start + 0.9))
        peaks = sound.peaks / 255
        axis.bar(np.arange(len(peaks)), 2 * peaks, bottom=-peaks, width=0.7, color=colour)
        axis.set_title(title, loc="left", fontsize=11)
        axis.set_axis_off()
    save_figure(figure, path)


def draw_conversation(folder: Path, timeline: Path) -> None:
    """What clusterings make of the conversation's windows (after figure 3), and the turns."""
    diarizer = Diarizer()
    embedded = diarizer.embed(CONVERSATION)
    found: dict[str, Any] = {}
    for backend in ("ac", "ckm"):
        chosen = Diarizer(backend=backend, n_speakers=4)
        found[backend], *_ = chosen.cluster(embedded)
        plot_clusters(embedded.coarse, found[backend].sets_, folder / f"clusters-{backend}.svg")
    truth = read_rttm(CONVERSATION.with_suffix(".rttm"))
    turns = {"conversation": diarizer.decode(embedded, found["ckm"])}
    plot_timeline(turns, timeline, reference=truth)


def draw_comparison(path: Path) -> None:
    """Ours beside others (docs/comparison.tsv); what is published is hollow."""
    from matplotlib.figure import Figure as Canvas

    figures = read()
    errors = [one for one in figures if one.unit == RATE]
    hours = [one for one in figures if one.what.startswith("An hour")]
    canvas = Canvas(figsize=(9, 0.28 * (len(errors) + len(hours)) + 1.4), layout="constrained")
    shares = {"height_ratios": [len(errors), len(hours)]}
    for axis, chosen, title in zip(
        canvas.subplots(2, 1, gridspec_kw=shares),
        (errors, hours),
        ("diarization error rate, %", "seconds that an hour takes"),
        strict=True,
    ):
        axis.barh(
            [f"{one.what}: {one.system}" for one in chosen],
            [one.value for one in chosen],
            color=[_colour(one) if not one.source else "none" for one in chosen],
            edgecolor=[_colour(one) for one in chosen],
        )
        for place, one in enumerate(chosen):
            axis.annotate(f" {number(one)}", (one.value, place), va="center", fontsize=8)
        axis.set_title(f"{title} (hollow: published)", loc="left", fontsize=10)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.invert_yaxis()
    save_figure(canvas, path)


def _colour(one: Figure) -> str:
    return str(COLOURS[0] if one.system == "ours" else "#777777")


if __name__ == "__main__":
    draw_all(DOCS / "figures")
