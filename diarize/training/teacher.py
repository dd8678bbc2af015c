"""A teacher that has heard thousands of voices: where a single voice belongs.

Resemblyzer's encoder (Apache-2.0; an LSTM trained with GE2E) carries its weights in its package. It
is needed only here, in training: `pip install diarize-sets[teacher]`. Its vectors of several
stretches of a voice are averaged once and stored; f is pulled towards a fixed linear map of them
(`whiten`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float32

from diarize.mixing.voices import Voices

PARTIAL = 160  # frames of 10 ms the teacher hears at once
SHRINKAGE = 1.0  # of the within-voice covariance towards a sphere; best of 0.01 to 10 on dev-a
STRETCHES = 12  # partials averaged for one voice, spread evenly over its speech


def teach(voices: Voices, hook: Callable[[str, float, float], None] | None = None) -> Voices:
    """Give every voice its teacher's vector (`heard`) and its place for f (`targets`).

    Raises:
        ImportError: Resemblyzer is not installed.
    """
    import torch
    from resemblyzer import VoiceEncoder
    from resemblyzer.audio import wav_to_mel_spectrogram

    encoder = VoiceEncoder("cpu", verbose=False)
    length = PARTIAL * 160
    vectors: list[np.ndarray] = []
    owners: list[int] = []
    for voice in range(len(voices)):
        samples = voices.stretch(voice)
        samples = np.pad(samples, (0, max(0, length - len(samples))), mode="wrap")
        count = min(STRETCHES, len(samples) // length)
        begins = np.linspace(0, len(samples) - length, count).astype(int)
        mels = np.stack([wav_to_mel_spectrogram(samples[b : b + length])[:PARTIAL] for b in begins])
        with torch.inference_mode():
            vectors.append(encoder(torch.from_numpy(mels)).numpy())
        owners += [voice] * count
        if hook and voice % 20 == 0:
            hook("teacher", voice + 1, len(voices))
    every, owner = np.concatenate(vectors), np.array(owners)
    means = np.stack([every[owner == v].mean(axis=0) for v in range(len(voices))])
    heard = means / np.linalg.norm(means, axis=1, keepdims=True)
    targets = whiten(means, every, owner)
    return dataclasses.replace(voices, heard=heard.astype(np.float32), targets=targets)


def whiten(
    means: Float32[np.ndarray, "voices dim"],
    every: Float32[np.ndarray, "partials dim"],
    owner: np.ndarray,
) -> Float32[np.ndarray, "voices dim"]:
    """Map the teacher's vectors so that directions in which one voice varies count less.

    The mean is taken off and the within-voice covariance is normalised (WCCN). The teacher's
    vectors all lie in one orthant (cosines between voices near 0.6); after the map they spread
    around the origin (near 0.05), which leaves room for the vectors of mixtures.
    """
    mean = every.mean(axis=0)
    within = np.cov((every - means[owner]).T)
    dim = len(within)
    shrunk = within + SHRINKAGE * np.trace(within) / dim * np.eye(dim)
    mapped = (means - mean) @ np.linalg.cholesky(np.linalg.inv(shrunk))
    return (mapped / np.linalg.norm(mapped, axis=1, keepdims=True)).astype(np.float32)
