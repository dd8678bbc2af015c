"""Which results of a folder are finished: one line of JSON for each job, with hashes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from diarize.storage.files import file_sha256

NAME = ".diarize-manifest.jsonl"


@dataclass(frozen=True)
class Fingerprint:
    """All that a result depends on.

    Attributes:
        input: SHA-256 of the recording's content.
        options: of the options, and of what other files say of the recording.
        model: of the weights.
        version: of the program.
    """

    input: str
    options: str
    model: str
    version: str


class Manifest:
    """What is finished in a folder of results.

    A line is added when the results of a job are all there, and counts until a later one of the
    same name does. A process that is killed leaves at most a torn last line, which says nothing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / NAME
        self._lines = {line["name"]: line for line in _read(self._path)}

    def knows(self, name: str) -> bool:
        """Whether there is a line of that name at all."""
        return name in self._lines

    def holds(self, name: str, fingerprint: Fingerprint) -> bool:
        """Whether the results of a job are there as they were written, and would be again."""
        line = self._lines.get(name, {})
        return line.items() >= asdict(fingerprint).items() and all(
            file_sha256(self._folder / path) == digest for path, digest in line["outputs"].items()
        )

    def altered(self, name: str) -> list[Path]:
        """The results of a job that are there, but not as they were written."""
        outputs = self._lines.get(name, {"outputs": {}})["outputs"]
        files = {self._folder / path: digest for path, digest in outputs.items()}
        return [file for file, digest in files.items() if file_sha256(file) not in ("", digest)]

    def add(self, name: str, fingerprint: Fingerprint, outputs: Iterable[Path]) -> None:
        """Write that the results of a job are finished."""
        digests = {
            Path(os.path.relpath(path, self._folder)).as_posix(): file_sha256(path)
            for path in outputs
        }
        self._lines[name] = {"name": name, **asdict(fingerprint), "outputs": digests}
        text = json.dumps(self._lines[name]) + "\n"  # ASCII, whatever bytes a file's name has
        with open(self._path, "ab+") as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":  # the line before was torn
                    text = "\n" + text
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())


def _read(path: Path) -> Iterator[dict[str, Any]]:
    """Lines that are whole; others say nothing."""
    if not path.exists():
        return
    for text in path.read_bytes().splitlines():
        with suppress(ValueError):
            line = json.loads(text)
            kinds = {"name": str, "outputs": dict}
            if isinstance(line, dict) and all(isinstance(line.get(k), kinds[k]) for k in kinds):
                yield line
