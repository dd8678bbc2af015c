"""g for the vectors of a network that is not ours, and all that is known of them, in one file.

The vectors of others may lie anywhere on the sphere, in one corner of it for instance: before g
they are moved and mapped so that voices lie around its centre (`Place`). One safetensors file holds
the map, g, the numbers of `Knowledge`, and which network it was fitted to.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32

from diarize.embedding.knowledge import Knowledge
from diarize.embedding.model import Composition
from diarize.errors import InputError
from diarize.storage.files import write_weights
from diarize.storage.weights import read_weights

KEY = "diarize.composition"  # key of the header under which stands what it was fitted to


@dataclass(frozen=True, eq=False)
class Place:
    """Where the unit vectors of a network go on our sphere: (x - mean) @ matrix, normalised."""

    mean: Float32[np.ndarray, " p"]
    matrix: Float32[np.ndarray, "p q"]

    @classmethod
    def unchanged(cls, dim: int) -> Place:
        """Where they are already."""
        return cls(np.zeros(dim, np.float32), np.eye(dim, dtype=np.float32))

    def __call__(self, vectors: Float32[np.ndarray, "n p"]) -> Float32[np.ndarray, "n q"]:
        """Unit vectors; one that falls into the centre, as a silent window's may, gets a place."""
        mapped = (vectors - self.mean) @ self.matrix
        lengths = np.linalg.norm(mapped, axis=1, keepdims=True)
        somewhere = np.full(mapped.shape[1], mapped.shape[1] ** -0.5, np.float32)
        return np.where(lengths > 1e-6, mapped / np.maximum(lengths, 1e-6), somewhere)


@dataclass(frozen=True, eq=False)
class Fitted:
    """What was fitted to the vectors of a network."""

    network: str  # name of its file
    sha256: str  # of that file
    place: Place  # where its vectors go
    compose: Composition  # g
    knowledge: Knowledge  # what is known of the vectors in their place


def save_fitted(fitted: Fitted, path: Path) -> None:
    """Write it, whole or not at all."""
    w1, w2 = fitted.compose.w1.weight, fitted.compose.w2.weight
    tensors = {
        "place.mean": fitted.place.mean,
        "place.matrix": fitted.place.matrix,
        "compose.w1": w1.detach().float().cpu().numpy(),
        "compose.w2": w2.detach().float().cpu().numpy(),
    } | fitted.knowledge.tensors()
    about = {"network": fitted.network, "sha256": fitted.sha256}
    write_weights(path, tensors, {KEY: json.dumps(about)} | fitted.knowledge.header())


def header_of(path: Path) -> dict[str, str]:
    """The header of a safetensors file; empty where it is none."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            return dict(file.metadata() or {})
    except (SafetensorError, OSError):
        return {}


def load_fitted(path: Path) -> Fitted:
    """Read what `save_fitted` wrote.

    Raises:
        InputError: a file that is damaged or made for something else.
    """
    header, found = read_weights(path)
    if KEY not in header:
        raise InputError(f"{path}: no composition function for the network of others")
    try:
        about = json.loads(header[KEY])
        tensors = {name: value.numpy() for name, value in found.items()}
        mean, matrix, w1, w2 = (
            tensors.pop(name).astype(np.float32)
            for name in ("place.mean", "place.matrix", "compose.w1", "compose.w2")
        )
        (p,), q = mean.shape, len(w1)
        if matrix.shape != (p, q) or w1.shape != (q, q) or w2.shape != (q, q):
            raise ValueError("matrices that do not fit each other")
        if not all(np.isfinite(one).all() for one in (mean, matrix, w1, w2)):
            raise ValueError("values that are not finite")
        compose = Composition(q)
        compose.load_state_dict(
            {"w1.weight": torch.from_numpy(w1), "w2.weight": torch.from_numpy(w2)}
        )
        knowledge = Knowledge.read(header, tensors, q)
        network, sha256 = str(about["network"]), str(about["sha256"])
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"{path}: a composition function that cannot be ({error})") from None
    compose = compose.eval().requires_grad_(False)
    return Fitted(network, sha256, Place(mean, matrix), compose, knowledge)
