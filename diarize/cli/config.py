"""`diarize config`: the options that a run would have, and where each comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from diarize.cli.layers import Context, origin, parameters, preset_params

_ORIGINS = {
    "COMMANDLINE": "command line",
    "ENVIRONMENT": "environment",
    "DEFAULT": "default",
}


def config(context: Context) -> None:
    """Print the options that `diarize run` would have, and where each comes from.

    Takes all options of `run`. What it prints is TOML, a file for `run --config`.
    """
    assert context.parent is not None
    run = context.parent.command.get_command(context.parent, "run")  # type: ignore[attr-defined]
    with run.make_context("run", [*context.args, "-"], parent=context.parent) as asked:
        lines = [_line(name, option, asked) for name, option in parameters(run).items()]
        for name, value in preset_params(asked).items():  # those without an option of their own
            lines.append(f"# {name} = {_toml(value)}  # preset {asked.obj.name}")
    print("\n".join(lines))


def _line(name: str, option: Any, asked: Any) -> str:
    value = asked.params[name]
    source = asked.get_parameter_source(name).name
    said = _ORIGINS.get(source) or origin(asked, name)
    if value is None or value in ([], ()):
        shown = option.show_default if isinstance(option.show_default, str) else "none"
        return f"# {name}: {shown}  # {said}"
    return f"{name} = {_toml(value)}  # {said}"


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, float):
        return repr(value)  # inf and nan are words there
    return json.dumps(value, ensure_ascii=False)  # texts, integers, true and false are as in JSON
