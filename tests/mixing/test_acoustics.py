import numpy as np
import pytest
import soundfile

from diarize.errors import InputError
from diarize.mixing.acoustics import (
    DIRECT,
    coloured_noise,
    impulse_response,
    noise_piece,
    read_noises,
    room_bank,
    root_mean_square,
    through_response,
    unit_power,
)


def test_the_direct_sound_comes_first_and_the_tail_decays():
    response = impulse_response(np.random.default_rng(1), room=0.3, distance_db=0.0)
    power = np.square(response)
    assert power[: DIRECT - 20].sum() < 0.02 * power.sum()
    first, last = power[DIRECT + 200 : DIRECT + 1000], power[-800:]
    assert last.mean() < 0.05 * first.mean()


def test_without_a_room_nothing_but_the_microphone_is_heard():
    response = impulse_response(np.random.default_rng(2), room=None, distance_db=0.0)
    assert np.square(response[DIRECT + 400 :]).sum() < 0.02 * np.square(response).sum()


def test_direct_sound_stays_at_its_time():
    """A click is heard where it was, and what follows it after it; rows are heard apart."""
    clicks = np.zeros((2, 4000), np.float32)
    clicks[0, 100], clicks[1, 3900] = 1.0, 1.0
    response = impulse_response(np.random.default_rng(4), room=0.3, distance_db=0.0)
    heard = through_response(clicks, response)
    assert heard.shape == clicks.shape and heard.dtype == np.float32
    np.testing.assert_allclose(heard[0, 100:1100], response[DIRECT : DIRECT + 1000], atol=1e-6)
    np.testing.assert_allclose(heard[1, 3900:], response[DIRECT : DIRECT + 100], atol=1e-6)
    np.testing.assert_allclose(heard[1], through_response(clicks[1], response), atol=1e-6)


def test_draws_are_seeded():
    banks = [room_bank(np.random.default_rng(3), 2, 3) for _ in range(2)]
    assert banks[0].shape[:2] == (2, 3)
    np.testing.assert_array_equal(*banks)


def test_power_of_sound():
    assert root_mean_square(np.zeros(0)) == 0
    assert root_mean_square(np.array([3, -3], np.float32)) == 3
    assert unit_power(np.array([0.5, -0.5], np.float32)).tolist() == [1, -1]
    assert unit_power(np.zeros(2)).tolist() == [0, 0]


def test_a_piece_of_noise_begins_anew_where_it_ends():
    noise = np.arange(5, dtype=np.float32)
    piece = noise_piece([noise], 12, np.random.default_rng(0))
    assert (np.diff(piece) % 5 == 1).all() and len(piece) == 12


def test_noise_has_unit_power(tmp_path):
    assert np.isclose(np.square(coloured_noise(np.random.default_rng(0), 16_000)).mean(), 1, 1e-3)
    soundfile.write(tmp_path / "hum.wav", 0.01 * np.sin(np.arange(16_000)), 16_000)
    soundfile.write(tmp_path / "nothing.wav", np.zeros(100), 16_000)
    (noise,) = read_noises(tmp_path)
    assert np.isclose(np.square(noise).mean(), 1, 1e-3)


def test_a_folder_without_noise_is_refused(tmp_path):
    with pytest.raises(InputError, match="no: no such folder of noise"):
        read_noises(tmp_path / "no")
    soundfile.write(tmp_path / "silence.wav", np.zeros(1000), 16_000)
    with pytest.raises(InputError, match="no recordings of noise"):
        read_noises(tmp_path)
