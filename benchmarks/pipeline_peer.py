"""What each stage of the peer takes on one recording; prints JSON. For benchmarks/pipeline.py.

    python pipeline_peer.py AUDIO THREADS

Runs where silero-vad, Resemblyzer and SpectralCluster are installed. silero-vad as it is loaded by
default; windows of 1.6 s every 0.4 s, cut by Resemblyzer itself and embedded in batches;
SpectralCluster as configured for "Speaker Diarization with LSTM" (ICASSP 2018). Beyond `SPECTRAL`
windows its own reduction goes first (`max_spectral_size`), in the peer's favour: the eigenvectors
of all windows of an hour would take it most of an hour.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import soundfile
import torch
from resemblyzer import VoiceEncoder
from silero_vad import get_speech_timestamps, load_silero_vad
from spectralcluster import configs

RATE = 16_000
PER_SECOND = 2.5  # windows
BATCH = 512  # windows that are embedded together: all of an hour would not fit the caches
SPECTRAL = 1000
FIRST = 20  # seconds of the recording in the run that is not timed

stages: dict[str, tuple[float, float]] = {}


def main(path: str, threads: int) -> None:
    torch.set_num_threads(threads)
    detector, encoder = load_silero_vad(), VoiceEncoder("cpu", verbose=False)
    samples, _ = soundfile.read(path, dtype="float32", frames=FIRST * RATE)
    embed(encoder, speech_of(samples, detector))
    with stage("decoding"):
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        samples = samples.mean(axis=1)
        if rate != RATE:
            import librosa

            samples = librosa.resample(samples, orig_sr=rate, target_sr=RATE)
    with stage("activity"):
        torch.set_num_threads(threads)
        speech = speech_of(samples, detector)
    with stage("features and embedding"):
        vectors = embed(encoder, speech)
    clusterer = configs.icassp2018_clusterer
    clusterer.max_spectral_size = SPECTRAL
    with stage("clustering"):
        labels = clusterer.predict(vectors)
    print(json.dumps({"stages": stages, "speakers": len(set(labels.tolist()))}))


@contextmanager
def stage(name: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    stages[name] = time.perf_counter() - wall, time.process_time() - cpu


def speech_of(samples: np.ndarray, detector: torch.nn.Module) -> np.ndarray:
    """The speech alone, joined."""
    regions = get_speech_timestamps(torch.from_numpy(samples), detector, sampling_rate=RATE)
    return np.concatenate([samples[one["start"] : one["end"]] for one in regions])


def embed(encoder: VoiceEncoder, samples: np.ndarray) -> np.ndarray:
    """Vectors of windows, as `VoiceEncoder.embed_utterance` makes them, in batches."""
    from resemblyzer.audio import wav_to_mel_spectrogram

    waves, mels = encoder.compute_partial_slices(len(samples), PER_SECOND, 0.75)
    samples = np.pad(samples, (0, max(0, waves[-1].stop - len(samples))))
    mel = wav_to_mel_spectrogram(samples)
    vectors = []
    for first in range(0, len(mels), BATCH):
        batch = np.stack([mel[one] for one in mels[first : first + BATCH]])
        with torch.inference_mode():
            vectors.append(encoder(torch.from_numpy(batch)).numpy())
    return np.concatenate(vectors)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
