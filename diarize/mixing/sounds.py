"""Sounds of a room that are not speech: breath, coughs, keys, knocks, babble behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32

from diarize.audio import SAMPLE_RATE
from diarize.mixing.acoustics import root_mean_square

KINDS = ("breath", "cough", "keys", "knock", "recorded")


def draw_events(
    rng: np.random.Generator, n: int, rate: float, noises: Sequence[Float32[np.ndarray, "_"]]
) -> Float32[np.ndarray, "samples"]:
    """Scatter short sounds, `rate` of them a second, relative to speech at a level of one.

    Some are pieces of `noises`, which have unit power.
    """
    track = np.zeros(n, np.float32)
    for _ in range(int(rng.poisson(rate * n / SAMPLE_RATE))):
        kind = KINDS[int(rng.integers(len(KINDS) if len(noises) else len(KINDS) - 1))]
        sound = recorded(rng, noises) if kind == "recorded" else _MAKERS[kind](rng)
        begin = int(rng.integers(max(1, n - len(sound))))
        piece = sound[: n - begin]
        track[begin : begin + len(piece)] += piece * np.float32(10 ** (rng.uniform(-28, 2) / 20))
    return track


def recorded(
    rng: np.random.Generator, noises: Sequence[Float32[np.ndarray, "_"]]
) -> Float32[np.ndarray, "_"]:
    """A short piece of a recording of noise, faded at both ends."""
    noise = noises[int(rng.integers(len(noises)))]
    n = min(len(noise), round(float(rng.uniform(0.1, 2.0)) * SAMPLE_RATE))
    begin = int(rng.integers(len(noise) - n + 1))
    return _faded(noise[begin : begin + n])


def _breath(rng: np.random.Generator) -> np.ndarray:
    n = round(float(rng.uniform(0.15, 0.6)) * SAMPLE_RATE)
    swell = np.sin(np.linspace(0, np.pi, n)) ** float(rng.uniform(0.7, 3))
    return _coloured(rng, n, float(rng.uniform(300, 1500)), float(rng.uniform(3000, 7500))) * swell


def _cough(rng: np.random.Generator) -> np.ndarray:
    bursts = []
    for _ in range(int(rng.integers(1, 4))):
        n = round(float(rng.uniform(0.1, 0.35)) * SAMPLE_RATE)
        decay = np.exp(-np.arange(n) / (float(rng.uniform(0.03, 0.12)) * SAMPLE_RATE))
        bursts += [2 * _coloured(rng, n, 200, float(rng.uniform(2000, 6000))) * decay]
        bursts += [np.zeros(round(float(rng.uniform(0.03, 0.2)) * SAMPLE_RATE))]
    return np.concatenate(bursts)


def _keys(rng: np.random.Generator) -> np.ndarray:
    n = round(float(rng.uniform(0.3, 3.0)) * SAMPLE_RATE)
    track = np.zeros(n)
    for _ in range(max(1, int(rng.poisson(6 * n / SAMPLE_RATE)))):
        length = round(float(rng.uniform(0.003, 0.03)) * SAMPLE_RATE)
        begin = int(rng.integers(max(1, n - length)))
        click = _coloured(rng, length, 800, 7800) * np.exp(-np.arange(length) / (length / 4))
        track[begin : begin + length] += 2 * click[: n - begin]
    return track


def _knock(rng: np.random.Generator) -> np.ndarray:
    n = round(float(rng.uniform(0.08, 0.5)) * SAMPLE_RATE)
    decay = np.exp(-np.arange(n) / (float(rng.uniform(0.01, 0.08)) * SAMPLE_RATE))
    return 3 * _coloured(rng, n, 40, float(rng.uniform(150, 2500))) * decay


_MAKERS = {"breath": _breath, "cough": _cough, "keys": _keys, "knock": _knock}


def _coloured(rng: np.random.Generator, n: int, low: float, high: float) -> np.ndarray:
    """Noise of unit power between two frequencies."""
    frequencies = np.fft.rfftfreq(n, 1 / SAMPLE_RATE)
    band = ((frequencies >= low) & (frequencies <= high)).astype(float)
    if not band.any():
        band[:] = 1.0
    noise = np.fft.irfft(
        band * (rng.standard_normal(len(band)) + 1j * rng.standard_normal(len(band))), n
    )
    return np.asarray(noise / max(root_mean_square(noise), 1e-9))


def _faded(samples: np.ndarray) -> Float32[np.ndarray, "_"]:
    n = min(len(samples) // 2, round(0.01 * SAMPLE_RATE))
    ramp = np.ones(len(samples), np.float32)
    if n:
        slope = np.linspace(0, 1, n, dtype=np.float32)
        ramp[:n], ramp[-n:] = slope, slope[::-1]
    return (samples * ramp).astype(np.float32)
