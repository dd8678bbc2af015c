"""`diarize backends`: which clusterings there are, and which presets of them."""

from __future__ import annotations

from functools import partial


def backends() -> None:
    """List the clusterings that --backend knows, and the presets that --preset knows."""
    from rich.table import Column

    from diarize import clustering
    from diarize.cli.tables import plain, print_table
    from diarize.tuning.presets import PRESETS

    short = partial(Column, no_wrap=True)
    table = plain(short("name"), short("overlap"), short("needs the truth"), "what it does")
    for name in clustering.BACKENDS:
        estimator = clustering.make(name)
        table.add_row(
            name,
            _say(estimator.finds_overlap),
            _say(estimator.needs_truth),
            clustering.describe(name),
        )
    print_table(table)

    table = plain(short("preset"), short("backend"), "where it comes from")
    for preset in PRESETS.values():
        backend = f"{preset.backend} or any" if preset.suits_any else preset.backend
        table.add_row(preset.name, backend, preset.source)
    print_table(table)


def _say(yes: bool) -> str:
    return "yes" if yes else "no"
