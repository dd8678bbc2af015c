import numpy as np
import pytest

from diarize.audio import SAMPLE_RATE
from diarize.mixing import channel

WAYS = [channel.through_telephone, channel.through_codec, channel.clipped, channel.few_bits]


def bursts(level=0.1):
    """A second with two bursts of noise that begin at 0.25 and at 0.7 s."""
    noise = level * np.random.default_rng(0).standard_normal(SAMPLE_RATE)
    time = np.arange(SAMPLE_RATE) / SAMPLE_RATE
    return (noise * ((time % 0.45 > 0.25) | (time > 0.9))).astype(np.float32)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", WAYS)
def test_sound_stays_at_its_time_and_level(way, seed):
    """The truth is of the clean sound: a codec's delay must not shift it by a frame."""
    clean = bursts()
    heard = way(clean, np.random.default_rng(seed))
    assert heard.dtype == np.float32
    assert heard.shape == clean.shape
    assert np.isfinite(heard).all()
    envelope, other = (np.convolve(np.abs(x), np.ones(80) / 80, "same") for x in (clean, heard))
    lags = np.arange(-1600, 1601, 20)
    match = [float(envelope @ np.roll(other, -lag)) for lag in lags]
    assert abs(lags[int(np.argmax(match))]) <= 80
    assert 0.2 < np.abs(heard).mean() / np.abs(clean).mean() < 2


@pytest.mark.parametrize("way", WAYS)
def test_silence_stays_silent(way):
    silence = np.zeros(SAMPLE_RATE, np.float32)
    assert np.abs(way(silence, np.random.default_rng(0))).max() < 1e-3


def test_a_telephone_has_no_low_and_no_high_tones():
    heard = channel.through_telephone(bursts(), np.random.default_rng(3))
    power = np.abs(np.fft.rfft(heard)) ** 2
    frequencies = np.fft.rfftfreq(len(heard), 1 / SAMPLE_RATE)
    outside = (frequencies < 150) | (frequencies > 4100)
    assert power[outside].sum() < 0.02 * power.sum()


def test_clipping_cuts_peaks_alone():
    clean = bursts()
    heard = channel.clipped(clean, np.random.default_rng(0))
    limit = np.abs(heard).max()
    assert limit < 0.7 * np.abs(clean).max()
    np.testing.assert_array_equal(heard, np.clip(clean, -limit, limit))


def test_few_bits_leave_few_values():
    heard = channel.few_bits(bursts(), np.random.default_rng(0))
    assert len(np.unique(heard)) < 2000


def test_minutes_pass_a_codec(monkeypatch):
    """Libsndfile crashed the whole process on minutes of Vorbis that were written at once."""
    monkeypatch.setattr(channel, "CODECS", (("OGG", "VORBIS"),))
    minutes = np.tile(bursts(), 150)
    heard = channel.through_codec(minutes, np.random.default_rng(0))
    assert heard.shape == minutes.shape
