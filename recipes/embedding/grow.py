r"""Give weights of the first form of f, which heard no averages, the form that it has now.

    git show 7399263:models/lstm-compositional.safetensors > first.safetensors
    python recipes/embedding/grow.py first.safetensors WORK/voices start.safetensors
    recipes/embedding/run.sh --start start.safetensors ...

WORK is a folder in which a training has collected its voices. What is added weighs nothing at
first, so the model says what it said before.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from safetensors.torch import load_file

from diarize.embedding import CompositionalEmbedding, EmbeddingConfig, save_model
from diarize.mixing.voices import Voices
from diarize.training.episodes import EpisodeConfig, EpisodeMaker
from diarize.training.loop import FIRST_LOOK


def grown(first: dict[str, torch.Tensor], voices: Voices) -> CompositionalEmbedding:
    """A model of today's form with the given weights, and zeros beside them."""
    model = CompositionalEmbedding(EmbeddingConfig())
    maker = EpisodeMaker(voices, [], EpisodeConfig(), seed=0)
    model.encode.measure([maker[FIRST_LOOK].features])
    weights = model.state_dict()
    for name, value in first.items():
        if weights[name].shape == value.shape:
            weights[name].copy_(value)
        else:  # the first layer's and the last one's: further columns
            weights[name].zero_()[:, : value.shape[1]] = value
    return model


def main() -> None:
    """Read weights, write weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("voices", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    save_model(grown(load_file(given.weights), Voices.load(given.voices)), given.out)


if __name__ == "__main__":
    main()
