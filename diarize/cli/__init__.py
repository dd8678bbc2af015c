"""The command line: one file per command, which reads arguments, calls the library and prints.

The modules of the commands import nothing heavy; what they need is imported in their functions.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from diarize.cli import (
    adapt,
    backends,
    cluster,
    completion,
    config,
    convert,
    embed,
    export,
    info,
    label,
    layers,
    plot,
    report,
    run,
    score,
    serve,
    simulate,
    stream,
    train,
    tune,
)
from diarize.cli.messages import error, show_warnings_as_notes
from diarize.errors import explain
from diarize.signals import raised
from diarize.storage.version import __version__

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(context_settings={"auto_envvar_prefix": "DIARIZE"})(run.run)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    config.config
)
for command in (
    stream.stream,
    serve.serve,
    score.score,
    convert.convert,
    label.label,
    report.report,
    embed.embed,
    export.export,
    cluster.cluster,
    backends.backends,
    info.info,
    simulate.simulate,
    tune.tune,
    adapt.adapt,
    completion.completion,
):
    app.command()(command)
app.add_typer(train.app, name="train")
app.add_typer(plot.app, name="plot")


def _print_version(wanted: bool) -> bool:
    if wanted:
        print(f"diarize {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Who spoke when, when people also speak at the same time."""


def main() -> NoReturn:
    """Run the command line on the arguments of the process, and exit."""
    # Before torch is there: threads that spin while they wait keep the processor from those who
    # work, and on a busy machine a minute becomes ten.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # While libraries load, nearly all that is made stays: looking for garbage as often as Python
    # does would take a sixth of a short run.
    gc.set_threshold(100_000)
    _stand_in()
    with raised():
        if completion.VARIABLE in os.environ:
            completion.answer(typer.main.get_command(app))
        show_warnings_as_notes()
        for output in (sys.stdout, sys.stderr):
            if isinstance(output, io.TextIOWrapper):
                # RTTM is UTF-8 wherever it goes; a terminal keeps its own encoding.
                output.reconfigure(
                    encoding=None if output.isatty() else "utf-8", errors="backslashreplace"
                )
        status = run_command(sys.argv[1:])
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError:
            # What could not be written must not be tried again, and reported again, on exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


class _Closed(io.TextIOBase):
    """Standard output that was closed before."""

    def write(self, text: str) -> int:
        """Refuse what cannot be told."""
        if text:
            raise OSError(errno.EBADF, "is closed", "standard output")
        return 0


def _stand_in() -> None:
    """Put something where a standard stream is closed, which Python leaves empty.

    Results are refused there, and nobody is told what goes wrong. No file that is opened gets the
    number of such a stream.
    """
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for _ in closed:
        nowhere = os.open(os.devnull, os.O_RDWR)  # the least number that is free
    if "stdout" in closed:
        sys.stdout = _Closed()
    if "stderr" in closed:
        sys.stderr = os.fdopen(nowhere, "w", encoding="utf-8")


def run_command(arguments: Sequence[str]) -> int:
    """Run the command line on `arguments`; says what went wrong and returns the exit code."""
    if not arguments:  # as Typer's own switch does it in some versions only
        with contextlib.redirect_stdout(sys.stderr):
            run_command(["--help"])
        return 2
    status = 0
    asked: dict[str, Any] = {}
    try:
        command = typer.main.get_command(app)
        try:
            with command.make_context("diarize", list(arguments)) as context:
                asked = context.meta
                command.invoke(context)
        except typer.Exit as end:
            status = end.exit_code
        if sys.stdout is not None:
            sys.stdout.flush()  # while what goes wrong can still be told
    except _ClickException as problem:
        if type(problem).__name__ == "NoArgsIsHelpError":  # nothing was said: its text is the help
            print(problem.format_message(), file=sys.stderr)
            return 2
        failed = getattr(problem, "ctx", None)
        place = failed.command_path if failed else "diarize"
        option = getattr(getattr(problem, "param", None), "name", None)
        source = layers.origin(failed, option) if failed and option else ""
        blamed = f"{source}: " if source else ""
        error(f"{blamed}{problem.format_message().strip().rstrip('.')} (see {place} --help)")
        return 2
    except (KeyboardInterrupt, typer.Abort):
        error("interrupted")
        return 128 + signal.SIGINT
    except BrokenPipeError:
        return 1  # the reader has seen enough and knows why
    except Exception as problem:
        if sys.flags.dev_mode:  # python -X dev -m diarize ...: for those who look for a bug
            raise
        status, line = explain(problem)
        if isinstance(problem, ValueError):
            line = layers.with_origin(asked.get(layers.ASKED), line)
        error(line)
    return status


# Newer versions of Typer bring a click of their own: the class is reached through Typer.
_ClickException: Any = typer.BadParameter.__mro__[2]
