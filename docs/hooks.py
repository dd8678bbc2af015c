"""What the site takes from the code when it is built: commands and backends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

REPOSITORY = Path(__file__).parents[1]
PICTURES = ("egs/report.png", "egs/timeline.svg")  # of the repository, which pages show
BACKENDS_PLACE = "<!-- backends -->"


def on_files(files: Any, config: Any) -> Any:
    """Add the page that is made rather than written, and pictures of the repository."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "commands.md", content=commands_page()))
    for name in PICTURES:
        content = (REPOSITORY / name).read_bytes()
        files.append(File.generated(config, f"pictures/{name}", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill the table of backends in, and name files of the repository that the site does not have.

    A link that leaves the folder of the pages works where the repository is browsed; on the site
    its target is named instead.
    """
    filled = markdown.replace(BACKENDS_PLACE, backends_table())
    for name in PICTURES:
        filled = filled.replace(f"](../{name})", f"](pictures/{name})")
    return re.sub(r"\[([^\]]*)\]\(\.\./([^)#]+)[^)]*\)", _named, filled)


def commands_page() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    from diarize.cli import app

    root: Any = typer.main.get_command(app)
    parts = [
        "# Every command",
        "This page is made from the program itself. `diarize COMMAND --help` prints the same.",
    ]
    for path, command in _commands(root, ()):
        parts += [f"## diarize {' '.join(path)}", *_described(path, command)]
    return "\n\n".join(parts) + "\n"


def backends_table() -> str:
    """Name, first line of the docstring and default options of every backend."""
    from diarize.clustering import BACKENDS, describe, make

    rows = ["| `--backend` | what it does | options, `-p NAME=VALUE` |", "|---|---|---|"]
    shared = set.intersection(*(set(make(name).get_params()) for name in BACKENDS))
    for name in BACKENDS:
        options = make(name).get_params()
        own = ", ".join(f"`{key}={options[key]}`" for key in options if key not in shared)
        rows.append(f"| `{name}` | {_cell(describe(name))} | {own or 'none of its own'} |")
    return "\n".join(rows)


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


def _described(path: tuple[str, ...], command: Any) -> list[str]:
    context = command.make_context(" ".join(("diarize", *path)), [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    rows = ["| argument or option | |", "|---|---|"]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            names, text = record
            # A bar within backquotes does not end a cell; Typer says the type of an argument, too.
            rows.append(f"| `{names.partition(' <')[0]}` | {_cell(text)} |")
    fence = f"```text\n{context.command_path} {usage}\n```"
    return [fence, command.help or "", "\n".join(rows)]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _named(link: re.Match[str]) -> str:
    text, target = link.groups()
    return text if f"`{target}`" == text else f"{text} (`{target}`)"
