"""silero-vad's shipped network, on whole recordings at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32, Float64

from diarize.activity.counts import STEP
from diarize.activity.level import BLOCK_SECONDS, CHUNK, as_chunks, chunk_levels, gain_of
from diarize.activity.regions import clip_regions, require_bounds, runs, without_short
from diarize.audio import SAMPLE_RATE
from diarize.storage.cache import version_of
from diarize.threads import one_thread
from diarize.torch_modes import usual_modes

if TYPE_CHECKING:
    import torch

    from diarize.audio import Recording
    from diarize.progress import Hook


CONTEXT = 64  # samples of the chunk before that the network sees
CHUNK_SECONDS = CHUNK / SAMPLE_RATE
# The probability of a chunk follows the sound: ends of speech are found 70 ms late on the median,
# beginnings 10 ms. One chunk is taken off both, which leaves room for the onset of a word, and
# LATE_END more off ends.
LATENCY = CHUNK_SECONDS
LATE_END = 0.03  # seconds


@dataclass(frozen=True, kw_only=True)
class SileroActivity:
    """Find speech with silero-vad, whatever the level.

    A first pass over the recording measures its level, a second one brings it to a common level and
    asks the network. Its recurrent state runs through the whole recording, so the
    result does not depend on how that is cut into blocks.

    Attributes:
        threshold: probability from which on there is speech, 0 to 1. In real meetings quiet speech
            hardly reaches a tenth, and noise rarely does.
        min_speech: seconds; shorter speech is dropped.
        min_silence: seconds; shorter silence within speech is filled.
    """

    threshold: float = 0.1
    min_speech: float = 0.1
    min_silence: float = 0.2

    def __post_init__(self) -> None:
        require_bounds(self.threshold, min_speech=self.min_speech, min_silence=self.min_silence)

    @property
    def identity(self) -> list[Any]:
        """All that the result depends on beside the recording, as JSON knows it."""
        return ["silero", asdict(self), version_of("silero-vad")]

    def __call__(
        self, recording: Recording, hook: Hook | None = None
    ) -> Float64[np.ndarray, "m 2"]:
        """Find the regions of speech in a recording.

        Args:
            recording: what `diarize.audio.open_recording` gave.
            hook: told progress, `hook("activity", done, total)` in seconds over both passes.

        Returns:
            Sorted, disjoint regions in seconds of the file's time, shape (m, 2).

        Raises:
            InputError: the recording turns out to be damaged.
        """
        gain = np.float32(gain_of(chunk_levels(_told(recording, hook, 0.0))))
        probabilities: list[np.ndarray] = []
        n_samples = 0
        with one_thread():
            network = SileroNetwork()
            for block in _told(recording, hook, recording.duration):
                probabilities.append(network(as_chunks(block * gain)))
                n_samples += len(block)
        return recording.start + self.regions(np.concatenate(probabilities), n_samples)

    def regions(
        self, probabilities: Float32[np.ndarray, "chunks"], n_samples: int
    ) -> Float64[np.ndarray, "m 2"]:
        """Turn the probabilities of 32 ms chunks into regions, in seconds from the first sample."""
        found = runs(probabilities >= self.threshold) * CHUNK_SECONDS
        duration = n_samples / SAMPLE_RATE
        # What is on at the very end stays on to the end; all other edges come late.
        to_the_end = found[:, 1] >= len(probabilities) * CHUNK_SECONDS
        found -= LATENCY
        found[to_the_end, 1] = duration
        found = without_short(found, self.min_silence, self.min_speech)
        found[:, 1] -= np.where(found[:, 1] < duration, LATE_END, 0.0)
        return clip_regions(found, 0.0, duration)


class SileroNetwork:
    """The network with its state: probabilities of speech for chunk after chunk.

    The magnitudes of a short-time Fourier transform pass through four convolutions, which reduce
    each chunk to one vector; an LSTM runs over these, and a last unit gives the probability. All
    but the LSTM is computed for many chunks at a time. The weights are those that silero-vad ships
    for 16 kHz (`silero_vad_16k.safetensors`): in simulated conversations, far and noisy ones above
    all, they miss less speech than those of its TorchScript file.
    """

    def __init__(self) -> None:
        self._weights = _weights()
        self._lstm = _lstm()
        self._state: tuple[torch.Tensor, torch.Tensor] | None = None
        self._context = np.zeros(CONTEXT, np.float32)

    def __call__(self, chunks: Float32[np.ndarray, "n 512"]) -> Float32[np.ndarray, "n"]:
        """Give the probabilities of the chunks that follow those of the last call."""
        import torch

        before = np.vstack([self._context, chunks[:-1, -CONTEXT:]])
        self._context = chunks[-1, -CONTEXT:].copy()
        with torch.inference_mode():
            encoded = self._encode(torch.from_numpy(np.hstack([before, chunks])))
            hidden, self._state = self._lstm(encoded[:, None], self._state)
            weight, bias = self._weights["final_conv.weight"], self._weights["final_conv.bias"]
            return torch.sigmoid(hidden[:, 0].relu() @ weight[0, :, 0] + bias).numpy()

    def _encode(self, samples: torch.Tensor) -> torch.Tensor:
        # (n, 576) -> (n, 128)
        from torch.nn.functional import conv1d, pad

        weights = self._weights
        mirrored = pad(samples[:, None], (0, CONTEXT), mode="reflect")
        frames = mirrored[:, 0].unfold(1, 256, 128)  # (n, 4, 256)
        waves = frames.reshape(-1, 256) @ weights["stft_conv.weight"][:, 0].T
        power = waves.square_()
        magnitudes = (power[:, :129] + power[:, 129:]).sqrt_()
        values = magnitudes.reshape(-1, 4, 129).transpose(1, 2)  # (n, 129, 4)
        for layer, stride in (("conv1", 1), ("conv2", 2), ("conv3", 2), ("conv4", 1)):
            weight, bias = weights[f"{layer}.weight"], weights[f"{layer}.bias"]
            values = conv1d(values, weight, bias, stride=stride, padding=1).relu_()
        return values[:, :, 0]


@cache
@usual_modes()
def _weights() -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    # Found, not imported: importing silero_vad sets torch to one thread for good.
    package = find_spec("silero_vad")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("silero-vad is not installed: pip install silero-vad")
    folder = Path(package.submodule_search_locations[0])
    return load_file(folder / "data" / "silero_vad_16k.safetensors")


@cache
@usual_modes()
def _lstm() -> torch.nn.LSTM:
    import torch

    lstm = torch.nn.LSTM(128, 128)
    state = {
        f"{kind}_{side}_l0": _weights()[f"lstm_cell.{kind}_{side}"]
        for kind in ("weight", "bias")
        for side in ("ih", "hh")
    }
    lstm.load_state_dict(state)
    return lstm


def _told(
    recording: Recording, hook: Hook | None, begun: float
) -> Iterator[Float32[np.ndarray, "_"]]:
    """The blocks of one of the two passes, which begins `begun` seconds into the work."""
    done, end = begun, begun + recording.duration
    for block in recording.blocks(BLOCK_SECONDS):
        yield block
        done = min(end, done + len(block) / SAMPLE_RATE)  # the duration may be an estimate
        if hook is not None:
            hook(STEP, done, 2 * recording.duration)
