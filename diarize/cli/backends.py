"""`diarize backends`: which clusterings there are, and which presets of them."""

from __future__ import annotations


def backends() -> None:
    """List the clusterings that --backend knows, and the presets that --preset knows."""
    from rich import box
    from rich.table import Table

    from diarize import clustering
    from diarize.cli.tables import print_table
    from diarize.tuning.presets import PRESETS

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("overlap", no_wrap=True)
    table.add_column("needs the truth", no_wrap=True)
    table.add_column("what it does")
    for name in clustering.BACKENDS:
        estimator = clustering.make(name)
        table.add_row(
            name,
            _say(estimator.finds_overlap),
            _say(estimator.needs_truth),
            clustering.describe(name),
        )
    print_table(table)

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("preset", no_wrap=True)
    table.add_column("backend", no_wrap=True)
    table.add_column("where it comes from")
    for preset in PRESETS.values():
        backend = f"{preset.backend} or any" if preset.suits_any else preset.backend
        table.add_row(preset.name, backend, preset.source)
    print_table(table)


def _say(yes: bool) -> str:
    return "yes" if yes else "no"
