"""Sounds that are heard like vowels and are no voices: instruments, tones, sweeps and bells."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32, Float64

from diarize.audio import SAMPLE_RATE
from diarize.mixing.acoustics import root_mean_square, unit_power

TOGETHER = (1, 1, 2, 3)  # so many sound at once
QUIETER = 12.0  # dB by which one of them may be under another
HIGHEST = 7900.0  # Hz, of a partial
BREATHY = 0.3  # share of instruments with noise in their sound
CHORD = (0, 4, 7)  # semitones

Sound = Float64[np.ndarray, "_"]


def draw_music(rng: np.random.Generator, n: int) -> Float32[np.ndarray, "samples"]:
    """Make up n samples of a few instruments or machines, of unit power."""
    total = np.zeros(n)
    for _ in range(int(rng.choice(TOGETHER))):
        sound = MAKERS[int(rng.choice(len(MAKERS), p=SHARES))](rng, n)
        level = 10 ** (-rng.uniform(0, QUIETER) / 20)
        total += level * sound / max(root_mean_square(sound), 1e-9)
    return unit_power(total)


def _notes(rng: np.random.Generator, n: int) -> Sound:
    """An instrument, or chords of it, with its own attack, decay, partials and vibrato."""
    length = round(
        float(rng.choice((0.15, 0.3, 0.5, 0.8, 1.5, 4.0)) * rng.uniform(0.8, 1.25) * SAMPLE_RATE)
    )
    lowest, reach = rng.integers(36, 72), rng.integers(1, 26)
    partials = np.arange(1, rng.integers(2, 17))
    loudness = _loudness(rng, partials)
    attack, decay = rng.choice((0.005, 0.02, 0.1, 0.25)), rng.choice((0.1, 0.3, 1.0, 5.0, 100.0))
    vibrato, hertz_of_it = rng.choice((0.0, 0.003, 0.01, 0.03)), rng.uniform(3, 8)
    dull = rng.uniform(0, 4) * rng.integers(2)  # how much sooner high partials die away
    rests, chord = rng.choice((0.0, 0.3)), CHORD if rng.random() < 0.3 else CHORD[:1]
    track = np.zeros(n)
    for begin in range(0, n, length):
        if rng.random() < rests:
            continue
        time = np.arange(min(length, n - begin)) / SAMPLE_RATE
        swell = np.minimum(time / attack, 1) * np.exp(-time / decay)
        swell *= np.minimum((time[-1] - time) / 0.01, 1)
        bent = time - vibrato * np.cos(2 * np.pi * hertz_of_it * time) / (2 * np.pi * hertz_of_it)
        root = lowest + rng.integers(reach)
        for above in chord:
            hertz = 440 * 2 ** ((root + above - 69) / 12)
            for k, loud in zip(partials, loudness, strict=True):
                if hertz * k < HIGHEST and loud > 1e-3:
                    dying = np.exp(-dull * (k - 1) * time) if dull else 1.0
                    track[begin : begin + len(time)] += (
                        loud * swell * dying * np.sin(2 * np.pi * hertz * k * bent + k)
                    )
    if rng.random() < BREATHY:
        breath = 10 ** rng.uniform(-1.7, -0.5) * track.std()
        track += breath * rng.standard_normal(n)
    return track


def _loudness(rng: np.random.Generator, partials: np.ndarray) -> Sound:
    """How loud each partial is: falling, odd ones alone, around a resonance."""
    kind = rng.integers(4)
    if kind == 0:
        return np.exp(-(((partials - rng.uniform(1, 8)) / 3.0) ** 2))
    falling = 1.0 / partials ** rng.uniform(0.5, 2.5)
    return falling * (partials % 2) if kind == 1 else falling


def _tones(rng: np.random.Generator, n: int) -> Sound:
    """Up to three steady tones, hums or buzzes, which may beep."""
    time, track = np.arange(n) / SAMPLE_RATE, np.zeros(n)
    for _ in range(int(rng.integers(1, 4))):
        hertz, slope = 10 ** rng.uniform(1.7, 3.4), rng.uniform(0.3, 2)
        tone = np.zeros(n)
        for k in range(1, int(rng.integers(2, 21))):
            if hertz * k < HIGHEST:
                tone += np.sin(2 * np.pi * hertz * k * time + rng.uniform(0, 6)) / k**slope
        if rng.random() < 0.5:
            tone *= (time / rng.uniform(0.1, 2)) % 1 < rng.uniform(0.2, 0.8)
        track += 10 ** rng.uniform(-0.6, 0) * tone
    return track


def _sweep(rng: np.random.Generator, n: int) -> Sound:
    """A siren, or what rises and falls back, slowly or fast."""
    time = np.arange(n) / SAMPLE_RATE
    rate, depth = 10 ** rng.uniform(-1, 0.7), rng.uniform(0.05, 0.8)  # a second; octaves
    smooth = np.sin(2 * np.pi * rate * time + rng.uniform(0, 6))
    course = smooth if rng.random() < 0.6 else 2 * ((rate * time) % 1) - 1
    phase = 2 * np.pi * np.cumsum(10 ** rng.uniform(2.2, 3.3) * 2 ** (depth * course)) / SAMPLE_RATE
    slope = rng.uniform(0.5, 3)
    return sum(
        (np.sin(k * phase) / k**slope for k in range(1, int(rng.integers(2, 9)))), np.zeros(n)
    )


def _bells(rng: np.random.Generator, n: int) -> Sound:
    """What is struck: partials that are no multiples of each other and die away."""
    length, track = round(float(rng.uniform(0.1, 0.8)) * SAMPLE_RATE), np.zeros(n)
    ratios = np.append(1.0, rng.uniform(1, 9, int(rng.integers(2, 8))))
    for begin in range(0, n, length):
        time = np.arange(min(2 * length, n - begin)) / SAMPLE_RATE
        hertz = 10 ** rng.uniform(2.2, 3.2) * ratios
        for each in hertz[hertz < HIGHEST]:
            ring = np.sin(2 * np.pi * each * time) * np.exp(-time * rng.uniform(1, 12))
            track[begin : begin + len(time)] += ring * hertz[0] / each
    return track


MAKERS = (_notes, _tones, _sweep, _bells)
SHARES = (0.6, 0.14, 0.13, 0.13)
