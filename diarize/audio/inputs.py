"""From what a caller hands in to bytes that can be read any number of times, from any place."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import shutil
import stat
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any, BinaryIO, Protocol, runtime_checkable

from diarize.errors import InputError
from diarize.storage.files import standard_input

STDIN = "-"


@runtime_checkable
class BinaryFile(Protocol):
    """What a file object must at least be able to do."""

    def read(self, size: int = -1, /) -> bytes | None: ...


@runtime_checkable
class SeekableFile(BinaryFile, Protocol):
    """A file object whose bytes can be read from any place."""

    def seek(self, offset: int, whence: int = 0, /) -> int: ...


class PlacedBytes(io.RawIOBase):
    """Bytes that are read at a position of their own."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def handed(self, data: bytes | bytearray, buffer: Any) -> int:
        """Put what was read at the position into the buffer, and go behind it."""
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


class ByteView(PlacedBytes):
    """A file seen through a position of its own.

    Several views of one file can be read in turn, by several threads. A failing read is kept in
    `failure` and looks like the end of the file: decoders call back from C, where an exception
    would be lost.
    """

    def __init__(self, file: Any, size: int, lock: threading.Lock, *, owned: bool) -> None:
        super().__init__(size)
        self._file = file
        self._lock = lock
        self._owned = owned
        self.failure: Exception | None = None

    def readinto(self, buffer: Any) -> int:
        try:
            with self._lock:
                self._file.seek(self._position)
                data = self._file.read(len(buffer))
        except (OSError, ValueError) as error:  # ValueError: the file was closed meanwhile
            self.failure = error
            return 0
        return self.handed(data, buffer)

    def close(self) -> None:
        if self._owned and not self.closed:
            self._file.close()
        super().close()


class Input:
    """The bytes of a recording.

    Attributes:
        label: how messages call it.
        uri: how results call it: the file's stem with white space as "_".
    """

    def __init__(self, label: str, uri: str, path: Path | None, file: SeekableFile | None) -> None:
        self.label = label
        self.uri = re.sub(r"\s", "_", uri)
        self._path = path
        self._file = file
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Input], tuple[str, str, Path | None, None]]:
        """A file on disk can be sent to another process, which opens it anew."""
        if self._file is not None:
            raise TypeError(f"{self.label}: only files on disk can be sent to another process")
        return Input, (self.label, self.uri, self._path, None)

    def open(self) -> ByteView:
        """Open a view on the first byte.

        Raises:
            InputError: the file is gone, or may not be read.
        """
        if self._path is None:
            assert self._file is not None
            try:
                with self._lock:
                    size = self._file.seek(0, os.SEEK_END)
            except (OSError, ValueError) as error:  # ValueError: the caller has closed it
                raise InputError(f"{self.label}: cannot be read: {error}") from error
            return ByteView(self._file, size, self._lock, owned=False)
        file = _open_path(self._path, self.label)
        return ByteView(file, os.fstat(file.fileno()).st_size, threading.Lock(), owned=True)

    def sha256(self) -> str:
        """Name the bytes by their content.

        Raises:
            InputError: as `open`, or the file cannot be read to its end.
        """
        with self.open() as view:
            digest = hashlib.file_digest(view, "sha256").hexdigest()
            if view.failure is not None:
                raise InputError(f"{self.label}: cannot be read: {view.failure}")
            return digest


def make_input(source: str | os.PathLike[str] | BinaryFile) -> Input:
    """Resolve a path, "-" or a file object.

    Standard input, pipes and file objects that cannot seek are copied to a temporary file, which
    vanishes with the returned object.

    Raises:
        InputError: missing, a folder, not permitted, empty, a text stream.
    """
    made = _from_path(source) if isinstance(source, str | os.PathLike) else _from_file(source)
    with made.open() as view:
        if not view.read(1):
            if view.failure is not None:
                raise InputError(f"{made.label}: cannot be read: {view.failure}")
            raise InputError(f"{made.label}: is empty")
    return made


def _from_path(source: str | os.PathLike[str]) -> Input:
    name = os.fsdecode(source)
    if name == STDIN:
        stdin = standard_input()
        if stdin.isatty():
            raise InputError("standard input: is a terminal; pipe or redirect a recording into it")
        return _spooled(stdin.buffer, "standard input", "stdin")
    path = Path(name)
    with _open_path(path, name) as file:
        if not stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            return Input(name, path.stem, path, None)
        return _spooled(file, name, path.stem)


def _from_file(file: Any) -> Input:
    name = getattr(file, "name", None)
    label, uri = (name, Path(name).stem) if isinstance(name, str) and name else ("audio", "audio")
    if not hasattr(file, "read"):
        raise InputError(
            "a recording is a path, a binary file object or (samples, sample_rate), "
            f"not {type(file).__name__}"
        )
    if isinstance(file, io.TextIOBase):
        raise InputError(f"{label}: is open as text; open it in binary mode")
    try:
        seekable = file.seekable()
        nothing = file.read(0) if seekable else b""
    except (AttributeError, OSError, ValueError):
        seekable, nothing = False, b""  # what it cannot tell, the copy will
    if not isinstance(nothing, bytes | bytearray | None):
        raise InputError(f"{label}: reads {type(nothing).__name__}, not bytes: give its file")
    return Input(label, uri, None, file) if seekable else _spooled(file, label, uri)


def _spooled(file: Any, label: str, uri: str) -> Input:
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the Input, below
    try:
        shutil.copyfileobj(file, spool, 1 << 20)
        spool.flush()
    except TypeError:
        spool.close()
        raise InputError(f"{label}: is open as text; open it in binary mode") from None
    except ValueError as error:  # the caller has closed it
        spool.close()
        raise InputError(f"{label}: cannot be read: {error}") from error
    except BaseException:
        spool.close()
        raise
    made = Input(label, uri, None, spool)
    weakref.finalize(made, spool.close)
    return made


_REASONS = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "no such file",
    errno.EISDIR: "is a folder, not a recording",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}


def _open_path(path: Path, label: str) -> BinaryIO:
    try:
        if path.is_dir():  # asked first: some systems call opening a folder a lack of permission
            raise IsADirectoryError(errno.EISDIR, "")
        file = open(path, "rb")  # noqa: SIM115 - the caller closes it
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or error.strerror or str(error)
        raise InputError(f"{label}: {reason}") from error
    except ValueError as error:  # a zero byte in the name
        raise InputError(f"{label!r}: no such file") from error
    mode = os.fstat(file.fileno()).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):  # /dev/zero has no end
        file.close()
        raise InputError(f"{label}: is a device, not a recording")
    return file
