"""The state of a stream as bytes: arrays in safetensors, options as JSON in its header.

Everything that later answers depend on is kept as it is, composed vectors included, since a sum in
another order, or g on a batch of another size, may differ in the last bit.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from diarize.clustering.link_stream import LinkStream

KEY = "diarize.links"
"""Of the header, under which the options stand."""

Tensors = dict[str, np.ndarray]


def pack(stream: LinkStream, options: dict[str, Any]) -> bytes:
    """A stream, and the options that it was begun with, as a safetensors file."""
    from safetensors.numpy import save

    graph, used = stream.graph, stream.graph.used
    ids = sorted(graph.sizes)
    edges = [(a, b) for a in range(used) for b in sorted(graph.edges[a]) if a < b]
    tensors = {
        "sums": graph.sums[:used],
        "centroids": graph.centroids[:used],
        "counts": graph.counts[:used],
        "owners": graph.owners[:used],
        "serials": graph.serials[:used],
        "edges": _integers(edges).reshape(-1, 2),
        "free": _integers(graph.free),
        "merged": _integers(graph.merged),
        "replaced": _integers(graph.replaced),
        "ids": _integers(ids),
        "totals": np.array([graph.totals[c] for c in ids]).reshape(-1, graph.sums.shape[1]),
        "sizes": _integers([graph.sizes[c] for c in ids]),
        "changes": _integers([graph.changes[c] for c in ids]),
        "n_vectors": _integers([stream.n_vectors]),
    }
    if stream.compositions is not None:
        tensors.update(stream.compositions.state())
    tensors = {name: np.ascontiguousarray(values) for name, values in tensors.items()}
    return save(tensors, metadata={KEY: json.dumps(options)})


def unpack(data: bytes) -> tuple[Tensors, dict[str, Any]]:
    """The arrays and options of a state.

    Raises:
        ValueError: the data are not what `pack` makes.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(data)
        length = int.from_bytes(data[:8], "little")
        options = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][KEY])
        tensors["centroids"].shape[1]
    except (SafetensorError, ValueError, KeyError, IndexError) as error:
        raise ValueError("not a state of Links, or a damaged one") from error
    if not isinstance(options, dict):
        raise ValueError("not a state of Links, or a damaged one")
    return tensors, options


def restore(stream: LinkStream, tensors: Tensors) -> None:
    """Bring an empty stream to a state.

    Raises:
        ValueError: an array is missing.
    """
    try:
        graph = stream.graph
        graph.reserve(len(tensors["sums"]))
        graph.used = used = len(tensors["sums"])
        for name in ("sums", "centroids", "counts", "owners", "serials"):
            getattr(graph, name)[:used] = tensors[name]
        for a, b in tensors["edges"].tolist():
            graph.edges[a].add(b)
            graph.edges[b].add(a)
        for name in ("free", "merged", "replaced"):
            setattr(graph, name, tensors[name].tolist())
        ids = tensors["ids"].tolist()
        graph.totals = dict(zip(ids, tensors["totals"], strict=True))
        graph.sizes = dict(zip(ids, tensors["sizes"].tolist(), strict=True))
        graph.changes = dict(zip(ids, tensors["changes"].tolist(), strict=True))
        stream.n_vectors = int(tensors["n_vectors"][0])
        if stream.compositions is not None:
            stream.compositions.restore(tensors)
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError("not a state of Links, or a damaged one") from error


def _integers(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.int64)
