"""`--config`: a file of options, which yield to the environment and the command line."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diarize.cli.preset import Context, overlay
from diarize.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

_ELSEWHERE = {"audio", "config", "help"}  # are no settings


def _take(context: Context, value: Path | None) -> Path | None:
    """Let the file give the defaults of the command's other options."""
    if value is not None:
        overlay(context, read_settings(value, parameters(context.command)), last=False)
    return value


# Eager, and before --preset, which it may name.
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        is_eager=True,
        callback=_take,
        help="Options, as `diarize config` prints them; a variable DIARIZE_OPTION of the "
        "environment wins over them, and the command line over both.",
        show_default="none",
    ),
]


def parameters(command: Any) -> dict[str, Any]:
    """The options of a command that a file may set, by their names there."""
    return {one.name: one for one in command.params if one.name not in _ELSEWHERE}


def read_settings(path: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """Read options as the command would be given them.

    Args:
        path: a TOML file with an option a line; "-" and "_" in names are one.
        known: the options that there are.

    Returns:
        Values by the names of parameters: texts, which the command reads as those of its own line,
        lists of them, and true or false for switches.

    Raises:
        InputError: no such file, no TOML, an unknown option, or a value of another kind.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: not TOML ({error})") from error
    settings: dict[str, Any] = {}
    for key, value in content.items():
        name = key.replace("-", "_")
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise InputError(f"{path}: there is no option {key}{hint}")
        if name in settings:
            raise InputError(f"{path}: {key} is given twice")
        settings[name] = _checked(f"{path}: {key}", value, known[name])
    return settings


def _checked(place: str, value: Any, option: Any) -> Any:
    if option.is_flag:
        if not isinstance(value, bool):
            raise InputError(f"{place} is true or false")
        return value
    if option.multiple:
        if not isinstance(value, list):
            raise InputError(f"{place} is a list: [{value!r}]")
        return [_text(place, one) for one in value]
    return _text(place, value)


def _text(place: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{place} is a text or a number")
    return str(value)
