"""`diarize completion`: what makes a shell complete our commands and options."""

from __future__ import annotations

from typing import Any

import typer
import typer.completion

from diarize.cli.options import argument
from diarize.errors import require_one_of

_scripts: Any = typer.completion  # which does not say what it exports

PROGRAM = "diarize"
VARIABLE = "_DIARIZE_COMPLETE"
"""The environment variable by which the shell's script asks for completions."""

SHELLS = ("bash", "zsh", "fish", "powershell")


def completion(
    shell: str = argument(..., "|".join(SHELLS), "The shell."),
) -> None:
    """Print a script that makes a shell complete commands and options.

    The shell has to read it when it starts: `eval "$(diarize completion bash)"` in ~/.bashrc, and
    likewise for zsh; `diarize completion fish > ~/.config/fish/completions/diarize.fish`.
    """
    require_one_of("shell", shell, SHELLS)
    print(_scripts.get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell))


def answer(command: Any) -> None:
    """Print the completions that the environment asks for, and exit."""
    _scripts.completion_init()
    command.main(args=[], prog_name=PROGRAM, complete_var=VARIABLE)
