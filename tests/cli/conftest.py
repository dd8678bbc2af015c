"""Commands as a person calls them: exit code, results, messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from diarize.cli import app, run_command


class Result(NamedTuple):
    """What a command gives back."""

    status: int
    out: str
    err: str

    def assert_refused(self, *reasons: object) -> None:
        """Exit code 2 and one plain line that tells the reasons; no result."""
        assert self.status == 2, self.err
        assert self.out == ""
        assert self.err.startswith("diarize: error: ")
        assert self.err.count("\n") == 1
        for reason in reasons:
            assert str(reason) in self.err


@pytest.fixture(autouse=True)
def _offline(no_network: None) -> None:
    """No command needs a network: here all of them run, and none may ask for it."""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Call `diarize` with arguments."""

    def call(*arguments: object) -> Result:
        status = run_command([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return call


@pytest.fixture
def run(cli: Callable[..., Result], tiny_weights: Path) -> Callable[..., Result]:
    """Call `diarize run` with arguments, and with a model that has learned nothing."""

    def call(*arguments: object, model: object = tiny_weights) -> Result:
        return cli("run", "--model", model, *arguments)

    return call


def options_of(command: str) -> dict[str, Any]:
    """Options and arguments of a command by name, as Typer has understood them."""
    asked: Any = typer.main.get_command(app)
    return {one.name: one for one in asked.commands[command].params}
