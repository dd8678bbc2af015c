"""Which recordings `diarize run` is given: files, folders, lists of files, patterns."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from diarize.audio.suffixes import AUDIO_SUFFIXES
from diarize.cli.inputs import name_of
from diarize.errors import InputError

LISTS = (".txt", ".lst", ".list")


@dataclass(frozen=True)
class Entry:
    """One input of a run.

    Attributes:
        source: a path, or "-".
        folder: the folder of its results, below that of all results; "" for that itself.
        problem: why it stands for no recordings; "": it is one.
    """

    source: str
    folder: str = ""
    problem: str = ""

    @property
    def place(self) -> str:
        """Where its results lie below the folder of all results, without an ending."""
        return self.beside(name_of(self.source))

    def beside(self, name: str) -> str:
        """Where results of that name lie."""
        return f"{self.folder}/{name}" if self.folder else name


def gather(arguments: Sequence[str], besides: Path | None = None) -> list[Entry]:
    """Find the recordings that arguments stand for, in their order; in a folder by name.

    A folder stands for all recordings below it, a file that ends in .txt, .lst or .list for the
    paths that its lines have, which are relative to its own folder; "#" begins a comment. What the
    shell has left of a pattern (`*`, `?`, `[...]`, `**` for any folders) is expanded. Results of
    recordings below a folder or in a list keep their sub-folders; hidden files are passed over. One
    of several arguments that stands for nothing is an entry with a problem: it stops no others.

    Args:
        arguments: of the command line; "-" is standard input.
        besides: a folder whose files are no input, since the run writes them.

    Raises:
        InputError: all that there is is a folder without recordings, a list that is empty or cannot
            be read, or a pattern that nothing matches.
    """
    return _each(arguments, lambda argument: _expanded(argument, besides))


def _each(arguments: Sequence[str], expand: Callable[[str], Iterator[Entry]]) -> list[Entry]:
    entries: list[Entry] = []
    for argument in arguments:
        try:
            entries += list(expand(argument))
        except InputError as problem:
            if len(arguments) == 1:
                raise
            entries.append(Entry(argument, problem=str(problem)))
    return entries


def require_distinct(entries: Iterable[Entry], why: str, *, by_place: bool = False) -> None:
    """Refuse recordings of one name.

    Args:
        entries: the inputs.
        why: what it would lead to.
        by_place: whether names may be alike in different folders.

    Raises:
        InputError: two have the same.
    """
    seen = set()
    for entry in entries:
        if entry.problem:
            continue
        name = entry.place if by_place else name_of(entry.source)
        if name in seen:
            raise InputError(f"two inputs are named {name}: {why}")
        seen.add(name)


def _expanded(argument: str, besides: Path | None) -> Iterator[Entry]:
    if argument != "-" and not os.path.lexists(argument) and glob.has_magic(argument):
        matches = sorted(glob.glob(argument, recursive=True))
        if not matches:
            raise InputError(f"{argument}: nothing matches this pattern")
        yield from _each(matches, lambda match: _named(match, besides))
        return
    yield from _named(argument, besides)


def _named(argument: str, besides: Path | None) -> Iterator[Entry]:
    if os.path.isdir(argument):
        yield from _below(argument, besides)
    elif argument.lower().endswith(LISTS):
        yield from _listed(argument)
    else:
        yield Entry(argument)


def _below(root: str, besides: Path | None) -> Iterator[Entry]:
    passed = None if besides is None else os.path.realpath(besides)
    found = False
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and os.path.realpath(os.path.join(folder, name)) != passed
        )
        for name in sorted(files):
            if name.lower().endswith(AUDIO_SUFFIXES) and not name.startswith("."):
                found = True
                yield Entry(os.path.join(folder, name), _relative(folder, root))
    if not found:
        raise InputError(f"{root}: is a folder without recordings (.wav, .flac, .ogg, .mp3, ...)")


def _listed(path: str) -> Iterator[Entry]:
    try:
        lines = Path(path).read_text("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise InputError(f"{path}: is no list of files: not UTF-8 text") from None
    listed = [line for line in map(_without_comment, lines) if line]
    if not listed:
        raise InputError(f"{path}: lists no recording")
    root = os.path.dirname(path)
    for line in listed:
        parts = PurePath(line).parent
        inside = not parts.is_absolute() and ".." not in parts.parts
        yield Entry(os.path.join(root, line), parts.as_posix() if inside and parts.parts else "")


def _without_comment(line: str) -> str:
    """A line up to a "#" that begins it or follows white space: names of files may hold one."""
    words = line.strip()
    if words.startswith("#"):
        return ""
    for blank in (" #", "\t#"):
        words = words.partition(blank)[0]
    return words.strip()


def _relative(folder: str, root: str) -> str:
    below = os.path.relpath(folder, root)
    return "" if below == os.curdir else below.replace(os.sep, "/")
