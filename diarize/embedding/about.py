"""What a file of weights is, in a few words: ours, g for a network of others, or such a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from diarize.activity.network import CONFIG as COUNTER
from diarize.activity.segmentation import Segmentation
from diarize.audio import SAMPLE_RATE
from diarize.embedding.encoders import foreign_files, load_encoder
from diarize.embedding.fitted import KEY, header_of
from diarize.embedding.foreign import ForeignEncoder
from diarize.embedding.weights import CONFIG, find_model, load_model
from diarize.errors import InputError
from diarize.storage.files import file_sha256
from diarize.storage.onnx_network import SUFFIX, OnnxNetwork

CLASSES = "num_classes"  # key of metadata that segmentations have


def about(name: str) -> dict[str, Any]:
    """What a file is, by name of a property: `file`, `kind`, `bytes`, `sha256`, and more.

    Args:
        name: a shipped model's name, or a path.

    Raises:
        InputError: no such file, or one that is no weights and no network that can be used.
    """
    path = find_model(name)
    what = _network(path) if path.suffix.lower() == SUFFIX else _weights(path)
    return {"file": str(path), **what, "bytes": path.stat().st_size, "sha256": file_sha256(path)}


def _weights(path: Path) -> dict[str, Any]:
    header = header_of(path)
    if CONFIG in header:
        model = load_model(path)
        return {"kind": "our embedding: --model", "dimensions": model.dim}
    if COUNTER in header:
        return {"kind": "our network that hears how many speak"}
    if KEY in header:
        load_encoder(path)
        told = json.loads(header[KEY])
        return {"kind": "g for a network of others: --model", "network": told["network"]}
    raise InputError(f"{path}: no weights that are known here, and no ONNX file")


def _network(path: Path) -> dict[str, Any]:
    network = OnnxNetwork(path)
    if CLASSES in network.metadata:
        heard = Segmentation(path, "cpu")
        return {
            "kind": "segmentation: --vad",
            "window": f"{heard.window / SAMPLE_RATE:g} s",
            **_licence(network),
        }
    encoder = ForeignEncoder(path)
    files = foreign_files(path)
    composition = files[1] if files else None
    return {
        "kind": "speaker encoder: --model",
        "framework": encoder.family.framework,
        "dimensions": encoder.raw_dim,
        "g": "none: the mean" if composition is None else str(composition),
        **_licence(network),
    }


def _licence(network: OnnxNetwork) -> dict[str, str]:
    return {key: network.metadata[key] for key in ("license", "url") if key in network.metadata}
