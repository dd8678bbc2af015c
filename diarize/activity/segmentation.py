"""Segmentation models of others: pyannote's as an ONNX file, asked only how many speak.

The network says of each frame of a window of ten seconds which set of its (at most three) local
speakers is heard. Who they are does not matter here: the probabilities of all sets of one size are
added up, which needs no matching of speakers between windows, and windows overlap and are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32
from scipy.special import softmax

from diarize.activity.counter import MOST
from diarize.activity.counts import INSTANT, STEP, Heard
from diarize.activity.speech import SpeechByCounts
from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.storage.files import file_sha256
from diarize.storage.onnx_network import OnnxNetwork, axes_text, metadata_number, require_rate
from diarize.threads import torch_threads

if TYPE_CHECKING:
    from diarize.audio import Recording
    from diarize.progress import Hook

STEPS = 5  # windows over each instant
BATCH = 8  # windows that are heard at once
SAMPLES = round(INSTANT * SAMPLE_RATE)  # of an instant
PATIENCE = 100  # most frames by which the number of them may miss what the metadata says

Counts = Float32[np.ndarray, "_ 4"]  # a row for each instant


@dataclass(frozen=True, kw_only=True)
class SegmentationActivity(SpeechByCounts):
    """Hear how many speak, and where there is speech, with a network of others.

    Attributes:
        model: path of the ONNX file; its metadata as sherpa-onnx writes it, or in a TOML file
            beside it.
        device: "cpu" or "cuda".
    """

    model: str | Path
    device: str = "cpu"

    @property
    def identity(self) -> list[Any]:
        """All that the result depends on beside the recording, as JSON knows it."""
        content = _content(Path(self.model))
        return ["segmentation", self.threshold, self.min_speech, self.min_silence, *content]

    def prepare(self) -> None:
        """Load the network.

        Raises:
            InputError: a file that is no segmentation that can be used.
        """
        load_segmentation(Path(self.model), self.device)

    def __call__(self, recording: Recording, hook: Hook | None = None) -> Heard:
        """Listen to a recording, as `NetworkActivity` does.

        Raises:
            InputError: the recording turns out to be damaged, or the network cannot be used.
        """
        network = load_segmentation(Path(self.model), self.device)
        parts, seconds = [np.zeros((0, MOST + 1), np.float32)], 0.0
        sliding = _Sliding(network)
        for block in recording.blocks(network.window / SAMPLE_RATE):
            parts += sliding.push(block)
            seconds += len(block) / SAMPLE_RATE
            if hook is not None:
                hook(STEP, min(seconds, recording.duration), recording.duration)
        parts += sliding.finish()
        n = math.ceil(seconds / INSTANT - 1e-6)
        return self.heard(recording.start, np.concatenate(parts)[:n], seconds)


class Segmentation:
    """A network that says of each frame of a window which set of local speakers is heard.

    Attributes:
        window: samples of a window.
        frames: seconds into the window of the middle of each frame.
    """

    def __init__(self, path: Path, device: str) -> None:
        self._network = network = OnnxNetwork(path, device, torch_threads())
        (sound, *more_inputs), (answer, *_) = network.inputs, network.outputs
        one_channel = len(sound.axes) == 3 and sound.axes[1] in (1, None)
        if more_inputs or not one_channel or (sound.axes[2] or SAMPLE_RATE) < SAMPLE_RATE:
            raise InputError(
                f"{path}: no segmentation: its input {sound.name} has the shape "
                f"{axes_text(sound.axes)}, where samples of one channel were expected"
            )
        self._input, self._output = sound.name, answer.name

        def number(key: str, default: int) -> int:
            return metadata_number(path, network.metadata, key, default)

        require_rate(path, network.metadata, SAMPLE_RATE)
        hop = STEPS * SAMPLES
        self.window = number("window_size", sound.axes[2] or 10 * SAMPLE_RATE) // hop * hop
        if self.window < SAMPLE_RATE:
            raise InputError(f"{path}: windows of {self.window} samples are too short")
        self._sizes = sizes_of(number("num_speakers", 3), number("powerset_max_classes", 2))
        found = self._run(np.zeros((1, self.window), np.float32))
        width, shift = number("receptive_field_size", 991), number("receptive_field_shift", 270)
        if abs(found.shape[1] * shift - self.window) > PATIENCE * shift:
            raise InputError(f"{path}: {found.shape[1]} frames in a window, {shift} samples apart")
        middles = (np.arange(found.shape[1]) * shift + width / 2) / SAMPLE_RATE
        instants = (np.arange(self.window // SAMPLES) + 0.5) * INSTANT
        right = np.clip(np.searchsorted(middles, instants), 1, len(middles) - 1)
        share = (instants - middles[right - 1]) / (middles[right] - middles[right - 1])
        self._left, self._share = right - 1, np.clip(share, 0, 1).astype(np.float32)[:, None]

    def __call__(
        self, windows: Float32[np.ndarray, "b samples"]
    ) -> Float32[np.ndarray, "b instants 4"]:
        """Probabilities of none, one, two, three or more voices, every 20 ms of each window."""
        counts = softmax(self._run(windows), axis=-1) @ self._sizes
        left, right = counts[:, self._left], counts[:, self._left + 1]
        between: Float32[np.ndarray, "b instants 4"] = left + self._share * (right - left)
        return between

    def _run(
        self, windows: Float32[np.ndarray, "b samples"]
    ) -> Float32[np.ndarray, "b frames sets"]:
        found = self._network(self._output, {self._input: windows[:, None]})
        path, classes = self._network.path, len(self._sizes)
        if found.ndim != 3 or len(found) != len(windows) or found.shape[2] != classes:
            raise InputError(
                f"{path}: no segmentation: its output has the shape {axes_text(found.shape)}, "
                f"where {classes} sets of speakers were expected for each frame"
            )
        if not np.isfinite(found).all():
            raise InputError(f"{path}: gives values that are not finite")
        return found


def sizes_of(speakers: int, most: int) -> Float32[np.ndarray, "sets 4"]:
    """Which number of voices each class stands for: sets of 0, 1, ... `most` of the speakers."""
    if not 1 <= most <= speakers <= 8:
        raise InputError(f"sets of {most} out of {speakers} speakers cannot be")
    sizes = np.repeat(np.arange(most + 1), [comb(speakers, size) for size in range(most + 1)])
    return np.eye(MOST + 1, dtype=np.float32)[np.minimum(sizes, MOST)]


def load_segmentation(path: Path, device: str = "cpu") -> Segmentation:
    """Load a network, ready for inference; once, for as long as its files stay as they are.

    Raises:
        InputError: a file that is no segmentation that can be used.
    """
    return _loaded(path, device, _content(path))


@lru_cache(maxsize=2)
def _loaded(path: Path, device: str, content: tuple[str, ...]) -> Segmentation:
    """The network of files with this content."""
    return Segmentation(path, device)


def _content(path: Path) -> tuple[str, ...]:
    """Checksums of a network and of the metadata beside it, as far as these are there."""
    return tuple(file_sha256(one) for one in (path, path.with_suffix(".toml")) if one.is_file())


class _Sliding:
    """Windows over sound that comes in blocks; what no further window hears is given out."""

    def __init__(self, network: Segmentation) -> None:
        self._network = network
        self._hop = network.window // STEPS
        self._rest = np.zeros(0, np.float32)  # samples from the beginning of the next window on
        self._heard = 0  # windows
        n = network.window // SAMPLES
        self._weights = np.hamming(n).astype(np.float32)[:, None]
        self._sums, self._weight = np.zeros((n, MOST + 1), np.float32), np.zeros((n, 1), np.float32)

    def push(self, samples: Float32[np.ndarray, "samples"]) -> Iterator[Counts]:
        """Take in the samples that follow those of the last call."""
        self._rest = np.concatenate([self._rest, samples])
        whole = (len(self._rest) - self._network.window) // self._hop + 1
        if whole >= BATCH:
            yield from self._hear(whole)

    def finish(self) -> Iterator[Counts]:
        """There is no more sound: silence follows; the last windows are heard."""
        missing = math.ceil((len(self._rest) - self._network.window) / self._hop) + 1
        windows = max(missing, 0 if self._heard else 1)
        length = self._network.window + (windows - 1) * self._hop
        self._rest = np.pad(self._rest, (0, max(0, length - len(self._rest))))
        yield from self._hear(windows)
        yield self._sums / np.maximum(self._weight, 1e-9)

    def _hear(self, windows: int) -> Iterator[Counts]:
        hop, window = self._hop, self._network.window
        for first in range(0, windows, BATCH):
            many = range(first, min(first + BATCH, windows))
            found = self._network(np.stack([self._rest[i * hop :][:window] for i in many]))
            for one in found:
                yield self._add(one)
        self._rest = self._rest[windows * hop :]

    def _add(self, found: Counts) -> Counts:
        """Add a window's answer; give the instants before the next window, which are final."""
        n = self._hop // SAMPLES if self._heard else 0
        done = self._sums[:n] / self._weight[:n]
        self._sums = np.concatenate([self._sums[n:], np.zeros((n, MOST + 1), np.float32)])
        self._weight = np.concatenate([self._weight[n:], np.zeros((n, 1), np.float32)])
        self._sums += self._weights * found
        self._weight += self._weights
        self._heard += 1
        return done
