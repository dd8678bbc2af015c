"""Print set accuracy by corpus, as it stands in the model card.

Usage: report.py SPEECH_DIR MODEL [SPLIT] [EPISODES]; the model may be an ONNX file.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from diarize.embedding import SpeakerEncoder, load_encoder
from diarize.mixing.acoustics import coloured_noise, impulse_response, through_response
from diarize.mixing.speech import find_utterances
from diarize.mixing.voices import Voices
from diarize.training.development import (
    SetAccuracy,
    Sides,
    Through,
    as_recorded,
    judge,
    vectors_of,
)
from diarize.training.embedding import development_voices

POOL = ("librispeech", "vctk")
SNR = (8.0, 20.0)  # decibels


def other_microphones(rng: np.random.Generator, sides: Sides) -> Sides:
    """References through one microphone, queries through another one."""
    heard = []
    for side in sides:
        through = through_response(side, impulse_response(rng, None, 0.0))
        heard.append(through * side.std() / through.std())
    return np.stack(heard)


def in_noise(rng: np.random.Generator, sides: Sides) -> Sides:
    """Noise of its own under each segment."""
    heard = sides.copy()
    for segment in heard.reshape(-1, heard.shape[-1]):
        snr = rng.uniform(*SNR)
        segment += coloured_noise(rng, len(segment)) * segment.std() * np.float32(10 ** (-snr / 20))
    return heard


WAYS: dict[str, Through] = {
    "as recorded": as_recorded,
    "references and queries through different microphones": other_microphones,
    f"noise {SNR[0]:.0f} to {SNR[1]:.0f} dB below the speech": in_noise,
}


def of_encoder(
    encoder: SpeakerEncoder, voices: Mapping[str, Voices], count: int, way: Through
) -> dict[str, SetAccuracy]:
    """Set accuracy of an encoder and its g, by corpus."""
    return {
        corpus: judge(
            *vectors_of(encoder.rows, encoder.vectors, own, count, 0, way), encoder.compose
        )
        for corpus, own in voices.items()
    }


def main(speech: Path, model: str, split: str = "dev-b", episodes: int = 1000) -> None:
    """Draw episodes of a split and measure a model on them."""
    voices = development_voices(find_utterances(speech, split), POOL)
    encoder = load_encoder(model)
    for name, way in WAYS.items():
        print(f"\n{split}, {name}:\n")
        print("| corpus | all | single | pair | the paper's variant | mean in place of g |")
        print("|---|---|---|---|---|---|")
        for corpus, a in of_encoder(encoder, voices, episodes, way).items():
            figures = (a.all, a.single, a.pair, a.literal, a.mean)
            print(f"| {corpus} |", " | ".join(f"{v:.3f}" for v in figures), "|", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *sys.argv[3:4], *map(int, sys.argv[4:5]))
