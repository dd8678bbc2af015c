"""`--preset`: options that a preset sets, unless the command line says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from diarize.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typer import Context as Context
else:
    # What commands are called with is no `typer.Context` itself, but of the class above it.
    Context = typer.Context.__mro__[1]

PRESET = "diarize.preset"  # under which a context holds the names of what its preset sets

# Where the command has another word for an option than the backend.
SPELLINGS = {"n_speakers": "num_speakers"}


def _take(context: Context, value: str | None) -> str | None:
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
    """Give defaults of a command's options.

    Args:
        context: of the command.
        values: the defaults, by the options' names.
        last: whether they win over those that were given before.

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
        callback=_take,
        help="Backend and options that `diarize tune` wrote, or a shipped preset (`diarize "
        "backends`); options given beside it win.",
    ),
]


def preset_params(context: Context) -> dict[str, Any]:
    """Options of the backend that the preset sets, and that the command has no option for.

    Raises:
        InputError: the command line asks for another backend than the preset's.
    """
    preset = context.obj
    if preset is None:
        return {}
    backend = context.params["backend"]
    if backend != preset.backend:
        raise InputError(f"preset {preset.name} is for backend {preset.backend}, not {backend}")
    return {
        name: value
        for name, value in preset.clustering_params.items()
        if SPELLINGS.get(name, name) not in context.params
    }
