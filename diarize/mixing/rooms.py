"""Rooms as banks of responses: several places of one room each, measured or made."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.mixing.acoustics import DIRECT, room_bank
from diarize.mixing.speech import audio_files, read_samples

LONGEST = 1.0  # seconds of a response that are kept
NEARER_DB = (-3.0, 9.0)  # by which the direct sound of another place in the same room differs
DIRECT_LENGTH = 40  # samples, 2.5 ms, that count as direct sound


def measured_rooms(
    folder: Path, rng: np.random.Generator, places: int = 6
) -> list[Float32[np.ndarray, "places _"]]:
    """Read measured responses, one room each; places differ by how near the speaker is.

    Raises:
        InputError: no such folder, no recordings in it, or one that cannot be read.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder of rooms")
    rooms = []
    for path in audio_files(folder):
        response = read_samples(path)[: round(LONGEST * SAMPLE_RATE)]
        if len(response) and np.abs(response).max() > 0:
            rooms.append(_moved(response, rng, places))
    if not rooms:
        raise InputError(f"{folder}: no responses of rooms")
    return rooms


def _moved(
    response: Float32[np.ndarray, "_"], rng: np.random.Generator, places: int
) -> Float32[np.ndarray, "places taps"]:
    """Put the direct sound at sample DIRECT, at unit height, and the room under it."""
    peak = int(np.abs(response).argmax())
    begin = max(0, peak - DIRECT)
    aligned = np.pad(response[begin:], (DIRECT - (peak - begin), 0))
    aligned = aligned / aligned[DIRECT]
    bank = np.repeat(aligned[None], places, axis=0)
    gains = 10 ** (rng.uniform(*NEARER_DB, (places, 1)) / 20)
    bank[:, DIRECT + DIRECT_LENGTH :] /= gains
    return bank.astype(np.float32)


def offices(
    rng: np.random.Generator, rooms: int, places: int = 6
) -> list[Float32[np.ndarray, "places _"]]:
    """Make offices and living rooms with one microphone and several places.

    By the image-source method of pyroomacoustics (extra `rooms`) where it is installed, else by
    decaying noise.
    """
    if find_spec("pyroomacoustics") is None:
        return list(room_bank(rng, rooms, places))
    return [_office(rng, places) for _ in range(rooms)]


def _office(rng: np.random.Generator, places: int) -> Float32[np.ndarray, "places taps"]:
    import pyroomacoustics

    size = rng.uniform([3.0, 2.5, 2.3], [9.0, 7.0, 3.5])
    reverberation = float(rng.uniform(0.2, 0.7))
    try:
        absorption, order = pyroomacoustics.inverse_sabine(reverberation, size)
    except ValueError:  # so large a room cannot be so dry
        absorption, order = 0.6, 12
    room = pyroomacoustics.ShoeBox(
        size,
        fs=SAMPLE_RATE,
        materials=pyroomacoustics.Material(absorption),
        max_order=min(order, 25),
    )
    room.add_microphone(rng.uniform([0.5, 0.5, 0.7], size - [0.5, 0.5, 1.2]))
    for _ in range(places):
        room.add_source(rng.uniform([0.3, 0.3, 0.9], size - [0.3, 0.3, 0.5]))
    room.compute_rir()
    taps = round(reverberation * SAMPLE_RATE)
    bank = np.zeros((places, taps), np.float32)
    for row, response in zip(bank, room.rir[0], strict=True):
        peak = int(np.abs(response).argmax())
        heard = response[max(0, peak - DIRECT) :][: taps - DIRECT]
        lead = DIRECT - min(peak, DIRECT)
        row[lead : lead + len(heard)] = heard / response[peak]
    return bank


def draw_rooms(
    rng: np.random.Generator, measured: Path | None, made: int
) -> list[Float32[np.ndarray, "places _"]]:
    """Collect rooms: those of a folder, if there is one, and so many made ones."""
    found = [] if measured is None else measured_rooms(measured, rng)
    return found + offices(rng, made)
