"""Tables in a file or a pipe."""

from __future__ import annotations

import pytest
from rich.table import Table

from diarize.cli.tables import print_table


@pytest.mark.parametrize("stderr", [False, True])
def test_nothing_is_cut(capsys: pytest.CaptureFixture[str], stderr: bool) -> None:
    table = Table(box=None, show_header=False, padding=0)
    table.add_row("x" * 500, "[b]y")
    print_table(table, stderr=stderr)
    captured = capsys.readouterr()
    shown, other = (captured.err, captured.out) if stderr else (captured.out, captured.err)
    assert shown.startswith("x" * 500)
    assert shown.count("\n") == 1
    assert other == ""
