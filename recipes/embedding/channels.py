"""Teach f that a telephone or a codec changes nothing, as `RESULTS.md` tells.

    python recipes/embedding/channels.py SPEECH_DIR... --model MODEL --out OUT [--start MODEL]
        [--split train] [--noise DIR...] [--rooms DIR] [--steps 3000] [--device cpu|cuda]
        [--workers 0] [--seed 0]
    python recipes/embedding/channels.py PACK --model MODEL --out OUT --device cuda [--all]

What f makes of a window is what it is to make of the same window after a telephone or a codec, and
of the window itself, so that all else stays as it is. No labels are needed, and g does not move.
OUT gets a checkpoint, from which it goes on, and at the end `model.safetensors`, with axes that are
measured anew; what else is known of the vectors stays. --start: begin with these weights, which
have learned it in part. PACK is what `timed.py` packed: there sound is made on the device as well,
and axes stay as they were; `--steps 0 --start OUT/model.safetensors` with SPEECH_DIR measures them.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from amx_encoder import hasten
from jaxtyping import Float
from packed_episodes import Episodes, joined
from packs import is_pack
from quick_episodes import episodes_on
from sounds import EDGES
from torch import Tensor

from diarize.embedding import CompositionalEmbedding, load_model, save_model
from diarize.mixing.acoustics import noises_of
from diarize.mixing.speech import utterances_of
from diarize.mixing.voices import Voices, collect_voices
from diarize.training.episodes import Batch, EpisodeConfig, EpisodeMaker
from diarize.training.knowledge import measured
from diarize.training.loop import LoopConfig, Trainer, train
from diarize.training.rendering import Acoustics, training_rooms

RATE = 1e-3
EVERY = 250  # steps
BEFORE = Acoustics(coded=0.0, rooms=0.4, one_place_rooms=0.4, noisy=0.4)
AFTER = replace(BEFORE, coded=1.0, telephone=0.75, edges=EDGES)


class Pairs(torch.utils.data.Dataset[Batch]):
    """Item t is the windows of step t after a channel, and the same before it."""

    def __init__(self, before: EpisodeMaker, after: EpisodeMaker) -> None:
        self.before, self.after = before, after

    def __getitem__(self, step: int) -> Batch:
        """Two episodes, of the same windows: both makers draw alike until there is a channel."""
        return joined([self.after[step], self.before[step]])


def pairs(
    voices: Voices,
    noises: list[np.ndarray],
    rooms: Float[np.ndarray, "rooms places taps"],
    seed: int,
) -> Pairs:
    """Windows of these voices, on both sides of a channel."""
    before, after = (
        EpisodeMaker(voices, noises, EpisodeConfig(episodes=1, acoustics=heard), seed, rooms)
        for heard in (BEFORE, AFTER)
    )
    return Pairs(before, after)


class Packed(torch.utils.data.Dataset[Batch]):
    """The same, made on a device."""

    def __init__(self, episodes: Episodes) -> None:
        self.episodes = episodes

    def __getitem__(self, step: int) -> Batch:
        """The next ones, whatever the step."""
        return self.episodes.both_sides()


class Unmoved(Trainer):
    """f, until it makes of both what it made of the windows before the channel."""

    def __init__(
        self,
        before: CompositionalEmbedding,
        start: CompositionalEmbedding,
        config: LoopConfig,
        device: str = "cpu",
    ) -> None:
        super().__init__(CompositionalEmbedding(start.config, before.knowledge), config, device)
        self.begin_with(start)
        self.before = before.to(device)

    def losses(self, batch: Batch, vectors: Float[Tensor, "e windows dim"]) -> dict[str, Tensor]:
        """How far, in cosines, both halves lie from where the windows of the second lay."""
        windows = batch.features[len(batch.features) // 2 :]
        with torch.no_grad():
            places = self.before(windows)
        after, same = (1 - (vectors.reshape(2, *places.shape) * places).sum(dim=-1)).mean(dim=-1)
        return {"channel": after, "none": same}


def main() -> None:
    """Do it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("speech", type=Path, nargs="+")
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start")
    parser.add_argument("--split")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--noise", type=Path, nargs="*", default=[])
    parser.add_argument("--rooms", type=Path)
    parser.add_argument("--all", action="store_true")
    for name, value in (("steps", 3000), ("workers", 0), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    told = parser.parse_args()
    torch.set_num_threads(1)
    packed = is_pack(told.speech[0])
    before, start = load_model(told.model), load_model(told.start or told.model)
    config = LoopConfig(told.steps, RATE, 100, round(0.9 * told.steps), every=EVERY, bf16=False)
    trainer = Unmoved(before, start, config, told.device)
    if told.device == "cpu":
        hasten(trainer.model)
    told.out.mkdir(parents=True, exist_ok=True)
    checkpoint = told.out / "checkpoint.safetensors"
    if checkpoint.exists():
        trainer.load(checkpoint)
    if packed:
        heard = EpisodeConfig(8, acoustics=AFTER)
        made = Packed(
            episodes_on(told.device)(
                told.speech[0], heard, told.device, told.seed, told.all, trainer.step
            )
        )
    else:
        voices = collect_voices(utterances_of(told.speech, told.split))
        rooms = training_rooms(told.rooms, told.seed)
        made = pairs(voices, noises_of(told.noise), rooms, told.seed)
    train(
        trainer,
        made,
        told.out,
        {},
        workers=told.workers,
        report=lambda step, parts, *_: print(step, parts, flush=True),
    )
    found = trainer.finished().cpu().eval().requires_grad_(False)
    hasten(found, False)
    if not packed:
        known = before.knowledge
        axes = measured(found, voices, known).scatter.axes
        found.knowledge = replace(known, scatter=replace(known.scatter, axes=axes))
    save_model(found, told.out / "model.safetensors", small=not packed)


if __name__ == "__main__":
    main()
