"""Print set accuracy by corpus, as it stands in the model card.

Usage: report.py SPEECH_DIR MODEL [SPLIT] [EPISODES]; the model `resemblyzer` is the encoder of that
package (extra `teacher`), with the mean as composition.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from diarize.embedding import CompositionalEmbedding, load_model
from diarize.embedding.model import Composition
from diarize.mixing.acoustics import coloured_noise, impulse_response, through_response
from diarize.mixing.speech import find_utterances
from diarize.mixing.voices import Voices
from diarize.training.development import (
    SETS,
    SetAccuracy,
    Sides,
    Through,
    as_recorded,
    judge,
    make_episodes,
    set_accuracy,
)
from diarize.training.embedding import development_voices

POOL = ("librispeech", "vctk")
SNR = (8.0, 20.0)  # decibels
TEACHER_LEVEL = 10 ** (-30 / 20)  # root mean square to which its package brings sound


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


def of_model(
    model: CompositionalEmbedding, voices: Mapping[str, Voices], count: int, way: Through
) -> dict[str, SetAccuracy]:
    """Set accuracy of a model, by corpus."""
    return {
        corpus: set_accuracy(model, make_episodes(own, count, seed=0, through=way))
        for corpus, own in voices.items()
    }


def of_teacher(voices: Mapping[str, Voices], count: int, way: Through) -> dict[str, SetAccuracy]:
    """Set accuracy of Resemblyzer's encoder; a g that has learned nothing is the mean."""
    from resemblyzer import VoiceEncoder
    from resemblyzer.audio import wav_to_mel_spectrogram

    encoder = VoiceEncoder("cpu", verbose=False)
    vectors = []

    def listen(rng: np.random.Generator, sides: Sides) -> Sides:
        segments = way(rng, sides).reshape(2 * SETS, -1)
        loud = segments * (TEACHER_LEVEL / np.sqrt(np.square(segments).mean(axis=1, keepdims=True)))
        mels = np.stack([wav_to_mel_spectrogram(segment) for segment in loud])
        with torch.inference_mode():
            vectors.append(encoder(torch.from_numpy(mels)).reshape(2, SETS, -1))
        return sides

    for own in voices.values():
        make_episodes(own, count, seed=0, through=listen)
    references, queries = torch.stack(vectors).unbind(1)
    mean = Composition(references.shape[-1])
    return {
        corpus: judge(r, q, mean)
        for corpus, r, q in zip(voices, references.split(count), queries.split(count), strict=True)
    }


def main(speech: Path, model: str, split: str = "dev-b", episodes: int = 1000) -> None:
    """Draw episodes of a split and measure a model on them."""
    voices = development_voices(find_utterances(speech, split), POOL)
    trained = None if model == "resemblyzer" else load_model(model)
    for name, way in WAYS.items():
        print(f"\n{split}, {name}:\n")
        print("| corpus | all | single | pair | the paper's variant | mean in place of g |")
        print("|---|---|---|---|---|---|")
        if trained is None:
            found = of_teacher(voices, episodes, way)
        else:
            found = of_model(trained, voices, episodes, way)
        for corpus, a in found.items():
            figures = (a.all, a.single, a.pair, a.literal, a.mean)
            print(f"| {corpus} |", " | ".join(f"{v:.3f}" for v in figures), "|", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *sys.argv[3:4], *map(int, sys.argv[4:5]))
