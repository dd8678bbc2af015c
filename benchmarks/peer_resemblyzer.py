"""The peer: Resemblyzer's vectors, SpectralCluster's clustering; runs where these are installed.

    python peer_resemblyzer.py REGIONS.json FOLDER

REGIONS.json is a list of {"audio", "uri", "regions"}; one RTTM each goes to FOLDER. Windows of
1.6 s every 0.4 s inside the regions, the last one extended to its region's end; the refinement of
"Speaker Diarization with LSTM" (ICASSP 2018), 2 to 7 speakers, as SpectralCluster configures it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import soundfile
from resemblyzer import VoiceEncoder
from resemblyzer.audio import wav_to_mel_spectrogram
from spectralcluster import configs

WINDOW, STEP = 1.6, 0.4  # seconds
RATE = 16_000
FRAMES = 160  # of 10 ms that the encoder hears at once


def main(listing: Path, folder: Path) -> None:
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
    import torch

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
    main(Path(sys.argv[1]), Path(sys.argv[2]))
