"""A teacher that has heard thousands of real meetings: how many speak at each instant.

The network is pyannote's `segmentation` (Bredin, Laurent, "End-to-end speaker segmentation for
overlap-aware resegmentation", Interspeech 2021; MIT): learnt band-pass filters (Ravanelli, Bengio,
"Speaker recognition from raw waveform with SincNet", 2018) and four bidirectional LSTM layers say
of 5 s of sound which of up to three local voices are heard. `recipes/activity/teacher.py` brings
its weights into a safetensors file; it is needed only in training.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Float32
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from diarize.activity.counter import MOST
from diarize.activity.counts import INSTANT
from diarize.activity.spectra import INSTANT_SAMPLES
from diarize.errors import InputError
from diarize.storage.weights import last_line

SECONDS = 5.0  # that it hears at once
HOP = 1.6  # seconds between two stretches at most; answers where they overlap are averaged
TAPS = 251  # of a filter
STRIDE = 10  # samples between two outputs of a filter
FRAME = 270  # samples between two answers
CENTRE = 495  # samples before the middle of the first one


class CountingTeacher(nn.Module):
    """Which of three local voices speak in 5 s of sound, as log-odds."""

    filters: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.wave_norm = nn.InstanceNorm1d(1, affine=True)
        self.register_buffer("filters", torch.zeros(80, 1, TAPS))
        self.convs = nn.ModuleList([nn.Conv1d(80, 60, 5), nn.Conv1d(60, 60, 5)])
        self.norms = nn.ModuleList(nn.InstanceNorm1d(n, affine=True) for n in (80, 60, 60))
        self.lstm = nn.LSTM(60, 128, 4, bidirectional=True, batch_first=True)
        self.linear = nn.ModuleList([nn.Linear(256, 128), nn.Linear(128, 128)])
        self.leave = nn.Linear(128, 3)

    def forward(self, samples: Float[Tensor, "b n"]) -> Float[Tensor, "b frames 3"]:
        """Log-odds that each of three voices, in no order, speaks; a frame each 270 samples."""
        heard = functional.conv1d(self.wave_norm(samples[:, None]), self.filters, stride=STRIDE)
        heard = heard.abs()  # (b, 80, n / 10)
        for norm, conv in zip(self.norms, [*self.convs, None], strict=True):
            heard = functional.leaky_relu(norm(functional.max_pool1d(heard, 3)))
            if conv is not None:
                heard = conv(heard)
        heard, _ = self.lstm(heard.transpose(1, 2))  # (b, frames, 256)
        for layer in self.linear:
            heard = functional.leaky_relu(layer(heard))
        logits: Tensor = self.leave(heard)
        return logits

    @torch.inference_mode()
    def counts(self, samples: Float32[np.ndarray, " n"]) -> Float32[np.ndarray, "instants 4"]:
        """Probabilities of none, one, two and three voices every 20 ms of a sound of 5 s or more.

        The three voices are taken to speak independently of each other; the same instant, heard in
        several stretches, has the mean of what is said there, that of the middle most.
        """
        instants = len(samples) // INSTANT_SAMPLES
        length = round(SECONDS / INSTANT)
        stretches = 1 + math.ceil((instants - length) * INSTANT / HOP)
        begins = np.linspace(0, instants - length, stretches).round().astype(int)
        cut = [samples[b * INSTANT_SAMPLES : (b + length) * INSTANT_SAMPLES] for b in begins]
        speaks = torch.sigmoid(self(torch.from_numpy(np.stack(cut)))).numpy()  # (s, frames, 3)
        counts = _counts(speaks.astype(np.float64))  # (s, frames, 4)
        middles = (np.arange(length) + 0.5) * INSTANT_SAMPLES
        frames = np.arange(counts.shape[1]) * FRAME + CENTRE
        weight = np.hamming(length)[:, None]
        total, weights = np.zeros((instants, MOST + 1)), np.zeros((instants, 1))
        for begin, rows in zip(begins, counts, strict=True):
            columns = [np.interp(middles, frames, column) for column in rows.T]
            total[begin : begin + length] += np.stack(columns, axis=1) * weight
            weights[begin : begin + length] += weight
        return (total / weights).astype(np.float32)


def _counts(speaks: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 4"]:
    """How probable each number of independent voices is."""
    counts = np.ones((*speaks.shape[:-1], 1))
    for voice in np.moveaxis(speaks, -1, 0)[..., None]:
        silent = np.concatenate([counts * (1 - voice), np.zeros_like(voice)], axis=-1)
        spoken = np.concatenate([np.zeros_like(voice), counts * voice], axis=-1)
        counts = silent + spoken
    return counts


def load_teacher(path: Path) -> CountingTeacher:
    """Load the teacher from what `recipes/activity/teacher.py` wrote.

    Raises:
        InputError: no such file, or it is something else.
    """
    teacher = CountingTeacher()
    try:
        teacher.load_state_dict(load_file(path))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (SafetensorError, RuntimeError) as error:
        raise InputError(f"{path}: no weights of the teacher ({last_line(error)})") from None
    return teacher.eval().requires_grad_(False)
