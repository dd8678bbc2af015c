from importlib.util import find_spec

import numpy as np
import pytest
import soundfile

from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.mixing import rooms
from diarize.mixing.acoustics import DIRECT, through_response

with_rooms = pytest.mark.skipif(
    find_spec("pyroomacoustics") is None, reason="needs pyroomacoustics (extra `rooms`)"
)


@pytest.fixture
def folder(tmp_path):
    """Responses whose direct sound comes at once, late, and upside down."""
    rng = np.random.default_rng(0)
    for name, at, sign in (("at-once", 0, 1), ("late", 900, 1), ("upside-down", 300, -1)):
        response = 0.05 * rng.standard_normal(2 * SAMPLE_RATE) * np.exp(-np.arange(32_000) / 2000)
        response[:at] = 0.0
        response[at] = 0.8 * sign
        soundfile.write(tmp_path / f"{name}.wav", response, SAMPLE_RATE)
    soundfile.write(tmp_path / "silent.wav", np.zeros(1000), SAMPLE_RATE)
    return tmp_path


def test_direct_sound_comes_first_and_at_unit_height(folder):
    banks = rooms.measured_rooms(folder, np.random.default_rng(0), places=4)
    assert len(banks) == 3  # what is silent is no room
    for bank in banks:
        assert bank.shape[0] == 4
        assert bank.shape[1] <= rooms.LONGEST * SAMPLE_RATE + DIRECT
        np.testing.assert_allclose(bank[:, DIRECT], 1.0, rtol=1e-3)
        assert np.abs(bank).argmax(axis=1).tolist() == [DIRECT] * 4
    tails = np.abs(banks[0][:, DIRECT + rooms.DIRECT_LENGTH :]).sum(axis=1)
    assert len(set(np.round(tails, 3))) == 4  # places differ by how near the speaker is


def test_direct_sound_stays_at_its_time(folder):
    click = np.zeros(4000, np.float32)
    click[1000] = 1.0
    for bank in rooms.draw_rooms(np.random.default_rng(0), folder, made=2):
        assert np.abs(through_response(click, bank[0])).argmax() == 1000


def test_one_seed_gives_the_same_rooms(folder):
    once, again = (rooms.draw_rooms(np.random.default_rng(3), folder, 1) for _ in range(2))
    assert len(once) == 4
    for a, b in zip(once, again, strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_pyroomacoustics_rooms_are_decaying_noise(monkeypatch):
    monkeypatch.setattr(rooms, "find_spec", lambda _: None)
    banks = rooms.offices(np.random.default_rng(0), 2, places=3)
    assert [bank.shape[0] for bank in banks] == [3, 3]


@with_rooms
def test_offices_have_places_and_an_end():
    for seed in range(3):
        (bank,) = rooms.offices(np.random.default_rng(seed), 1, places=3)
        np.testing.assert_allclose(bank[:, DIRECT], 1.0, rtol=1e-5)
        assert bank.shape[0] == 3
        assert not np.array_equal(bank[0], bank[1])
        late = np.abs(bank[:, -400:]).max()
        assert late < 0.1


def test_folders_that_cannot_be_used(tmp_path):
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="no: no such folder of rooms"):
        rooms.measured_rooms(tmp_path / "no", rng)
    with pytest.raises(InputError, match="no responses of rooms"):
        rooms.measured_rooms(tmp_path, rng)
