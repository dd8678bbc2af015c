"""What a sound passes on its way into a file: telephones, codecs, clipping, few bits."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
from jaxtyping import Float32

from diarize.audio import SAMPLE_RATE
from diarize.mixing.acoustics import root_mean_square

TELEPHONE = (300.0, 3400.0)  # Hz
NARROW = 8_000  # samples a second on a telephone
# Format, subtype and rate of lossy files that libsndfile writes by itself.
CODECS = (("OGG", "OPUS"), ("MP3", "MPEG_LAYER_III"), ("OGG", "VORBIS"))

BLOCK = 65_536  # samples written at a time: libsndfile crashes on minutes of Vorbis at once


@cache
def _filter(band: tuple[float, float]) -> np.ndarray:
    from scipy.signal import butter

    sections: np.ndarray = butter(4, band, "bandpass", fs=SAMPLE_RATE, output="sos")
    return sections


def through_telephone(
    samples: Float32[np.ndarray, "samples"],
    rng: np.random.Generator,
    band: tuple[float, float] = TELEPHONE,
) -> Float32[np.ndarray, "samples"]:
    """Limit the band (Hz), go down to 8 kHz and back, some of the time by GSM or mu-law."""
    import soxr
    from scipy.signal import sosfilt

    narrow = soxr.resample(sosfilt(_filter(band), samples).astype(np.float32), SAMPLE_RATE, NARROW)
    peak = max(float(np.abs(narrow).max()), 1e-9)
    kind = rng.random()
    if kind < 0.35:
        narrow = _written(narrow * (0.5 / peak), NARROW, "WAV", "GSM610") * (peak / 0.5)
    elif kind < 0.7:
        narrow = _written(narrow * (0.5 / peak), NARROW, "WAV", "ULAW") * (peak / 0.5)
    return _as_long(soxr.resample(narrow, NARROW, SAMPLE_RATE), samples)


def through_codec(
    samples: Float32[np.ndarray, "samples"], rng: np.random.Generator
) -> Float32[np.ndarray, "samples"]:
    """Write a lossy file at a low rate and read it again."""
    kind, subtype = CODECS[int(rng.integers(len(CODECS)))]
    peak = max(float(np.abs(samples).max()), 1e-9)
    quality = float(rng.uniform(0.6, 0.98))
    heard = _written(samples * (0.5 / peak), SAMPLE_RATE, kind, subtype, quality) * (peak / 0.5)
    return _as_long(heard, samples)


def clipped(
    samples: Float32[np.ndarray, "samples"], rng: np.random.Generator
) -> Float32[np.ndarray, "samples"]:
    """Cut off the loudest peaks, as an overdriven input does."""
    limit = float(np.abs(samples).max()) * 10 ** (-rng.uniform(4, 20) / 20)
    return np.clip(samples, -limit, limit)


def few_bits(
    samples: Float32[np.ndarray, "samples"], rng: np.random.Generator
) -> Float32[np.ndarray, "samples"]:
    """Record very quietly with 16 bits."""
    rms = root_mean_square(samples) + 1e-12
    scale = 10 ** (rng.uniform(-62, -45) / 20) / rms * 32767
    return (np.round(samples * scale) / scale).astype(np.float32)


def _written(
    samples: np.ndarray, rate: int, kind: str, subtype: str, compression: float | None = None
) -> np.ndarray:
    import soundfile

    file = io.BytesIO()
    level = {} if compression is None else {"compression_level": compression}
    with soundfile.SoundFile(file, "w", rate, 1, subtype, format=kind, **level) as written:
        for begin in range(0, len(samples), BLOCK):
            written.write(samples[begin : begin + BLOCK])
    file.seek(0)
    read, _ = soundfile.read(file, dtype="float32")
    return np.asarray(read)


def _as_long(
    samples: np.ndarray, other: Float32[np.ndarray, "samples"]
) -> Float32[np.ndarray, "samples"]:
    n = len(other)
    return np.pad(samples[:n], (0, max(0, n - len(samples)))).astype(np.float32)
