"""`diarize plot`: pictures of results."""

from __future__ import annotations

from pathlib import Path

import typer

from diarize.cli.options import argument, option, require_one_source
from diarize.errors import InputError

PICTURE = option(..., "FILE", "The picture, in the format of its suffix: svg, png, pdf.")

app = typer.Typer(help="Draw pictures of results.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def timeline(
    file: Path = argument(..., "FILE", "Turns: an RTTM file or a folder of them."),
    out: Path = PICTURE,
    reference: Path | None = option(
        None, "FILE", "True turns, drawn above: an RTTM file or a folder of them."
    ),
) -> None:
    """Draw who spoke when: a lane for each speaker, grey where speech overlaps."""
    from diarize.cli.messages import note
    from diarize.formats import load_annotations
    from diarize.report.timeline import plot_timeline
    from diarize.scoring.report import paired

    require_one_source("the turns or the true ones, not both", file, reference)
    found = load_annotations(file)
    truth = None
    if reference is not None:
        truth, notes = paired(found, load_annotations(reference), "drawn")
        if not truth.keys() & found.keys():
            raise InputError(f"{reference}: no turns of {', '.join(found)}")
        note(*notes)
    plot_timeline(found, out, reference=truth)


@app.command()
def clusters(
    file: Path = argument(..., "FILE.npz", "Vectors: an array `embeddings`."),
    sets: Path = argument(..., "FILE.json", "Their sets, as `diarize cluster` writes them."),
    out: Path = PICTURE,
) -> None:
    """Draw vectors and their sets in the plane: circles for one speaker, plus signs for several.

    Arrows lead from the speakers to their compositions.
    """
    from diarize.formats.embeddings import read_embeddings
    from diarize.formats.sets import read_sets
    from diarize.report.clusters import plot_clusters

    rows, found = read_embeddings(file).embeddings, read_sets(sets)
    if len(rows) != len(found):
        raise InputError(f"{sets}: {len(found)} sets, but {file} has {len(rows)} rows")
    plot_clusters(rows, found, out)


@app.command()
def score(
    ref: Path = argument(
        ...,
        "REF|FILE.json",
        "True turns, an RTTM file or a folder of them; or what `diarize score --json` printed.",
    ),
    out: Path = PICTURE,
    hyp: Path | None = argument(
        None, "[HYP]", "With REF: turns to score, an RTTM file or a folder of them."
    ),
) -> None:
    """Draw the error rate of each recording by kind, the worst on top.

    REF and HYP are scored without collar and with overlap; other protocols come from a file.
    """
    from diarize.report.score import plot_score, read_scores

    if hyp is None:
        plot_score(*read_scores(ref), out)
        return
    from diarize.cli.messages import note
    from diarize.formats import load_annotations
    from diarize.scoring import score_files

    require_one_source("REF or HYP, not both", ref, hyp)
    report = score_files(load_annotations(ref), load_annotations(hyp))
    note(*report.notes)
    plot_score(report.files, report.total, out)
