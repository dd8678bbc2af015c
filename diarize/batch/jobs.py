"""The jobs of a run: recordings that files, folders, lists of files and patterns stand for."""

from __future__ import annotations

import glob
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from diarize.audio.recording import CHANNEL
from diarize.audio.suffixes import recordings_in
from diarize.errors import InputError

if TYPE_CHECKING:
    from diarize.audio import Recording

_Path = str | os.PathLike[str]

LISTS = (".txt", ".lst", ".list")

CHANNELS = ("mix", "separate", "per-speaker")
"""What the channels of a recording are: mixed, a recording each, the microphone of one speaker."""


def name_of(source: str) -> str:
    """How the results of an input are called: its stem with white space as "_"."""
    return "stdin" if source == "-" else re.sub(r"\s", "_", Path(source).stem)


def channel_of(name: str) -> str:
    """Name of the recording of which a recording of that name is a channel; "" if it is none."""
    return name.rpartition(CHANNEL)[0]


def open_recordings(
    source: str, channels: str, start: float | None, end: float | None
) -> Iterator[Recording]:
    """Open an input as one recording, or as one for each channel.

    Raises:
        InputError: not a recording that can be read.
    """
    from diarize.audio import open_recording

    recording = open_recording(source, start=start, end=end)
    yield from recording.by_channel() if channels == "separate" else [recording]


@dataclass(frozen=True)
class Job:
    """One recording, or several channels of it, to be heard.

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


def find_jobs(arguments: _Path | Iterable[_Path], besides: str | Path | None = None) -> list[Job]:
    """Find the recordings that arguments stand for, in their order; in a folder by name.

    A folder stands for all recordings below it, a file that ends in .txt, .lst or .list for the
    paths that its lines have, which are relative to its own folder; "#" begins a comment. What the
    shell has left of a pattern (`*`, `?`, `[...]`, `**` for any folders) is expanded. Results of
    recordings below a folder or in a list keep their sub-folders; hidden files are passed over, and
    so are clips that `diarize run` cut, of which it warns. One of several arguments that stands for
    nothing is a job with a problem: it stops no others.

    Args:
        arguments: of the command line, or a single one; "-" is standard input.
        besides: a folder whose files are no input, since the run writes them.

    Raises:
        InputError: all that there is is a folder without recordings, a list that is empty or cannot
            be read, or a pattern that nothing matches.
    """
    if isinstance(arguments, str | os.PathLike):
        arguments = [arguments]
    asked = [os.fspath(one) for one in arguments]
    hidden = None if besides is None else Path(besides)
    return _each(asked, lambda argument: _expanded(argument, hidden))


def _each(arguments: Sequence[str], expand: Callable[[str], Iterator[Job]]) -> list[Job]:
    jobs: list[Job] = []
    for argument in arguments:
        try:
            jobs += list(expand(argument))
        except InputError as problem:
            if len(arguments) == 1:
                raise
            jobs.append(Job(argument, problem=str(problem)))
    return list(dict.fromkeys(jobs))  # what is named twice is heard once


def require_distinct(jobs: Iterable[Job], why: str, *, by_place: bool = False) -> None:
    """Refuse recordings of one name, or, `by_place`, of one name in one folder.

    Raises:
        InputError: two have the same.
    """
    seen: dict[str, str] = {}
    for entry in jobs:
        if entry.problem:
            continue
        name = entry.place if by_place else name_of(entry.source)
        if name in seen:
            both = f"{seen[name]} and {entry.source}"
            raise InputError(f"two inputs are named {name}, {both}: {why}")
        seen[name] = entry.source


def require_files(jobs: Sequence[Job]) -> None:
    """Refuse what only one process can read.

    Raises:
        InputError: standard input, or a pipe.
    """
    for job in jobs:
        if job.source == "-" or (os.path.exists(job.source) and not _is_file(job.source)):
            name = "standard input" if job.source == "-" else job.source
            raise InputError(f"{name}: with -j or --dask all inputs must be files")


def _is_file(path: str) -> bool:
    return os.path.isfile(path) or os.path.isdir(path)  # a folder is refused later, in other words


def _expanded(argument: str, besides: Path | None) -> Iterator[Job]:
    if argument != "-" and not os.path.lexists(argument) and glob.has_magic(argument):
        matches = sorted(glob.glob(argument, recursive=True))
        if not matches:
            raise InputError(f"{argument}: nothing matches this pattern")
        yield from _each(matches, lambda match: _named(match, besides))
        return
    yield from _named(argument, besides)


def _named(argument: str, besides: Path | None) -> Iterator[Job]:
    if os.path.isdir(argument):
        yield from _below(argument, besides)
    elif argument.lower().endswith(LISTS):
        yield from _listed(argument)
    else:
        yield Job(argument)


def _below(root: str, besides: Path | None) -> Iterator[Job]:
    from diarize.report.clips import is_clip

    every = recordings_in(Path(root), below=True, besides=besides)
    found = [path for path in every if not is_clip(path)]
    if n_clips := len(every) - len(found):
        warnings.warn(f"{root}: clips of earlier results are passed over ({n_clips})", stacklevel=2)
    if not found:
        raise InputError(f"{root}: is a folder without recordings (.wav, .flac, .ogg, .mp3, ...)")
    for path in found:
        inside = path.relative_to(root)
        yield Job(os.path.join(root, inside), _folder(inside))


def _listed(path: str) -> Iterator[Job]:
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
        named = PurePath(line)
        inside = not named.is_absolute() and ".." not in named.parent.parts
        yield Job(os.path.join(root, line), _folder(named) if inside else "")


def _without_comment(line: str) -> str:
    """A line up to a "#" that begins it or follows white space: names of files may hold one."""
    words = line.strip()
    if words.startswith("#"):
        return ""
    for blank in (" #", "\t#"):
        words = words.partition(blank)[0]
    return words.strip()


def _folder(path: PurePath) -> str:
    """The folder that a relative path lies in; "" for none."""
    return path.parent.as_posix() if path.parent.parts else ""
