"""Where options come from: the command line, the environment, a file, a preset, in that order.

Typer reads the first two (`auto_envvar_prefix`); the others become defaults of the command.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from diarize.cli.messages import note
from diarize.errors import InputError

if TYPE_CHECKING:
    from typer import Context as Context
else:
    # What commands are called with is no `typer.Context` itself, but of the class above it.
    Context = typer.Context.__mro__[1]

Options = TypeVar("Options")

PRESET = "diarize.preset"  # under which a context holds the names of what its preset sets

# Where the command has another word for an option than the backend.
SPELLINGS = {"n_speakers": "num_speakers"}
ASKED = "diarize.asked"  # under which contexts hold the one whose options may come from elsewhere

_ELSEWHERE = {"audio", "config", "help"}  # are no settings
_VARIABLE = "DIARIZE_"  # begins the names of variables, which the rest of an option's name ends
_BACKENDS = {option: name for name, option in SPELLINGS.items()}  # how backends call options
_LIKE = 0.75  # how like an option's name must be to be what was meant; 1: it is the same


def taking(
    options: type[Options],
) -> Callable[[Callable[[Any, Options], None]], Callable[..., None]]:
    """Make a command of a function of a context and a dataclass, whose fields are the options."""
    hints = get_type_hints(options, include_extras=True)
    asked = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=Context)]
    for name, one in signature(options).parameters.items():
        asked.append(one.replace(annotation=hints[name]))

    def decorate(function: Callable[[Any, Options], None]) -> Callable[..., None]:
        @wraps(function)
        def command(context: Any, **values: Any) -> None:
            function(context, options(**values))

        command.__annotations__ = {one.name: one.annotation for one in asked}
        command.__signature__ = Signature(asked)  # type: ignore[attr-defined]
        return command

    return decorate


def _take_file(context: Context, value: Path | None) -> Path | None:
    """Let the file give the defaults of the command's other options."""
    context.meta[ASKED] = context
    if not context.resilient_parsing:
        _check_environment({one.name for one in context.command.params})
    if value is not None:
        overlay(context, read_settings(value, parameters(context.command)), last=False)
    return value


# Eager, and before --preset, which it may name.
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        is_eager=True,
        callback=_take_file,
        help="Options, as `diarize config` prints them; a variable DIARIZE_OPTION of the "
        "environment wins over them, and the command line over both.",
        show_default="none",
    ),
]


def parameters(command: Any) -> dict[str, Any]:
    """The options of a command that a file may set, by their names there."""
    return {one.name: one for one in command.params if one.name not in _ELSEWHERE}


def origin(context: Any, name: str) -> str:
    """Where the value of an option comes from; "": the command line, or it is the default."""
    source = context.get_parameter_source(name)
    if source is None or source.name not in {"DEFAULT_MAP", "ENVIRONMENT"}:
        return ""
    if source.name == "ENVIRONMENT":
        return f"{_VARIABLE}{name.upper()}"
    # The file is read first, and a preset says later which options it gives.
    if name in context.meta.get(PRESET, ()):
        return f"preset {context.obj.name}"
    return str(context.params.get("config", ""))


def with_origin(context: Any, line: str) -> str:
    """A line on options that cannot be used, with where their values come from."""
    if context is None:
        return line
    spelled = line.replace("-", "_")
    origins = [
        origin(context, name)
        for name, value in context.params.items()
        if (name in spelled or _BACKENDS.get(name, name) in spelled)
        and isinstance(value, str | int | float)
        and (str(value) in line or (isinstance(value, float) and f"{value:g}" in line))
    ]
    found = ", ".join(dict.fromkeys(filter(None, origins)))
    return f"{found}: {line}" if found else line


def _check_environment(known: set[str]) -> None:
    """Refuse variables that are options misspelled, and say of others that they mean nothing."""
    for variable in sorted(os.environ):
        name = variable.removeprefix(_VARIABLE).lower()
        if not variable.startswith(_VARIABLE) or name in known:
            continue
        near = get_close_matches(name, known - _ELSEWHERE, 1, _LIKE)
        if near:
            meant = f"{_VARIABLE}{near[0].upper()}"
            raise InputError(f"{variable}: there is no such option (did you mean {meant}?)")
        note(f"{variable} in the environment is no option, and has no effect")


def read_settings(path: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """Read options as the command would be given them; "-" and "_" in names are one.

    Returns:
        Values by the names of parameters: texts, which the command reads as those of its own line,
        lists of them, and true or false for switches.

    Raises:
        InputError: no such file, no TOML, an unknown option, or a value of another kind.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8-sig"))
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


def _take_preset(context: Context, value: str | None) -> str | None:
    """Let the preset give the defaults of the command's other options."""
    if value is not None:
        from diarize.tuning.presets import read_preset

        preset = read_preset(value)
        context.obj = preset
        named = {SPELLINGS.get(name, name): value for name, value in preset.params.items()}
        # What stands beside a preset wins over it: so does a file that names it.
        source = context.get_parameter_source("preset")
        beside = source is not None and source.name == "DEFAULT_MAP"
        set_here = overlay(context, {**named, "backend": preset.backend}, last=not beside)
        context.meta[PRESET] = set_here
    return value


def overlay(context: Context, values: Mapping[str, Any], *, last: bool) -> set[str]:
    """Give defaults of a command's options; `last`: they win over those that were given before.

    Returns:
        The names for which these count.
    """
    before = context.default_map or {}
    context.default_map = {**before, **values} if last else {**values, **before}
    return set(values) if last else set(values) - set(before)


# Eager: it is read before the options whose defaults it gives.
PresetOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|NAME",
        is_eager=True,
        callback=_take_preset,
        help="Backend and options that `diarize tune` wrote, or a shipped preset (`diarize "
        "backends`); options given beside it win.",
    ),
]


def preset_params(context: Context) -> dict[str, Any]:
    """Options of the backend that the preset sets, and that the command has no option for.

    Raises:
        InputError: the command line asks for a backend that it does not suit.
    """
    preset = context.obj
    if preset is None:
        return {}
    backend = context.params["backend"]
    if backend != preset.backend and not preset.suits_any:
        raise InputError(f"preset {preset.name} is for backend {preset.backend}, not {backend}")
    return {
        name: value
        for name, value in preset.clustering_params.items()
        if SPELLINGS.get(name, name) not in context.params
    }
