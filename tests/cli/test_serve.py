from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--latency", "0.1"], "greater than or equal to 0.5"),
        (["--model", "nothing"], "no such model"),
        (["--refine", "2"], "--refine"),
        (["--clients", "0"], "--clients"),
    ],
)
def test_what_cannot_be(cli: Cli, arguments: list[str], reason: str) -> None:
    cli("serve", *arguments).assert_refused(reason)


def test_results_are_kept_in_a_folder(cli: Cli, talk: Path) -> None:
    cli("serve", "--out", talk).assert_refused("a file, but a folder is needed")
