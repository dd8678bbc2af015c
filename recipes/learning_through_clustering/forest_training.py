"""f and g learned through clusters: the forest's loss alone and added, with few labels.

    python forest_training.py --speech DIR --work DIR [--steps 500] [--labelled 1 0.1 0.03]

Each training is short and from scratch, on the split `train`, all on the same
voices, windows and steps; it is resumed where it stopped. Prints set accuracy on `dev-b`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from forest_loss import forest_loss
from steps.markdown import print_table
from torch import Tensor

from diarize.embedding import CompositionalEmbedding, EmbeddingConfig
from diarize.mixing.speech import find_utterances
from diarize.mixing.voices import Voices, collect_voices
from diarize.training.development import Episodes, SetAccuracy, development_episodes, set_accuracy
from diarize.training.episodes import Batch, EpisodeConfig, EpisodeMaker
from diarize.training.loop import LoopConfig, Trainer, begin, train

LOSSES = ("sets", "forest", "sets+forest")
SPEEDS = (1.0, 0.9, 1.1)
EPISODES = EpisodeConfig(episodes=2, singles=4, pairs=16, triples=0, starts=4, changes=4)
POOL = ("librispeech", "vctk")
TEST_EPISODES = 300


def make_voices(speech: Path, folder: Path) -> Voices:
    """The voices of the training split, from an earlier run where there was one."""
    if not (folder / "voices.npz").exists():
        collect_voices(find_utterances(speech, "train"), SPEEDS).save(folder)
    return Voices.load(folder)


class ForestTrainer(Trainer):
    """A trainer by the softmax over sets, by the forest's loss, or by their sum."""

    def __init__(self, model: CompositionalEmbedding, config: LoopConfig, loss: str) -> None:
        super().__init__(model, config)
        self.terms = loss.split("+")

    def losses(self, batch: Batch, vectors: Tensor) -> dict[str, Tensor]:
        """The parts of the loss."""
        # Windows alone, of pairs and of triples come first: in the others, voices come and go.
        steady = EPISODES.speakers * EPISODES.singles + EPISODES.pairs + EPISODES.triples
        parts = super().losses(batch, vectors) if "sets" in self.terms else {}
        if "forest" in self.terms:
            parts["forest"] = forest_loss(
                self.model.compose,
                vectors,
                batch.members,
                batch.alone,
                (torch.arange(batch.known.shape[1]) < steady).expand(batch.known.shape),
                batch.known,
                self.config.max_set_size,
                # The same noise again when a step is done again.
                torch.Generator(self.device).manual_seed(self.step),
            )
        return parts


def learn(
    voices: Voices, loss: str, labelled: float, steps: int, folder: Path
) -> CompositionalEmbedding:
    """Train for so many steps, or go on."""
    folder.mkdir(parents=True, exist_ok=True)
    maker = EpisodeMaker(voices, [], replace(EPISODES, labelled=labelled), seed=0)
    torch.manual_seed(0)
    model = CompositionalEmbedding(EmbeddingConfig())
    config = LoopConfig(steps=steps, cooldown=steps // 4, every=100, max_set_size=2)
    trainer = ForestTrainer(model, config, loss)
    begin(trainer, maker, folder / "checkpoint.safetensors")
    train(trainer, maker, folder, {}, workers=1)
    return model


def main() -> None:
    """Read the options, train, print the table as it grows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--speech", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--labelled", type=float, nargs="+", default=[1.0, 0.1, 0.03])
    given = parser.parse_args()
    voices = make_voices(given.speech, given.work / "voices")
    tests: dict[str, Episodes] = development_episodes(
        find_utterances(given.speech, "dev-b"), POOL, TEST_EPISODES
    )

    def row(loss: str, labelled: float) -> list[str]:
        model = learn(voices, loss, labelled, given.steps, given.work / f"{loss}-{labelled:g}")
        cells = [cell(set_accuracy(model, episodes)) for episodes in tests.values()]
        return [loss, f"{100 * labelled:g} %", *cells]

    rows = (row(loss, labelled) for labelled in given.labelled for loss in given.losses)
    print_table(("loss", "labelled", *tests), rows)


def cell(accuracy: SetAccuracy) -> str:
    """Set accuracy, and in brackets that of single voices and of pairs."""
    return f"{accuracy.all:.3f} ({accuracy.single:.2f}, {accuracy.pair:.2f})"


if __name__ == "__main__":
    main()
