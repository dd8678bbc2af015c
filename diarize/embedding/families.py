"""Which kind of speaker encoder an ONNX file is: how it hears, and which output is the vector.

The keys are those that sherpa-onnx writes into its files; a TOML file beside the network may say
what is missing, or other, with the same keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from diarize.audio import SAMPLE_RATE
from diarize.embedding.encoder import Rows
from diarize.embedding.front_ends import NORMALISATIONS, kaldi_rows, nemo_rows, sample_rows
from diarize.errors import InputError
from diarize.storage.onnx_network import OnnxNetwork, Port, axes_text, metadata_number, require_rate

FULL_SCALE = 32768.0
NEMO_MULTIPLE = 16  # rows to which NeMo's networks are fed zeros at the end

FAMILIES: dict[str, dict[str, str]] = {
    "samples": {"normalize_samples": "1"},
    "wespeaker": {
        "normalize_samples": "0", "feature_normalize_type": "global-mean", "window_type": "hamming",
    },
    "3d-speaker": {
        "normalize_samples": "1", "feature_normalize_type": "global-mean", "window_type": "povey",
    },
    "nemo": {"feature_normalize_type": "per_feature", "window_type": "hann"},
}  # fmt: skip
"""What is true of a framework's networks where a file does not say it: by their own definition."""

EMBEDDINGS = ("embs", "embedding", "embeddings", "vectors")
"""Names of the output that is taken where several could be."""


@dataclass(frozen=True)
class Family:
    """How a network is used."""

    framework: str  # a key of `FAMILIES`
    rows: Rows  # how it hears
    normalise: Callable[[np.ndarray], np.ndarray]  # the rows of windows
    input: str  # names of the inputs and the output
    length: str | None  # None: it takes no length
    output: str
    axes: str  # how windows lie: "bt" samples, "b1t" of one channel, "btn" or "bnt" bands

    def inputs(self, windows: np.ndarray) -> dict[str, np.ndarray]:
        """Windows, (b, rows, ...), as the network takes them."""
        heard = self.normalise(windows)
        rows = heard.shape[1]
        if self.axes in ("bt", "b1t"):
            heard = heard.reshape(len(heard), -1)
            rows = heard.shape[1]
            heard = heard[:, None] if self.axes == "b1t" else heard
        elif self.axes == "bnt":
            padding = -rows % NEMO_MULTIPLE if self.length else 0
            heard = np.pad(heard.swapaxes(1, 2), ((0, 0), (0, 0), (0, padding)))
        found = {self.input: np.ascontiguousarray(heard, np.float32)}
        if self.length:
            found[self.length] = np.full(len(heard), rows, np.int64)
        return found


def family_of(network: OnnxNetwork) -> Family:
    """Find out how a network is used.

    Raises:
        InputError: it is no speaker encoder, or nothing says which kind, or a kind that is not
            known here.
    """
    path, metadata = network.path, network.metadata
    first, length = _inputs(network)
    framework = metadata.get("framework", "samples" if _reads_samples(first) else "")
    if framework not in FAMILIES:
        known = ", ".join(FAMILIES)
        said = f"framework {framework} is unknown" if framework else "no framework is named in it"
        raise InputError(f"{path}: {said}; a {path.stem}.toml beside it may name one of {known}")
    metadata = FAMILIES[framework] | metadata
    require_rate(path, metadata, SAMPLE_RATE)
    for key, wanted in (("window_size_ms", 25), ("window_stride_ms", 10)):
        if metadata_number(path, metadata, key, wanted) != wanted:
            raise InputError(f"{path}: {key} = {metadata[key]}, and only {wanted} is known here")
    normalise = metadata.get("feature_normalize_type", "")
    if normalise not in NORMALISATIONS:
        raise InputError(f"{path}: feature_normalize_type {normalise} is unknown")
    scale = 1.0 if metadata_number(path, metadata, "normalize_samples", 1) else FULL_SCALE
    axes = _axes(network, first, framework, metadata)
    bands = metadata_number(path, metadata, "feat_dim", _bands(first, axes))
    if framework == "nemo":
        rows = nemo_rows(bands)
    elif framework == "samples":
        rows = sample_rows(scale)
    else:
        rows = kaldi_rows(bands, metadata["window_type"], scale)
    output = _output(network, metadata_number(path, metadata, "output_dim", 0))
    return Family(framework, rows, NORMALISATIONS[normalise], first.name, length, output.name, axes)


def _inputs(network: OnnxNetwork) -> tuple[Port, str | None]:
    """What is heard, and the name of its length."""
    heard = [one for one in network.inputs if one.type == "tensor(float)"]
    lengths = [one for one in network.inputs if one.type == "tensor(int64)"]
    if len(heard) != 1 or len(heard) + len(lengths) != len(network.inputs) or len(lengths) > 1:
        raise InputError(f"{network.path}: no speaker encoder: takes {_named(network.inputs)}")
    if len(heard[0].axes) not in (2, 3):
        raise InputError(
            f"{network.path}: no speaker encoder: its input {heard[0].name} has the shape "
            f"{axes_text(heard[0].axes)}, where samples or bands of several windows were expected"
        )
    return heard[0], lengths[0].name if lengths else None


def _reads_samples(port: Port) -> bool:
    return len(port.axes) == 2 or port.axes[1] == 1


def _axes(network: OnnxNetwork, port: Port, framework: str, metadata: Mapping[str, str]) -> str:
    """How windows lie; the bands of NeMo's networks come before time."""
    if (framework == "samples") != _reads_samples(port):
        raise InputError(
            f"{network.path}: no network of {framework}: its input {port.name} has the shape "
            f"{axes_text(port.axes)}"
        )
    if framework == "samples":
        return "bt" if len(port.axes) == 2 else "b1t"
    return "bnt" if framework == "nemo" else "btn"


def _bands(port: Port, axes: str) -> int:
    fixed = port.axes[axes.index("n")] if "n" in axes else None
    return 80 if fixed is None else fixed


def _output(network: OnnxNetwork, dim: int) -> Port:
    """The output that is the vector: of the dimension that is told, or by its name, or the last."""
    tables = [
        one
        for one in network.outputs
        if len(one.axes) == 2 and (not dim or one.axes[1] in (dim, None))
    ]
    named = [one for one in tables if one.name in EMBEDDINGS]
    if not tables:
        wanted = f" of {dim} numbers" if dim else ""
        raise InputError(
            f"{network.path}: no speaker encoder: no vector{wanted} for each window among its "
            f"outputs {_named(network.outputs)}"
        )
    return (named or tables)[-1]


def _named(ports: list[Port]) -> str:
    return ", ".join(f"{one.name} {axes_text(one.axes)}" for one in ports) or "nothing"
