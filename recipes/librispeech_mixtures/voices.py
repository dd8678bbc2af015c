"""Synthesised voices for the smoke run: babble of vowels, a pitch and a vocal tract to each."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import lfilter

RATE = 16_000
SYLLABLE = 0.2  # seconds
VOWELS = np.array(
    [[300, 2300, 3000], [400, 2000, 2600], [700, 1200, 2500], [500, 900, 2400], [320, 800, 2300]]
)  # formants of a grown man, Hz (Peterson, Barney 1952, rounded)
BANDWIDTH = 80.0  # Hz


def babble(rng: np.random.Generator, seconds: float) -> np.ndarray:
    """One voice: harmonics of a gliding pitch through the formants of random vowels."""
    pitch, tract = rng.uniform(80, 260), rng.uniform(0.9, 1.3)
    sounds = []
    for _ in range(round(seconds / SYLLABLE)):
        n = round(SYLLABLE * RATE)
        glide = pitch * np.linspace(*rng.uniform(0.9, 1.1, 2), n)
        phase = np.cumsum(glide) / RATE + rng.random()
        sound = 2 * (phase % 1) - 1 + 0.1 * rng.standard_normal(n)
        for formant in tract * rng.choice(VOWELS):
            radius = np.exp(-np.pi * BANDWIDTH / RATE)
            turn = 2 * np.pi * formant / RATE
            sound = lfilter([1 - radius], [1, -2 * radius * np.cos(turn), radius**2], sound)
        sounds.append(sound / np.abs(sound).max() * np.hanning(n) ** 0.25)
    return 0.3 * np.concatenate(sounds)


def main(out: Path) -> None:
    """Write 6 speakers for each split, 8 s of each."""
    rng = np.random.default_rng(0)
    out.mkdir(parents=True, exist_ok=True)
    lines = ["path\tspeaker\tcorpus\tsplit"]
    for number in range(12):
        split = ("dev-a", "dev-b")[number % 2]
        soundfile.write(out / f"{number}.flac", babble(rng, 8.0), RATE)
        lines.append(f"{number}.flac\tvoice{number}\tlibrispeech-none\t{split}")
    (out / "speakers.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
