"""Weights files: where they lie, and a checksum in their header of all that they hold.

A network answers overwritten weights with vectors like any others: nothing but the checksum tells.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diarize.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

DEFAULT_MODEL = "lstm-compositional"
"""Name of the weights that embed where no others are asked for."""

CHECKSUM = "sha256"
"""Key of the header under which the checksum stands, hexadecimal."""

METADATA = "__metadata__"  # where safetensors keeps what is no tensor
MOST_HEADER = 100_000_000  # bytes; what claims more is not safetensors
ALIGNMENT = 8  # bytes to which safetensors fills up its header


def models_folder() -> Path:
    """Find the shipped weights: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent.parent
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"


def sealed(content: bytes) -> bytes:
    """Put its checksum into the header of a safetensors file, whose keys come in one order."""
    size = int.from_bytes(content[:8], "little")
    header, tensors = json.loads(content[8 : 8 + size]), content[8 + size :]
    metadata = header.setdefault(METADATA, {})
    metadata.pop(CHECKSUM, None)
    digest = _begun(header)
    digest.update(tensors)
    header[METADATA] = dict(sorted({**metadata, CHECKSUM: digest.hexdigest()}.items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(8, "little") + text + tensors


def read_weights(
    path: Path, what: str = "weights file"
) -> tuple[dict[str, str], dict[str, Tensor]]:
    """The header and the tensors of a safetensors file, if it holds what it was written with.

    `what` is the word for it in messages.

    One without a checksum (other programs write none) is taken as it is.

    Raises:
        InputError: there is no such file, it is none of these, or it was changed after it had been
            written.
    """
    from safetensors import SafetensorError, safe_open

    try:
        require_whole(path, what)
        with safe_open(path, framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            return dict(file.metadata() or {}), tensors
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except SafetensorError as error:
        raise InputError(f"{path}: a damaged {what} ({first_line(error)})") from None


def first_line(error: Exception) -> str:
    """What an error says first, or its kind where it says nothing."""
    return _lines(error)[0]


def last_line(error: Exception) -> str:
    """What an error says last, as torch says which weights do not fit."""
    return _lines(error)[-1].strip()


def _lines(error: Exception) -> list[str]:
    return str(error).splitlines() or [type(error).__name__]


def require_whole(path: Path, what: str = "weights file") -> None:
    """Check that a file holds what it was written with.

    What has no checksum passes, and so does what is no safetensors file at all.

    Raises:
        InputError: the file was changed after it had been written.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        try:
            header = json.loads(file.read(size)) if size <= MOST_HEADER else {}
            expected = header.get(METADATA, {}).pop(CHECKSUM, None)
        except (AttributeError, RecursionError, ValueError):
            return
        if expected is None:
            return
        found = hashlib.file_digest(file, lambda: _begun(header)).hexdigest()
    if found != expected:
        raise InputError(f"{path}: a damaged {what} (it was changed after it had been written)")


def _begun(header: dict[str, Any]) -> Any:
    """A digest that knows the header, its checksum left out."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode())
