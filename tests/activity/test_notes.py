from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile

from diarize.activity import NetworkActivity, SileroActivity, whole
from diarize.activity.counts import VoiceCounts
from diarize.activity.notes import channel_powers, note_on_channels, note_on_speech, notes_on
from diarize.audio import Recording, open_recording
from diarize.storage.cache import Cache

RATE = 16_000
NOTHING = np.zeros((0, 2))


def noise(seconds: float, level: float, seed: int = 0) -> np.ndarray:
    """White noise of so many dBFS."""
    return np.random.default_rng(seed).normal(0, 10 ** (level / 20), round(seconds * RATE))


def recording(*channels: np.ndarray, **options: float) -> Recording:
    return open_recording((np.stack(channels, axis=1), RATE), **options)  # type: ignore[arg-type]


def told(of: Recording, speech: np.ndarray = NOTHING) -> str:
    (note,) = notes_on(of, speech, SileroActivity())
    return note


def test_channels_of_opposite_sign_are_told() -> None:
    one = noise(10.0, -30.0)
    assert told(recording(one, -one)) == (
        "its 2 channels cancel each other out: their mix is silent; "
        "--channels separate hears each alone"
    )
    little = noise(10.0, -60.0, seed=1)
    assert "their mix is 36 dB quieter than they are;" in told(recording(one, little - one))
    # Also where speech is given, since the mix is what is embedded.
    (note,) = notes_on(recording(one, -one), np.array([[0.0, 10.0]]), whole)
    assert "cancel each other out" in note


@pytest.mark.parametrize("n_channels", [2, 4, 8])
def test_other_channels_are_not(n_channels: int) -> None:
    unlike = [noise(10.0, -30.0, seed) for seed in range(n_channels)]
    alone = [unlike[0], *[np.zeros(10 * RATE)] * (n_channels - 1)]
    for channels in (unlike, alone, [unlike[0]] * n_channels, [np.zeros(10 * RATE)] * n_channels):
        powers = channel_powers(recording(*channels))
        assert note_on_channels(powers, n_channels) is None


def test_only_the_part_that_is_read_counts() -> None:
    one = noise(10.0, -30.0)
    other = np.where(np.arange(10 * RATE) < 5 * RATE, one, -one)
    assert note_on_channels(channel_powers(recording(one, other, end=5.0)), 2) is None
    assert note_on_channels(channel_powers(recording(one, other, start=5.0)), 2)
    alone, mixed = channel_powers(recording(one, one, start=2.0, end=7.0))
    np.testing.assert_allclose([alone, mixed], np.square(one[2 * RATE : 7 * RATE]).sum(), rtol=1e-6)


def test_one_channel_is_no_mix() -> None:
    one = noise(10.0, -30.0)
    for channel in recording(one, -one).by_channel():
        assert "cancel" not in told(channel)


def test_little_speech_is_told_with_what_was_heard() -> None:
    # A second of sound in five, of which the detector took a half; the rest is 40 dB quieter.
    sound = noise(20.0, -40.0) * np.where((np.arange(20 * RATE) // RATE) % 5 == 2, 1.0, 0.01)
    note = told(recording(sound), np.array([[2.0, 2.5]]))
    assert note == (
        "of 4.1 s in which sound is heard (loud parts at -40 dBFS), 0.5 s were taken for speech; "
        "a --vad-threshold below 0.1 takes more, --vad none takes all"
    )
    most = np.array([[2.0, 3.0], [7.0, 8.0], [12.0, 13.0], [17.0, 17.5]])
    assert notes_on(recording(sound), most, SileroActivity()) == []
    network = NetworkActivity(threshold=0.3)
    (by_network,) = notes_on(recording(sound), np.array([[2.0, 2.5]]), network)
    assert by_network == note.replace("below 0.1", "below 0.3")
    later = recording(sound, start=10.0)
    assert notes_on(later, np.array([[12.0, 13.1]]), SileroActivity()) == []
    assert "of 2.0 s in which sound is heard" in told(later, np.array([[12.0, 12.1]]))


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (0.3, "a --vad-threshold below 0.6 takes more"),
        (0.01, "the rest is like no speech, or like music"),
    ],
)
def test_a_threshold_is_named_only_where_it_helps(probability: float, said: str) -> None:
    sound = recording(noise(10.0, -40.0))
    counts = VoiceCounts(0.0, np.tile(np.float32([1 - probability, probability, 0, 0]), (500, 1)))
    (note,) = notes_on(sound, NOTHING, NetworkActivity(), counts=counts)
    assert said in note
    assert note.endswith(", --vad none takes all")


def test_silence_is_told() -> None:
    assert told(recording(np.zeros(3 * RATE))) == "it is silent throughout"
    assert note_on_speech(np.zeros(0, np.float32), 0.0, NOTHING, 0.4) == "it is silent throughout"


def test_what_was_not_detected_is_not_judged() -> None:
    assert notes_on(recording(noise(5.0, -40.0)), NOTHING, whole) == []
    assert notes_on(recording(noise(5.0, -40.0)), NOTHING, NOTHING) == []


def test_notes_need_no_second_reading_with_a_cache(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    one = noise(5.0, -40.0)
    for channels in ([one, -one], [one]):
        data = io.BytesIO()
        soundfile.write(data, np.stack(channels, axis=1), RATE, format="WAV")
        first = notes_on(open_recording(data), NOTHING, SileroActivity(), cache)
        assert first == notes_on(open_recording(data), NOTHING, SileroActivity())
        assert first == notes_on(open_recording(data), NOTHING, SileroActivity(), cache)
    assert cache.size()[0] == 2
