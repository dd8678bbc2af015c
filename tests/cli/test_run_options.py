"""The options of `diarize run`: ranges and help, which stand apart from the library."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import pytest
import typer

import diarize.cli.run as module
from diarize.cli import run_command
from diarize.clustering.base import MAX_SPEAKERS
from diarize.pipeline import STEPS, WINDOWS


def options() -> dict[str, typer.models.OptionInfo]:
    hints = get_type_hints(module.run, include_extras=True)
    return {
        name: hint.__metadata__[0]
        for name, hint in hints.items()
        if name not in {"context", "return"}
    }


def test_ranges_are_those_of_the_library() -> None:
    for name, limits in (("window", WINDOWS), ("step", STEPS)):
        assert (options()[name].min, options()[name].max) == limits
    assert options()["max_speakers"].show_default == str(MAX_SPEAKERS)


def test_help_gives_every_default(capsys: pytest.CaptureFixture[str]) -> None:
    defaults = {k: v.default for k, v in inspect.signature(module.run).parameters.items()}
    for name, option in options().items():
        if name not in {"audio", "param", "preset", "reference"}:
            assert defaults[name] is not None or isinstance(option.show_default, str), name
    assert run_command(["run", "--help"]) == 0
    shown = capsys.readouterr().out  # its layout depends on the version of Typer
    for text in ("0.5<=x<=5.0", "default: 0.05", "0.0<=x<=1.0", "(inferred)"):
        assert text in shown
    assert "that of the model, 2.0" in " ".join(shown.replace("│", " ").split())
