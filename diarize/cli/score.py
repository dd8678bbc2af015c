"""`diarize score`: how good a diarization is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from diarize.cli.options import argument, flag, option, require_one_source, seconds

if TYPE_CHECKING:
    from diarize.scoring import Report, Scores


# Two lines each, so that the table fits a terminal of 80 columns.
_COLUMNS = (
    "\nDER", "\nmissed", "false\nalarm", "confu-\nsion", "\nJER", "\nCRI", "count\nerror",
    "reference\nseconds",
)  # fmt: skip


def score(
    ref: Path = argument(
        ..., "REF", "True turns: RTTM, or another format that its ending says; or a folder of RTTM."
    ),
    hyp: Path = argument(..., "HYP", "Turns to score, likewise."),
    uem: Path | None = option(
        None, "FILE", "UEM file of the regions to score.", show_default="all time"
    ),
    collar: float = seconds(
        0.0, "Left out of the DER on each side of every boundary of a true turn."
    ),
    skip_overlap: bool = flag(
        "--skip-overlap", "Leave out of the DER where several speak in truth."
    ),
    json: bool = flag("--json", "Print one JSON object, rates as fractions of one."),
) -> None:
    """Score turns against the truth.

    Prints the diarization error rate (DER) with its parts, the Jaccard error rate (JER), the
    compositional Rand index (CRI) and the speaker-count error, of each recording and of all. A
    recording that HYP lacks counts as an empty result; one recording on either side is scored
    whatever they are called. Folders count with their sub-folders. Collar and skipped overlap
    restrict DER and its parts only.
    """
    from diarize.cli.messages import note
    from diarize.formats import load_annotations, read_uem
    from diarize.scoring import score_files

    require_one_source("REF, HYP or the UEM, one of them", ref, hyp, uem)
    report = score_files(
        load_annotations(ref),
        load_annotations(hyp),
        uem=None if uem is None else read_uem(uem),
        collar=collar,
        skip_overlap=skip_overlap,
    )
    note(*report.notes)
    if json:
        _print_json(report)
    else:
        _print_table(report)


def _print_json(report: Report) -> None:
    import json

    from diarize.cli.messages import note

    note(f"DER with {report.protocol}")
    print(json.dumps(report.to_json_dict(), indent=2, ensure_ascii=False, allow_nan=False))


def _print_table(report: Report) -> None:
    from rich import box
    from rich.table import Table

    from diarize.cli.tables import print_table

    table = Table(box=box.SIMPLE_HEAD, padding=0)
    table.add_column("recording", overflow="fold", min_width=10)
    for title in _COLUMNS:
        table.add_column(title, justify="right", no_wrap=True)
    for uri, scores in report.files.items():
        table.add_row(uri, *_cells(scores))
    table.add_section()
    table.add_row("TOTAL", *_cells(report.total))
    print_table(table)
    print(f"Rates in percent; DER with {report.protocol}.")


def _cells(scores: Scores) -> list[str]:
    rates = (
        scores.der,
        scores.missed_detection,
        scores.false_alarm,
        scores.confusion,
        scores.jer,
        scores.cri,
    )
    cells = ["-" if rate is None else f"{100 * rate:.2f}" for rate in rates]
    return [*cells, f"{scores.speaker_count_error:.2f}", f"{scores.reference_seconds:.2f}"]
