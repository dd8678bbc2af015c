"""Kinds of options, and those that several commands share, worded once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from diarize.errors import InputError


def option(default: Any, metavar: str | None, help: str, *names: str, **more: Any) -> Any:
    """An option as a command's default; `...` where it must be given."""
    return typer.Option(default, *names, metavar=metavar, help=help, **more)


def seconds(default: Any, help: str, least: float = 0.0, **more: Any) -> Any:
    """Seconds, not below zero."""
    return option(default, "SECONDS", help, min=least, **more)


def count(default: Any, help: str, *names: str, **more: Any) -> Any:
    """A number of things, one at least."""
    return option(default, "N", help, *names, min=1, **more)


def flag(name: str, help: str, **more: Any) -> Any:
    """Something that is done if it is asked for."""
    return option(False, None, help, name, **more)


def argument(default: Any, metavar: str, help: str, **more: Any) -> Any:
    """What stands on the command line without a name."""
    return typer.Argument(default, metavar=metavar, help=help, **more)


BackendOption = Annotated[
    str, typer.Option(metavar="NAME", help="Clustering; see `diarize backends`.")
]

MaxSetSizeOption = Annotated[
    int, typer.Option(metavar="D", min=1, help="Most speakers at one instant; 1 finds no overlap.")
]

ModelOption = Annotated[
    str,
    typer.Option(
        metavar="NAME|PATH", help="Embedding: a shipped one, a weights file, or an ONNX file."
    ),
]

DeviceOption = Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where the networks run.")]

SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the random numbers.")]

VadThresholdOption = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Probability, between 0 and 1, from which on a sound counts as speech.",
        show_default="silero 0.1, else 0.6",
    ),
]

ExclusiveOption = Annotated[
    bool,
    typer.Option(
        "--exclusive", help="Give each instant to one speaker: the one whose turn began first."
    ),
]

RefineOption = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Every so often cluster all that was heard anew, and settle what is older.",
        min=5.0,
        show_default="at the end",
    ),
]

OWN_OPTIONS = {
    "n_speakers": "--num-speakers",
    "min_speakers": "--min-speakers",
    "max_speakers": "--max-speakers",
    "max_set_size": "--max-set-size",
    "random_state": "--seed",
    "compose": "--model",
    "scatter": "--model",
}
"""What has an option of its own in `run` and `stream`, by the name that a backend knows it by."""

_BOUND = re.compile(r"\b(n_speakers|min_speakers|max_speakers|max_set_size)\b(=?)")


def require_one_source(what: str, *paths: object) -> None:
    """Refuse standard input for several of `paths`; `what` says that it can hold one of them."""
    if [str(path) for path in paths].count("-") > 1:
        raise InputError(f"standard input: holds {what}")


@contextmanager
def as_typed() -> Iterator[None]:
    """What is wrong with the bounds of a backend is told in the words of the command line."""
    try:
        yield
    except ValueError as problem:
        line = _BOUND.sub(
            lambda bound: OWN_OPTIONS[bound[1]] + (" " if bound[2] else ""), str(problem)
        )
        raise InputError(line) from problem
