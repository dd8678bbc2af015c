"""What the command line says beside its results: always one plain line on stderr."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from diarize.errors import one_line

_silenced: list[None] = []  # holds something as long as nothing but errors is to be said


@contextmanager
def silence() -> Iterator[None]:
    """Say nothing but errors while the context lasts."""
    _silenced.append(None)
    try:
        yield
    finally:
        _silenced.pop()


def is_silent() -> bool:
    """Whether nothing but errors is to be said."""
    return bool(_silenced)


def note(*texts: str) -> None:
    """Say what is no error and no result, each text on a line of its own."""
    if not is_silent():
        for text in texts:
            _say(f"note: {text}")


def error(text: str) -> None:
    """Say what went wrong, naming the file and the reason."""
    _say(f"error: {text}")


def put(text: str, out: str) -> None:
    """Print a result, or write it into a file, whole or not at all; "-": standard output."""
    from diarize.storage.files import atomic_text

    if out == "-":
        print(text, end="")
        return
    atomic_text(out, text)


def show_warnings_as_notes() -> None:
    """Let Python's warnings appear as notes, without the place in the code that they came from."""
    warnings.showwarning = lambda message, *_args, **_more: note(str(message))


def _say(text: str) -> None:
    # sys.stderr is None where there is no console at all; print passes over that.
    print(f"diarize: {one_line(text)}", file=sys.stderr, flush=True)
