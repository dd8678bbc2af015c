"""Play conversations through a telephone or in a reverberant room; their RTTM goes along.

    PYTHONPATH=recipes python channels.py telephone|room CONVERSATIONS OUT [--seed 0]

The telephone: 300 to 3400 Hz, 8 kHz, mu-law of 8 bits. The room: far from the microphone, and as
long in its reverberation as any that training draws; one room and one place for all.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile
import soxr
from scipy.signal import butter, sosfilt

from diarize.audio import SAMPLE_RATE
from diarize.mixing.acoustics import coloured_noise, impulse_response, through_response
from diarize.mixing.speech import audio_files, read_samples

TELEPHONE_RATE = 8_000  # Hz
BAND = (300.0, 3400.0)  # Hz
LEVEL = 0.1  # root mean square at which the telephone is spoken into
REVERBERATION = 0.6  # seconds
DISTANCE = -8.0  # decibels of the direct sound over the room's
SNR = 15.0  # decibels over the room's noise

Channel = Callable[[np.ndarray, np.random.Generator], tuple[np.ndarray, int]]


def telephone(samples: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """What comes out at the other end, and its rate."""
    heard = sosfilt(butter(6, BAND, "bandpass", fs=SAMPLE_RATE, output="sos"), samples)
    heard = soxr.resample(heard, SAMPLE_RATE, TELEPHONE_RATE)
    heard *= LEVEL / np.sqrt(np.square(heard).mean())
    return np.clip(heard, -1, 1).astype(np.float32), TELEPHONE_RATE


def room(samples: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """What a far microphone hears, and its rate."""
    response = impulse_response(np.random.default_rng(7), REVERBERATION, DISTANCE)
    wet = through_response(samples, response)
    noise = coloured_noise(rng, len(wet)) * np.sqrt(np.square(wet).mean()) * 10 ** (-SNR / 20)
    heard = wet + noise
    return (heard * min(1.0, 0.99 / np.abs(heard).max())).astype(np.float32), SAMPLE_RATE


CHANNELS: dict[str, Channel] = {"telephone": telephone, "room": room}


def main() -> None:
    """Write NAME.wav beside NAME.rttm for each recording."""
    parser = argparse.ArgumentParser()
    parser.add_argument("channel", choices=sorted(CHANNELS))
    parser.add_argument("conversations", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(audio_files(args.conversations)):
        rng = np.random.default_rng([args.seed, number])
        samples, rate = CHANNELS[args.channel](read_samples(path), rng)
        kind = "ULAW" if rate == TELEPHONE_RATE else "PCM_16"
        soundfile.write(args.out / f"{path.stem}.wav", samples, rate, subtype=kind)
        shutil.copy(path.with_suffix(".rttm"), args.out)


if __name__ == "__main__":
    main()
