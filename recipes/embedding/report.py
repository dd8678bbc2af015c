r"""Print set accuracy by corpus, through other channels and by length, as the model card has it.

    PYTHONPATH=recipes python report.py MODEL SPEECH_DIR... [--split dev-b] [--episodes 500] \
        [--seconds 1.4 1 0.7]

The model may be an ONNX file. With --seconds, there is a table of segments of these lengths too.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from steps.markdown import print_table

from diarize.embedding import SpeakerEncoder, load_encoder
from diarize.mixing.acoustics import coloured_noise, impulse_response, through_response
from diarize.mixing.speech import utterances_of
from diarize.mixing.voices import Voices
from diarize.training.development import (
    SECONDS,
    SetAccuracy,
    Sides,
    Through,
    as_recorded,
    development_voices,
    judge,
    vectors_of,
)

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
    encoder: SpeakerEncoder,
    voices: Mapping[str, Voices],
    count: int,
    way: Through,
    seconds: float = SECONDS,
) -> dict[str, SetAccuracy]:
    """Set accuracy of an encoder and its g, by corpus."""

    def of(own: Voices) -> SetAccuracy:
        vectors = vectors_of(encoder.rows, encoder.vectors, own, count, 0, way, seconds)
        return judge(*vectors, encoder.compose)

    return {corpus: of(own) for corpus, own in voices.items()}


def main() -> None:
    """Draw episodes of a split and measure a model on them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("speech", type=Path, nargs="+")
    parser.add_argument("--split", default="dev-b")
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--seconds", type=float, nargs="*", default=[])
    told = parser.parse_args()
    voices = development_voices(utterances_of(told.speech, told.split), POOL)
    encoder = load_encoder(told.model)
    columns = ("corpus", "all", "single", "pair", "the paper's variant", "mean in place of g")
    for name, way in WAYS.items():
        found = of_encoder(encoder, voices, told.episodes, way)
        print(f"\n{told.split}, {name}:\n")
        print_table(
            columns, ((corpus, *map(_figure, vars(a).values())) for corpus, a in found.items())
        )
    if told.seconds:
        print(f"\n{told.split}, as recorded, all, by the length of references and queries:\n")
        by_length = [
            of_encoder(encoder, voices, told.episodes, as_recorded, s) for s in told.seconds
        ]
        rows = ((corpus, *(_figure(found[corpus].all) for found in by_length)) for corpus in voices)
        print_table(("corpus", *(f"{s:g} s" for s in told.seconds)), rows)


def _figure(share: float) -> str:
    return f"{share:.3f}"


if __name__ == "__main__":
    main()
