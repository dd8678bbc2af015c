import numpy as np
import pytest

from diarize import features


def noise(n: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(n) * 0.05).astype(np.float32)


def test_shape_and_counts_of_frames():
    samples = noise(32_000)
    assert features.mfcc(samples).shape == (197, 32)
    assert features.mfcc(np.stack([samples, samples])).shape == (2, 197, 32)
    assert features.mfcc(samples[: features.N_FFT + 196 * features.STEP]).shape == (197, 32)


@pytest.mark.parametrize("n", [0, 1, 511])
def test_less_than_a_frame_gives_none(n):
    assert features.mfcc(noise(n)).shape == (0, 32)


def test_frames_do_not_depend_on_what_surrounds_them():
    samples = noise(16_000)
    whole = features.mfcc(samples)
    part = features.mfcc(samples[10 * features.STEP : 10 * features.STEP + 5_000])
    np.testing.assert_allclose(part, whole[10 : 10 + len(part)], atol=2e-4)


def test_against_the_definition_written_out():
    samples = noise(512, seed=3).astype(np.float64)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    power = np.abs(np.fft.rfft(samples * 32 * np.pad(window, 56))) ** 2

    def hertz(mel: np.ndarray) -> np.ndarray:  # Slaney: linear to 1 kHz, then logarithmic
        return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))

    top = 15 + np.log(8) / (np.log(6.4) / 27)
    edges = hertz(np.linspace(0, top, 66))
    bins = np.arange(257) * 16_000 / 512
    rising = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    bands = np.maximum(0, np.minimum(rising, falling)) * 2 / (edges[2:] - edges[:-2])[:, None]
    log = np.log(bands @ power + 1e-6)
    k, m = np.arange(32)[:, None], np.arange(64)
    dct = np.cos(np.pi * k * (2 * m + 1) / 128) * np.sqrt(2 / 64)
    dct[0] /= np.sqrt(2)
    expected = dct @ log
    np.testing.assert_allclose(features.mfcc(samples.astype(np.float32))[0], expected, atol=1e-3)


def test_against_librosa():
    import librosa

    samples = noise(16_000) * np.linspace(0, 1, 16_000, dtype=np.float32)
    mel = librosa.feature.melspectrogram(
        y=samples * 32,
        sr=16_000,
        n_fft=512,
        win_length=400,
        hop_length=160,
        center=False,
        n_mels=64,
    )
    expected = librosa.feature.mfcc(S=np.log(mel + 1e-6), n_mfcc=32).T
    found = features.mfcc(samples)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-4)


@pytest.mark.parametrize("n_mels", [40, 64, 80, 128])
def test_bands_are_librosa_s_to_the_last_bit(n_mels: int):
    import librosa

    bands = librosa.filters.mel(sr=16_000, n_fft=512, n_mels=n_mels)
    assert np.array_equal(features.mel_bands(n_mels), bands.T)


def test_level_is_the_first_coefficient_alone():
    samples = noise(16_000)
    quiet, loud = (features.mfcc(samples * np.float32(g)) for g in (0.3, 3.0))
    np.testing.assert_allclose(quiet[:, 1:], loud[:, 1:], atol=1e-2)
    louder = 2 * np.log(10.0) * np.sqrt(features.N_MELS)  # tenfold, in all bands
    np.testing.assert_allclose(loud[:, 0] - quiet[:, 0], louder, atol=1e-2)


def test_level_and_a_fixed_filter_leave_with_the_mean():
    samples = noise(16_000)
    quiet, loud = (
        features.subtract_mean(features.mfcc(samples * np.float32(g))) for g in (0.3, 3.0)
    )
    np.testing.assert_allclose(quiet, loud, atol=1e-2)


@pytest.mark.needs_torchaudio
def test_torchaudio_computes_the_same():
    torch = pytest.importorskip("torch")
    try:
        module = features.torch_mfcc()
    except (ImportError, OSError) as error:
        pytest.skip(f"no torchaudio that imports: {error}")
    samples = np.stack([noise(16_000, seed) * 10.0**-seed for seed in range(4)]).astype(np.float32)
    theirs = module(torch.from_numpy(samples) * features.GAIN).transpose(-1, -2).numpy()
    np.testing.assert_allclose(theirs, features.mfcc(samples), atol=2e-4)
