"""Networks of others: ONNX files, what they say of themselves, and onnxruntime to run them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diarize.errors import InputError, extra, one_line

SUFFIX = ".onnx"
MOST_BYTES = 2**31  # that one protobuf can hold
SILENT = 4  # severity from which on onnxruntime writes to standard error by itself: fatal


@dataclass(frozen=True)
class Port:
    """An input or output: its name, element type, and axes, None where any length will do."""

    name: str
    type: str
    axes: tuple[int | None, ...]


class OnnxNetwork:
    """A network, ready to run; several threads may run it at once.

    Attributes:
        path: of the file.
        device: "cpu" or "cuda": CUDA where it was asked for and onnxruntime was built with it.
        metadata: what the file says of itself, and above that the TOML file beside it.
        inputs, outputs: in their order.

    Raises:
        InputError: onnxruntime is not installed, or a file that it cannot run.
    """

    def __init__(self, path: Path, device: str = "cpu", threads: int = 1) -> None:
        ort = extra("onnxruntime", "ONNX files need onnxruntime", "onnx")
        require_onnx(path)
        options = ort.SessionOptions()
        options.log_severity_level = SILENT
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        with_cuda = device == "cuda" and "CUDAExecutionProvider" in ort.get_available_providers()
        self.path, self.device = path, "cuda" if with_cuda else "cpu"
        providers = ["CUDAExecutionProvider"] * with_cuda + ["CPUExecutionProvider"]
        try:
            self._session = ort.InferenceSession(str(path), options, providers=providers)
        except Exception as error:  # its errors have no class in common
            reason = f"no network that onnxruntime runs ({_reason(error)})"
            if type(error).__name__ == "InvalidProtobuf":
                reason = "not an ONNX file, or a damaged one"
            raise InputError(f"{path}: {reason}") from None
        self.metadata = dict(self._session.get_modelmeta().custom_metadata_map) | read_metadata(
            path
        )
        self.inputs = [_port(one) for one in self._session.get_inputs()]
        self.outputs = [_port(one) for one in self._session.get_outputs()]

    def __call__(self, output: str, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Run it for one of its outputs.

        Raises:
            InputError: inputs that it does not take after all.
        """
        try:
            (found,) = self._session.run([output], dict(inputs))
        except Exception as error:
            raise InputError(f"{self.path}: does not run ({_reason(error)})") from None
        return np.asarray(found)


def require_onnx(path: Path) -> None:
    """Refuse what is no ONNX file before it is read as a whole.

    Raises:
        InputError: no such file, or one that is empty or too large.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    size = path.stat().st_size
    if size == 0:
        raise InputError(f"{path}: nothing is in it")
    if size >= MOST_BYTES:
        raise InputError(f"{path}: {size / 2**30:.1f} GB, and no ONNX file has more than 2")


def read_metadata(path: Path) -> dict[str, str]:
    """What the TOML file beside a network says of it; nothing where there is none.

    Raises:
        InputError: no TOML, or values that are neither texts nor numbers.
    """
    beside = path.with_suffix(".toml")
    if not beside.is_file():
        return {}
    try:
        found = tomllib.loads(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{beside}: not TOML ({one_line(str(error))})") from None
    for key, value in found.items():
        if not isinstance(value, str | int | float):
            raise InputError(f"{beside}: {key} is neither a text nor a number")
    return {key: str(int(v) if isinstance(v, bool) else v) for key, v in found.items()}


def metadata_number(path: Path, metadata: Mapping[str, str], key: str, default: int) -> int:
    """A whole number that a network says of itself.

    Raises:
        InputError: it says something else.
    """
    text = metadata.get(key, "").strip()
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{path}: {key} = {text} is no whole number") from None


def require_rate(path: Path, metadata: Mapping[str, str], rate: int) -> None:
    """Raise InputError if a network says that it was made for another sample rate, Hz."""
    made = metadata_number(path, metadata, "sample_rate", rate)
    if made != rate:
        raise InputError(f"{path}: made for {made} Hz; sound is heard at {rate} Hz here")


def axes_text(axes: Sequence[int | None]) -> str:
    """Axes for people."""
    return "(" + ", ".join("any" if axis is None else str(axis) for axis in axes) + ")"


def _port(one: Any) -> Port:
    axes = tuple(axis if isinstance(axis, int) and axis > 0 else None for axis in one.shape)
    return Port(one.name, one.type, axes)


def _reason(error: Exception) -> str:
    text = one_line(str(error)) or type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"
