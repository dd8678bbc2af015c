"""What lies between a mouth and a file: rooms, microphones, noise. Synthetic and seeded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32

from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.mixing.speech import audio_files, read_samples

# Reverberation times, seconds to fall by 60 dB: from a furnished office to a bare meeting room.
REVERBERATION = (0.12, 0.6)
DIRECT_TO_REVERBERANT_DB = (-4.0, 14.0)  # far from the microphone, near to it
TAIL = 0.3  # seconds of the response that are kept
DIRECT = 40  # samples before the direct sound: room for the microphone's own short response


def impulse_response(
    rng: np.random.Generator, room: float | None, distance_db: float
) -> Float32[np.ndarray, "taps"]:
    """Draw the response of one place in a room, recorded by a random microphone.

    The tail is Gaussian noise that decays exponentially (Polack's model), after a few early
    reflections; the microphone has a random slope and sometimes a telephone's band.

    Args:
        rng: where the draws come from.
        room: reverberation time in seconds; None: no room at all.
        distance_db: energy of the direct sound over that of the room, in decibels.
    """
    taps = round(TAIL * SAMPLE_RATE)
    response = np.zeros(taps)
    response[DIRECT] = 1.0
    if room is not None:
        after = np.arange(taps - DIRECT - 1) / SAMPLE_RATE
        tail = rng.standard_normal(len(after)) * 10 ** (-3 * after / room)
        tail[: rng.integers(16, 160)] = 0.0  # the first reflection comes 1 to 10 ms later
        early = rng.integers(16, 800, size=6)
        tail[early] += rng.standard_normal(6) * 3 * 10 ** (-3 * early / SAMPLE_RATE / room)
        energy = np.square(tail).sum()
        response[DIRECT + 1 :] = tail * np.sqrt(10 ** (-distance_db / 10) / energy)
    return through_microphone(rng, response).astype(np.float32)


def through_response(
    samples: Float32[np.ndarray, "*batch samples"], response: Float32[np.ndarray, "taps"]
) -> Float32[np.ndarray, "*batch samples"]:
    """What a place and a microphone make of sound; direct sound stays at its time."""
    from scipy.signal import fftconvolve

    taps = response.reshape((1,) * (samples.ndim - 1) + (-1,))
    heard = fftconvolve(samples, taps, axes=-1)
    return heard[..., DIRECT : DIRECT + samples.shape[-1]].astype(np.float32)


def through_microphone(
    rng: np.random.Generator, response: Float[np.ndarray, "*places taps"]
) -> Float[np.ndarray, "*places taps"]:
    """Filter responses by one random smooth gain curve over frequency."""
    taps = response.shape[-1]
    frequencies = np.fft.rfftfreq(taps, 1 / SAMPLE_RATE)
    octaves = np.log2(np.maximum(frequencies, 60.0) / 1000.0)
    knots = np.linspace(-4.2, 3.0, 7)
    decibels = rng.uniform(-2.5, 2.5) * octaves + np.interp(octaves, knots, rng.normal(0, 2.5, 7))
    if rng.random() < 0.1:  # a telephone: 300 to 3400 Hz
        decibels -= 24 * np.maximum(0, np.log2(np.maximum(frequencies, 1) / 3400))
        decibels -= 24 * np.maximum(0, np.log2(300 / np.maximum(frequencies, 20)))
    # The curve has no phase, so its response is symmetric around DIRECT; what would wrap is
    # negligible.
    return np.fft.irfft(np.fft.rfft(response) * 10 ** (np.clip(decibels, -60, 20) / 20), taps)


def room_bank(
    rng: np.random.Generator, rooms: int, places: int
) -> Float32[np.ndarray, "rooms places taps"]:
    """Draw rooms with several places each; a quarter of the rooms are dry."""
    bank = []
    for _ in range(rooms):
        room = None if rng.random() < 0.25 else float(rng.uniform(*REVERBERATION))
        bank.append(
            [
                impulse_response(rng, room, float(rng.uniform(*DIRECT_TO_REVERBERANT_DB)))
                for _ in range(places)
            ]
        )
    return np.array(bank, dtype=np.float32)


def coloured_noise(rng: np.random.Generator, n: int) -> Float32[np.ndarray, "samples"]:
    """Draw noise of unit power whose spectrum falls by a random slope (white to brown)."""
    frequencies = np.fft.rfftfreq(n, 1 / SAMPLE_RATE)
    shape = np.maximum(frequencies, 50.0) ** -rng.uniform(0.0, 1.0)
    spectrum = shape * (rng.standard_normal(len(shape)) + 1j * rng.standard_normal(len(shape)))
    return unit_power(np.fft.irfft(spectrum, n))


def root_mean_square(samples: np.ndarray) -> float:
    """Root mean square of samples; zero where there are none."""
    return float(np.sqrt(np.square(samples, dtype=np.float64).mean())) if len(samples) else 0.0


def unit_power(sound: np.ndarray) -> Float32[np.ndarray, "_"]:
    """Bring sound to a root mean square of one; silence stays silence."""
    unit: np.ndarray = (sound / max(root_mean_square(sound), 1e-9)).astype(np.float32)
    return unit


def noise_piece(
    noises: Sequence[Float32[np.ndarray, "_"]], n: int, rng: np.random.Generator
) -> Float32[np.ndarray, "samples"]:
    """Draw n samples of one of the noises, which begins anew where it ends."""
    noise = noises[int(rng.integers(len(noises)))]
    return np.resize(np.roll(noise, -int(rng.integers(len(noise)))), n)


def noises_of(folders: Iterable[Path]) -> list[Float32[np.ndarray, "samples"]]:
    """Read the recordings of several folders, as `read_noises` does those of one."""
    return [noise for folder in folders for noise in read_noises(folder)]


def read_noises(folder: Path) -> list[Float32[np.ndarray, "samples"]]:
    """Read every recording of a folder, each brought to unit power.

    Raises:
        InputError: no such folder, nothing in it but silence, or a recording that cannot be read.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder of noise")
    noises = []
    for path in audio_files(folder):
        samples = read_samples(path)
        power = float(np.square(samples, dtype=np.float64).mean()) if len(samples) else 0.0
        if power > 0:
            noises.append((samples / np.sqrt(power)).astype(np.float32))
    if not noises:
        raise InputError(f"{folder}: no recordings of noise")
    return noises
