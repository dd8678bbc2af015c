"""Print set accuracy by corpus, as it stands in the model card."""

from __future__ import annotations

import sys
from pathlib import Path

from diarize.embedding import load_model
from diarize.mixing.speech import find_utterances
from diarize.training.development import set_accuracy
from diarize.training.embedding import development_episodes


def main(speech: Path, weights: str, split: str, episodes: int) -> None:
    """Draw episodes of a split and measure a model on them."""
    model = load_model(weights)
    utterances = find_utterances(speech, split)
    print("| corpus | all | single | pair | the paper's variant | mean in place of g |")
    print("|---|---|---|---|---|---|")
    drawn = development_episodes(utterances, ("librispeech", "vctk"), episodes)
    for corpus, windows in drawn.items():
        a = set_accuracy(model, windows)
        figures = (a.all, a.single, a.pair, a.literal, a.mean)
        print(f"| {corpus} |", " | ".join(f"{value:.3f}" for value in figures), "|")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
