"""The peer, where silero-vad, Resemblyzer and SpectralCluster are installed. For pipeline.py.

    python pipeline_peer.py each AUDIO THREADS              seconds of each stage, as JSON
    python pipeline_peer.py errors REGIONS.json FOLDER      RTTM files

Windows of 1.6 s every 0.4 s; SpectralCluster as configured for "Speaker Diarization with LSTM"
(ICASSP 2018), 2 to 7 speakers. For the speed, silero-vad as it is loaded by default, windows cut by
Resemblyzer itself and embedded in batches; beyond `SPECTRAL` windows SpectralCluster's own
reduction goes first (`max_spectral_size`), in the peer's favour: the eigenvectors of all windows of
an hour would take it most of an hour. For the errors, windows inside the regions of a list of
{"audio", "uri", "regions"}, the last one of a region extended to its end.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import soundfile
import torch
from resemblyzer import VoiceEncoder
from resemblyzer.audio import wav_to_mel_spectrogram
from silero_vad import get_speech_timestamps, load_silero_vad
from spectralcluster import configs

RATE = 16_000
WINDOW, STEP = 1.6, 0.4  # seconds
FRAMES = 160  # of 10 ms that the encoder hears at once
BATCH = 512  # windows that are embedded together: all of an hour would not fit the caches
SPECTRAL = 1000
FIRST = 20  # seconds of the recording in the run that is not timed

stages: dict[str, tuple[float, float]] = {}


def each(path: str, threads: int) -> None:
    torch.set_num_threads(threads)
    detector, encoder = load_silero_vad(), VoiceEncoder("cpu", verbose=False)
    samples, _ = soundfile.read(path, dtype="float32", frames=FIRST * RATE)
    embed_all(encoder, speech_of(samples, detector))
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
        vectors = embed_all(encoder, speech)
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


def embed_all(encoder: VoiceEncoder, samples: np.ndarray) -> np.ndarray:
    """Vectors of windows, as `VoiceEncoder.embed_utterance` makes them, in batches."""
    waves, mels = encoder.compute_partial_slices(len(samples), 1 / STEP, 0.75)
    samples = np.pad(samples, (0, max(0, waves[-1].stop - len(samples))))
    mel = wav_to_mel_spectrogram(samples)
    vectors = []
    for first in range(0, len(mels), BATCH):
        batch = np.stack([mel[one] for one in mels[first : first + BATCH]])
        with torch.inference_mode():
            vectors.append(encoder(torch.from_numpy(batch)).numpy())
    return np.concatenate(vectors)


def errors(listing: Path, folder: Path) -> None:
    encoder = VoiceEncoder("cpu", verbose=False)
    for recording in json.loads(listing.read_text()):
        samples, rate = soundfile.read(recording["audio"], dtype="float32")
        assert rate == RATE, "the conversations are at 16 kHz"
        windows = [window for region in recording["regions"] for window in place(*region)]
        vectors = np.stack([embed(encoder, samples, *window) for window in windows])
        labels = configs.icassp2018_clusterer.predict(vectors)
        lines = []
        for begin, end, label in turns(recording["regions"], windows, labels):
            lines.append(
                f"SPEAKER {recording['uri']} 1 {begin:.3f} {end - begin:.3f} <NA> <NA> "
                f"speaker{label} <NA> <NA>\n"
            )
        (folder / f"{recording['uri']}.rttm").write_text("".join(lines))


def place(begin: float, end: float) -> list[tuple[float, float]]:
    """Windows of one region; a short region is one window."""
    count = max(1, int((end - begin - WINDOW) / STEP + 1e-9) + 1)
    starts = begin + STEP * np.arange(count)
    ends = np.minimum(starts + WINDOW, end)
    ends[-1] = end
    return list(zip(starts, ends, strict=True))


def embed(encoder: VoiceEncoder, samples: np.ndarray, begin: float, end: float) -> np.ndarray:
    """The encoder's vector of a window, repeated where it is shorter than the encoder hears."""
    heard = samples[round(begin * RATE) : round(end * RATE)]
    heard = np.resize(heard, max(len(heard), round(WINDOW * RATE)))
    mel = wav_to_mel_spectrogram(heard)[:FRAMES]
    with torch.inference_mode():
        return encoder(torch.from_numpy(mel[None])).numpy()[0]


def turns(
    regions: list[tuple[float, float]], windows: list[tuple[float, float]], labels: np.ndarray
) -> list[tuple[float, float, int]]:
    """Each instant goes to the window whose middle is nearest, within its region."""
    found: list[tuple[float, float, int]] = []
    middles = np.array(windows).mean(axis=1)
    begins = np.array([begin for begin, _ in windows])
    for begin, end in regions:
        own = np.flatnonzero((begins >= begin - 1e-9) & (begins < end))
        edges = [begin, *(middles[own][:-1] + middles[own][1:]) / 2, end]
        for left, right, label in zip(edges[:-1], edges[1:], labels[own], strict=True):
            if found and found[-1][1] == left and found[-1][2] == label:
                found[-1] = (found[-1][0], right, label)
            else:
                found.append((left, right, int(label)))
    return found


if __name__ == "__main__":
    kind, given, more = sys.argv[1:]
    if kind == "each":
        each(given, int(more))
    else:
        errors(Path(given), Path(more))
