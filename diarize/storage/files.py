"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Literal

from diarize.errors import InputError
from diarize.storage.weights import sealed

# Reasons that lie in the path that was asked for; others (a full disk) lie in the writing.
_UNUSABLE = {
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EROFS,
    errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.ENXIO,
}  # fmt: skip

RECENT = 2.0  # seconds in which a file may change again without another time of change

# Where Linux lists the files that the process has opened, by number.
_OPENED = "/proc/self/fd/{}"

# With or without an ending, these are no files on Windows.
_DEVICE = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9¹²³])(\.|$)", re.IGNORECASE)


def standard_input() -> Any:
    """Standard input; InputError: it is closed."""
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("standard input: is closed")
    return sys.stdin


@contextlib.contextmanager
def atomic_output(
    path: str | os.PathLike[str], mode: Literal["wb", "w"] = "wb"
) -> Iterator[IO[Any]]:
    """Open a file for writing that takes its name only once it is complete.

    The content goes to a temporary file in the same folder, which is flushed to the disk and
    renamed when the block ends well, and removed when it does not; an older file of that name
    stays until then. On Linux the temporary file has no name while it is written, and vanishes with
    the process. Text is UTF-8 with line feeds. Symbolic links are followed, the permissions of an
    older file are kept, and a device or a pipe is written to as it is.

    Raises:
        InputError: the path cannot be written to: its folder is missing, it is a folder itself,
            permission is denied.
        OSError: writing failed on the way (a full disk); its ``filename`` is `path`.
    """
    target, present = _inspect(path)
    if present is not None and not stat.S_ISREG(present.st_mode):
        with _naming(path), _open(target, mode, "w") as stream:
            yield stream
        return
    temporary = _temporary_name(target)
    try:  # before there is anything: a signal may end the process at any time
        with _refusing(path):
            stream, has_name = _create(temporary, mode)
        with _naming(path):
            with stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
                if not has_name:
                    _give_name(stream, temporary)
            if present is not None:
                os.chmod(temporary, stat.S_IMODE(present.st_mode))
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):  # it is not there, mostly
            temporary.unlink()
        raise


def atomic_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8 with line feeds, whole or not at all.

    Raises:
        InputError, OSError: as `atomic_output`.
    """
    with atomic_output(path, "w") as file:
        file.write(text)


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write arrays as NPZ (no pickle), whole or not at all.

    Raises:
        InputError, OSError: as `atomic_output`.
    """
    import numpy as np

    packed = io.BytesIO()
    np.savez(packed, **arrays)
    with atomic_output(path) as file:
        file.write(packed.getvalue())


def write_weights(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Any],
    header: Mapping[str, str] | None = None,
) -> None:
    """Write arrays, or tensors of the CPU, as sealed safetensors, whole or not at all.

    Raises:
        InputError, OSError: as `atomic_output`.
    """
    import numpy as np
    from safetensors.numpy import save

    arrays = {name: np.asarray(value, order="C") for name, value in tensors.items()}
    content = sealed(save(arrays, metadata=None if header is None else dict(header)))
    with atomic_output(path) as file:
        file.write(content)


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Name a file by its content; "" where there is no such file, or none that stays.

    It is read again only where it may have changed.
    """
    if not os.path.isfile(path):
        return ""
    seen = os.stat(path)
    sha256 = _sha256 if time.time() - seen.st_ctime > RECENT else _sha256.__wrapped__
    return sha256(os.fspath(path), seen.st_dev, seen.st_ino, seen.st_size, seen.st_ctime_ns)


@lru_cache(maxsize=64)
def _sha256(path: str, *_: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_in(
    folder: Path,
    endings: str | tuple[str, ...],
    *,
    below: bool = False,
    besides: Path | None = None,
) -> list[Path]:
    """The files of a folder by name, and `below`, after them, those of each folder in it.

    Hidden files and folders are passed over, and what is no file. Links to folders elsewhere are
    followed; no folder is looked into twice. A link that leads nowhere is there: whoever opens it
    is told so.

    Args:
        folder: where to look.
        endings: of their names, in lower case; names may be in any.
        below: whether to look into the folders in it as well, at whatever depth.
        besides: a folder that is passed over.

    Raises:
        InputError: there is no such folder, or one that cannot be entered.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: {'not a' if folder.exists() else 'no such'} folder")

    def refuse(problem: OSError) -> None:
        raise InputError(f"{problem.filename}: cannot be entered ({problem.strerror})")

    top = os.path.realpath(folder)
    seen = {os.path.realpath(path) for path in (folder, besides) if path is not None}

    def is_new(path: str) -> bool:
        real = os.path.realpath(path)
        if real in seen or (os.path.islink(path) and real.startswith(top + os.sep)):
            return False
        seen.add(real)
        return True

    found = []
    for here, folders, files in os.walk(folder, onerror=refuse, followlinks=True):
        folders[:] = [
            name
            for name in sorted(folders)
            if below and name[0] != "." and is_new(os.path.join(here, name))
        ]
        for name in sorted(files):
            path = Path(here, name)
            if name[0] == "." or not name.lower().endswith(endings):
                continue
            if path.is_file() or path.is_symlink():
                found.append(path)
    return found


