"""A speaker encoder that is not ours: an ONNX file, its front end, and g if one was fitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from diarize.audio import SAMPLE_RATE
from diarize.embedding.encoder import Rows
from diarize.embedding.families import Family, family_of
from diarize.embedding.fitted import Fitted, Place
from diarize.embedding.knowledge import SCATTER, Knowledge
from diarize.embedding.model import Composition
from diarize.errors import InputError
from diarize.sets import to_sphere
from diarize.storage.onnx_network import OnnxNetwork, axes_text

PROBE_SECONDS = 1.0  # of noise, with which a network is tried before it is used
LEAST = 2  # dimensions of a vector

UNMEASURED = Knowledge(turn_window=Knowledge.fine_window)
"""Before anything is measured: others have mostly learned from longer windows than f."""

NOTHING_KNOWN = replace(UNMEASURED, scatter=replace(SCATTER, alike=None))
"""Of vectors that nothing was fitted to: numbers of ours, but who is near whom may be two."""


class ForeignEncoder:
    """A network of others as the rest sees it: windows to unit vectors, g, what is known.

    Args:
        path: of the ONNX file.
        fitted: g and the rest; None: the normalised mean, and what is known of ours.
        device: "cpu" or "cuda".

    Attributes:
        raw_dim: dimension of the network's own vectors.

    Raises:
        InputError: a file that is no speaker encoder that can be used, or g of another one.
    """

    def __init__(self, path: Path, fitted: Fitted | None = None, device: str = "cpu") -> None:
        self._given = path, fitted, device
        self._network = OnnxNetwork(path, device)
        self.family: Family = family_of(self._network)
        self.raw_dim = self._try()
        if fitted is not None and len(fitted.place.mean) != self.raw_dim:
            raise InputError(
                f"{path}: gives vectors of {self.raw_dim} dimensions, but g was fitted to "
                f"{len(fitted.place.mean)}"
            )
        self._place = Place.unchanged(self.raw_dim) if fitted is None else fitted.place
        mean = Composition(self.raw_dim).eval().requires_grad_(False)
        self.compose = mean if fitted is None else fitted.compose
        self.knowledge = NOTHING_KNOWN if fitted is None else fitted.knowledge

    def __reduce__(self) -> tuple[type[ForeignEncoder], tuple[Path, Fitted | None, str]]:
        """Processes load it anew: a session cannot be sent to them."""
        return type(self), self._given

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return self._place.matrix.shape[1]

    @property
    def rows(self) -> Rows:
        """How it hears."""
        return self.family.rows

    @property
    def device(self) -> str:
        """What it runs on, "cpu" or "cuda"; on a CPU, several threads embed a batch each."""
        return self._network.device

    def vectors(self, windows: Float32[np.ndarray, "b rows ..."]) -> Float32[np.ndarray, "b dim"]:
        """Embed windows of as many rows each."""
        return self._place(self.own_vectors(windows))

    def own_vectors(self, windows: Float32[np.ndarray, "b rows ..."]) -> Float32[np.ndarray, "b p"]:
        """The network's own unit vectors; of windows in which nothing varies it may give none: 0.

        Raises:
            InputError: of another window it gives none.
        """
        found = self._network(self.family.output, self.family.inputs(windows))
        broken = ~np.isfinite(found).all(axis=1)
        flat = windows.reshape(len(windows), windows.shape[1], -1)
        if (broken & (np.ptp(flat, axis=1) > 0).any(axis=1)).any():
            raise InputError(f"{self._network.path}: gives vectors that are not finite")
        found = np.where(broken[:, None], 0.0, found).astype(np.float64)
        return to_sphere(found).astype(np.float32)

    def _try(self) -> int:
        """Let it embed two windows of noise, and look at what comes."""
        rows, path = self.rows, self._network.path
        noise = np.random.default_rng(0).normal(0, 0.05, (2, round(SAMPLE_RATE * PROBE_SECONDS)))
        heard = [rows.make(one.astype(np.float32)) for one in noise]
        whole = len(heard[0]) // rows.stack * rows.stack
        windows = np.stack([one[:whole] for one in heard])
        found = self._network(self.family.output, self.family.inputs(windows))
        if found.ndim != 2 or len(found) != 2 or found.shape[1] < LEAST:
            shape = axes_text(found.shape)
            raise InputError(f"{path}: no speaker encoder: two windows gave the shape {shape}")
        if not np.isfinite(found).all():
            raise InputError(f"{path}: gives vectors that are not finite")
        return int(found.shape[1])
