"""Which results of a folder are finished: one line of JSON for each input, with hashes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

NAME = ".diarize-manifest.jsonl"


@dataclass(frozen=True)
class Fingerprint:
    """All that a result depends on.

    Attributes:
        input: SHA-256 of the input's content.
        options: of the options, and of what other files say of the input.
        model: of the weights.
        version: of the program.
    """

    input: str
    options: str
    model: str
    version: str


@dataclass(frozen=True)
class Finished:
    """A line: the results of one input, which were written completely.

    Attributes:
        fingerprint: what they depend on.
        outputs: SHA-256 of each file, by its path relative to the folder.
    """

    fingerprint: Fingerprint
    outputs: Mapping[str, str]


class Manifest:
    """What is finished in a folder of results.

    A line is added when the results of an input are all there, and counts until a later one of the
    same name does. A process that is killed leaves at most a torn last line, which says nothing.

    Args:
        folder: of the results; need not be there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / NAME
        self._finished = dict(_read(self._path))

    def holds(self, name: str, fingerprint: Fingerprint) -> bool:
        """Whether the results of an input are there as they were written, and would be again."""
        line = self._finished.get(name)
        return (
            line is not None
            and line.fingerprint == fingerprint
            and all(
                file_sha256(self._folder / path) == digest for path, digest in line.outputs.items()
            )
        )

    def knows(self, name: str) -> bool:
        """Whether there is a line of that name at all."""
        return name in self._finished

    def add(self, name: str, fingerprint: Fingerprint, outputs: Iterable[Path]) -> None:
        """Write that the results of an input are finished.

        Args:
            name: under which they are found again.
            fingerprint: what they depend on.
            outputs: all their files.
        """
        digests = {
            Path(os.path.relpath(path, self._folder)).as_posix(): file_sha256(path)
            for path in outputs
        }
        content = {"name": name, **asdict(fingerprint), "outputs": digests}
        line = json.dumps(content) + "\n"  # ASCII, whatever bytes a file's name has
        with open(self._path, "ab+") as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":  # the line before was torn
                    line = "\n" + line
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        self._finished[name] = Finished(fingerprint, digests)


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Name a file by its content; "" where there is no such file, or none that stays."""
    if not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path) -> Iterable[tuple[str, Finished]]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            content = json.loads(line)
        except ValueError:
            continue
        finished = _checked(content)
        if finished is not None:
            yield finished


def _checked(content: Any) -> tuple[str, Finished] | None:
    """A line's content, if it is a whole one."""
    if not isinstance(content, dict) or not isinstance(content.get("outputs"), dict):
        return None
    texts = [content.get(key) for key in ("name", "input", "options", "model", "version")]
    if not all(isinstance(text, str) for text in [*texts, *content["outputs"].values()]):
        return None
    name, *parts = (str(text) for text in texts)
    return name, Finished(Fingerprint(*parts), content["outputs"])
