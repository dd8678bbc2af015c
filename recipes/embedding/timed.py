"""Train f and g by the clock: minutes on a GPU that does all of it, or hours on a processor.

    python recipes/embedding/timed.py pack VOICES OUT --noise DIR... --rooms DIR [--train VOICES]
    python recipes/embedding/timed.py train PACK OUT MODEL... [--minutes 5] [--all]
        [--episodes 24] [--rate 1e-3] [--flat] [--device cuda]
    python recipes/embedding/timed.py average OUT.safetensors MODEL MODEL...

The usual training makes its windows slowly, which keeps a GPU waiting. `pack` writes the voices
that such a training collected (`WORK/voices`) as Ogg Opus, with noise and rooms, a few tens of MB
to carry to another machine; of the speakers of all splits it marks those of `train`. `train` goes
on with models side by side, each in a process of its own, on windows that one more process renders
for all of them, as `go_on.py` does with one, and writes them to OUT under their names. The episodes
are the same (`EpisodeConfig`) but for three things: a speaker is another voice by being played at
any speed from 0.8 to 1.25, with formants up to an eighth higher or lower than his, not by Praat; a
lossy codec is a limit on the band; GSM is mu-law. On a processor f runs in bfloat16
(`amx_encoder.py`) and voices are varied beforehand (`quick_episodes.py`): two cores take three
branches through 9 to 14 episodes a second each.

It stops by the clock, by which the rate falls; with `--flat` it does not, for a training that will
go on. OUT/mean gets the averages over the last steps. `average` writes the mean of weights that
began with the same. `narrow.py` and `channels.py` read a pack as well.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from multiprocessing import Queue
from pathlib import Path

import numpy as np
import torch
from amx_encoder import hasten
from go_on import APART, RATE, USUAL, cropped, going_on
from packs import pack
from quick_episodes import episodes_on
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, get_swa_multi_avg_fn

from diarize.embedding import CompositionalEmbedding, load_model, save_model
from diarize.mixing.acoustics import noises_of
from diarize.mixing.voices import Voices
from diarize.training.episodes import EpisodeConfig
from diarize.training.loop import LoopConfig, Trainer
from diarize.training.rendering import training_rooms

CHECKPOINT = 60.0  # seconds between two files of weights
AHEAD = 8  # batches that wait for a model
USES, RECENT = 2, 192  # of a batch, at most in the mean; and those that may be used again
AVERAGED = 0.999  # share that averages keep at a step


def render(told: argparse.Namespace, queues: Sequence[Queue]) -> None:
    """Make batches for all models, a process that goes on until it is ended."""
    torch.set_num_threads(1)
    usual, apart = (EpisodeConfig(told.episodes, acoustics=sound) for sound in (USUAL, APART))
    episodes = episodes_on(told.device)(told.pack, usual, told.device, told.seed, told.all)
    for number in count():
        episodes.config = (usual, apart)[number % 2]
        batch = episodes.batch()
        batch = replace(batch, features=batch.features.half()).to("cpu")
        for queue in queues:
            queue.put(batch)


def learn(told: argparse.Namespace, name: str, queue: Queue) -> None:
    """Take steps with one model until the time is over, a process of its own."""
    torch.manual_seed(told.seed)
    torch.set_num_threads(1)
    config = LoopConfig(rate=told.rate, warmup=told.warmup)
    trainer = going_on(Timed, load_model(name), config, told.device)
    trainer.flat = told.flat
    if told.device == "cpu":
        hasten(trainer.model)
    averaged = AveragedModel(trainer.model, multi_avg_fn=get_ema_multi_avg_fn(AVERAGED))
    rng = np.random.default_rng([told.seed, 5])
    batch = queue.get().to(told.device)
    made, recent = 1, deque([batch], maxlen=RECENT)
    began = shown = time.monotonic()
    losses: list[float] = []
    while True:
        now = time.monotonic()
        trainer.over = (now - began) / (60 * told.minutes)
        batch = cropped(batch, rng)
        batch = replace(batch, features=batch.features.float())
        losses.append(trainer.advance(batch)["windows"])
        averaged.update_parameters(trainer.model)
        if now >= shown + CHECKPOINT or trainer.over >= 1:
            mean, shown, losses = np.mean(losses), now, []
            took = f"{now - began:5.0f} s {trainer.step:6d} steps of {made:6d} batches"
            print(f"{Path(name).stem} {took} {mean:.4f}", flush=True)
            save_model(trainer.finished(), told.out / Path(name).name)
            save_model(averaged.module, told.out / "mean" / Path(name).name)
        if trainer.over >= 1:
            return
        if trainer.step >= USES * made or not queue.empty():
            batch = queue.get().to(told.device)
            recent.append(batch)
            made += 1
        else:
            batch = recent[int(rng.integers(len(recent)))]


def train(told: argparse.Namespace) -> None:
    """One process renders for all models, which learn in one process each."""
    (told.out / "mean").mkdir(parents=True, exist_ok=True)
    torch.multiprocessing.set_sharing_strategy("file_system")  # many batches wait
    context = torch.multiprocessing.get_context("spawn")
    queues = [context.Queue(AHEAD) for _ in told.models]
    renderer = context.Process(target=render, args=(told, queues), daemon=True)
    learners = [
        context.Process(target=learn, args=(told, *each), daemon=True)
        for each in zip(told.models, queues, strict=True)
    ]
    for process in (renderer, *learners):
        process.start()
    while any(learner.is_alive() for learner in learners):
        time.sleep(0.5)
        if not renderer.is_alive() or any(learner.exitcode for learner in learners):
            sys.exit("a process ended before its time")
    renderer.terminate()


def average(names: Sequence[str]) -> CompositionalEmbedding:
    """The mean of the weights of some models."""
    models = [load_model(name) for name in names]
    mean = AveragedModel(models[0], multi_avg_fn=get_swa_multi_avg_fn())
    for model in models:
        mean.update_parameters(model)
    averaged = mean.module
    assert isinstance(averaged, CompositionalEmbedding)
    return averaged


class Timed(Trainer):
    """The rate rises for `warmup` steps and falls over the last three fifths of the time."""

    over = 0.0
    flat = False  # it does not fall

    def rate(self, step: int) -> float:
        """By the clock."""
        up = min(1.0, (step + 1) / max(1, self.config.warmup))
        down = 1.0 if self.flat else max(0.0, min(1.0, (1 - self.over) / 0.6))
        return self.config.rate * up * down


def main() -> None:
    """Do what is told."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("voices", type=Path)
    packing.add_argument("out", type=Path)
    packing.add_argument("--noise", type=Path, nargs="*", default=[])
    packing.add_argument("--rooms", type=Path)
    packing.add_argument("--seed", type=int, default=0)
    packing.add_argument("--train", type=Path)
    training = commands.add_parser("train")
    training.add_argument("pack", type=Path)
    training.add_argument("out", type=Path)
    training.add_argument("models", nargs="+")
    training.add_argument("--all", action="store_true")
    training.add_argument("--flat", action="store_true")
    training.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    training.add_argument("--minutes", type=float, default=5.0)
    training.add_argument("--rate", type=float, default=RATE)
    for name, value in (("episodes", 24), ("warmup", 200), ("seed", 0)):
        training.add_argument(f"--{name}", type=int, default=value)
    averaging = commands.add_parser("average")
    averaging.add_argument("out", type=Path)
    averaging.add_argument("models", nargs="+")
    told = parser.parse_args()
    if told.command == "train":
        train(told)
    elif told.command == "average":
        save_model(average(told.models), told.out)
    else:
        rooms = training_rooms(told.rooms, told.seed)
        known = None if told.train is None else Voices.load(told.train).speakers
        pack(Voices.load(told.voices), told.out, noises_of(told.noise), rooms, known)


if __name__ == "__main__":
    main()