def file_name(name: str) -> str:
    """A name as (the beginning of) the name of one file, on any system, in the folder it is put.

    What separates folders, what Windows forbids, controls, a leading dot and the blanks and dots at
    the end become ``_``; a name that means a device on Windows (``NUL``) gets one in front, a long
    name is cut, and nothing at all becomes ``_``.
    """
    clean = re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]|^\.|[. ]+$', "_", name)
    if _DEVICE.match(clean):
        clean = f"_{clean}"
    # 255 bytes are what file systems take; times and a suffix follow.
    return clean.encode("utf-8", "replace")[:150].decode("utf-8", "ignore") or "_"


def require_ending(path: Path, ending: str, of: str = "") -> None:
    """Refuse a name with another ending; the message begins with `of`.

    Raises:
        InputError: it has another one.
    """
    if path.suffix != ending:
        raise InputError(f"{of}{path}: a name that ends in {ending} is needed")


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise what `atomic_output` would raise on entry, before long work is done in vain.

    Raises:
        InputError: the path cannot be written to, or is "-", by which standard output is meant.
    """
    if os.fspath(path) == "-":
        raise InputError("cannot write to standard output: a file is needed")
    _, present = _inspect(path)
    if present is None or stat.S_ISREG(present.st_mode):
        with contextlib.suppress(_Enough), atomic_output(path):
            raise _Enough


def refuse_input(
    path: Path,
    inputs: Iterable[str | os.PathLike[str]],
    content: str,
    what: str = "the recording",
) -> None:
    """Refuse to write over what is read; `what` names it in the error.

    Raises:
        InputError: the file is one of the inputs.
    """
    if path.exists() and any(os.path.exists(s) and path.samefile(s) for s in inputs):
        raise InputError(f"{path}: is {what}, which {content} would replace")


def require_folder(path: Path) -> None:
    """Refuse a folder that could not be made, or that nothing could be written into.

    Raises:
        InputError: it is a file, or it or the folder above it cannot be written.
    """
    if path.is_dir():
        probe = _temporary_name(path / "probe")
        with _refusing(path):
            stream, has_name = _create(probe, "wb")
            stream.close()
            if has_name:
                probe.unlink()
        return
    if path.exists():
        raise InputError(f"{path}: a file, but a folder is needed")
    while not path.parent.exists():
        path = path.parent
    require_writable(path)


class _Enough(BaseException):
    """Nothing is to be written."""


def _inspect(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result | None]:
    """The file behind `path` and, where there is one already, its status."""
    target = Path(os.path.realpath(path))
    with _refusing(path):
        try:
            present = target.stat()
        except FileNotFoundError:
            return target, None
        if stat.S_ISDIR(present.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return target, present


def _temporary_name(target: Path) -> Path:
    # Hidden, so that no `*.rttm` finds it; cut, so that the longest name still has one.
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.tmp")


def _create(temporary: Path, mode: str) -> tuple[IO[Any], bool]:
    """A new file in the folder of `temporary`, and whether it has that name already."""
    # The permissions are those that the umask leaves, where tempfile would keep others out.
    if hasattr(os, "O_TMPFILE") and os.path.exists(_OPENED.format("")):
        # Not all file systems have it; where nothing can be written, that is told below.
        with contextlib.suppress(OSError):
            return _open(temporary, mode, "x", _open_nameless), False
    return _open(temporary, mode, "x"), True


def _open_nameless(path: str, _: int) -> int:
    return os.open(os.path.dirname(path), os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)


def _give_name(stream: IO[Any], temporary: Path) -> None:
    # Python follows the link in /proc only if it is told of some folder, which is not used here.
    nameless = stream.fileno()
    os.link(_OPENED.format(nameless), temporary, src_dir_fd=nameless, follow_symlinks=True)


def _open(
    path: Path, mode: str, create: str, opener: Callable[[str, int], int] | None = None
) -> IO[Any]:
    if mode == "wb":
        return open(path, create + "b", opener=opener)
    return open(path, create, encoding="utf-8", newline="\n", opener=opener)


@contextlib.contextmanager
def _refusing(path: str | os.PathLike[str]) -> Iterator[None]:
    with _naming(path):
        try:
            yield
        except OSError as error:
            if error.errno in _UNUSABLE:
                reason = error.strerror or str(error)
                raise InputError(f"cannot write {os.fspath(path)}: {reason}") from error
            raise


@contextlib.contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors name the file that was asked for: a failed write names none."""
    try:
        yield
    except OSError as error:
        names = (error.filename, error.filename2)
        if names == (None, None) or any(str(name).endswith(".tmp") for name in names):
            raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error
        raise
