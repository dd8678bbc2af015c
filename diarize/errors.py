"""What the toolkit raises when it is handed something that it cannot use."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # a terminal would obey them


class InputError(ValueError):
    """Input or arguments that cannot be used.

    The message is one plain line that names the file, if there is one, and the reason; the command
    line prints it as it stands and leaves with exit code 2.
    """


class TrainingError(RuntimeError):
    """A training that cannot go on; the message is one plain line."""


def require_one_of(what: str, value: object, known: Collection[str]) -> None:
    """Refuse a value that is none of those that are known.

    Raises:
        InputError: names what it is, and all that are known.
    """
    if value not in known:
        raise InputError(f"{what} {value}: not one of {', '.join(known)}")


def require_kind(what: str, value: object, kind: Any, words: str) -> None:
    """Refuse a value that is no object of a class; `words` say what it should be.

    Raises:
        InputError: names what it is, and its class.
    """
    if not isinstance(value, kind):
        raise InputError(f"{what} is {words}, not {type(value).__name__}")


@contextmanager
def as_input() -> Iterator[None]:
    """Raise as an InputError what a clustering, which knows of none, says of its options."""
    try:
        yield
    except InputError:
        raise
    except ValueError as problem:
        raise InputError(str(problem)) from problem


def extra(module: str, why: str, name: str) -> Any:
    """Import a module that comes with an extra of the package.

    Raises:
        InputError: it cannot be imported; says why it is needed, and what to install.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(f"{why}: pip install 'diarize-sets[{name}]'") from error


def explain(problem: BaseException) -> tuple[int, str]:
    """Exit code and one line for an exception.

    Values that cannot be used give 2; what fails while working gives 1.
    """
    if isinstance(problem, ValueError):
        return 2, one_line(str(problem))
    if isinstance(problem, OSError) and problem.strerror:
        file = "" if problem.filename is None else f"{problem.filename}: "
        return 1, one_line(f"{file}{problem.strerror}")
    if isinstance(problem, TrainingError):
        return 1, one_line(str(problem))
    if isinstance(problem, MemoryError):
        return 1, "out of memory"
    return 1, one_line(f"{type(problem).__name__}: {problem}")


def one_line(text: str) -> str:
    """`text` on one line: each break, with the blanks around it, is a blank, as is each control.

    Other blanks stay as they are: they may be of the name of a file.
    """
    first, *more = text.splitlines() or [""]
    return _CONTROLS.sub(" ", " ".join([first, *filter(None, map(str.strip, more))]))
