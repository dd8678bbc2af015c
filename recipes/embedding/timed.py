"""Train f and g by the clock: minutes on a GPU that does all of it, or hours on a processor.

    python recipes/embedding/timed.py pack VOICES OUT --noise DIR... --rooms DIR [--train VOICES]
    python recipes/embedding/timed.py train PACK OUT MODEL [--minutes 5] [--all] [--learners 2]
        [--episodes 8] [--rate 1e-3] [--flat] [--device cuda]
    python recipes/embedding/timed.py average OUT.safetensors MODEL MODEL...

The usual training makes its windows slowly, which keeps a GPU waiting. `pack` writes the voices
that such a training collected (`WORK/voices`) as Ogg Opus, with noise and rooms, a few tens of MB
to carry to another machine; of the speakers of all splits it marks those of `train`. `train` goes
on with a model, in processes that each take the gradient of so many episodes, on windows that one
more process renders for all of them. The episodes are the same (`EpisodeConfig`) but for three
things: a speaker is another voice by being played at any speed from 0.8 to 1.25, with formants up
to an eighth higher or lower than his, not by Praat; a lossy codec is a limit on the band; GSM is
mu-law. On a processor f runs in bfloat16 (`amx_encoder.py`) and voices are varied beforehand
(`quick_episodes.py`): two cores take f through 11 episodes a second.

It stops by the clock, by which the rate falls; with `--flat` it does not, for a training that will
go on. OUT gets `model.safetensors`, and in `mean.safetensors` the average over the last steps.
`average` writes the mean of weights that began with the same. `narrow.py` and `channels.py` read a
pack as well.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from itertools import count
from multiprocessing import Queue
from pathlib import Path

import numpy as np
import torch
from amx_encoder import hasten
from muon import RATE, going_on
from packs import pack
from quick_episodes import episodes_on
from sounds import APART, USUAL, cropped
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, get_swa_multi_avg_fn

from diarize.embedding import CompositionalEmbedding, load_model, save_model
from diarize.mixing.acoustics import noises_of
from diarize.mixing.voices import Voices
from diarize.training.episodes import EpisodeConfig
from diarize.training.loop import LoopConfig, Trainer
from diarize.training.processes import Processes
from diarize.training.rendering import training_rooms

CHECKPOINT = 60.0  # seconds between two files of weights
AHEAD = 8  # batches that wait
AVERAGED = 0.999  # share that averages keep at a step


def render(told: argparse.Namespace, queue: Queue) -> None:
    """Make batches, a process that goes on until it is ended."""
    torch.set_num_threads(1)
    usual, apart = (EpisodeConfig(told.episodes, acoustics=sound) for sound in (USUAL, APART))
    episodes = episodes_on(told.device)(told.pack, usual, told.device, told.seed, told.all)
    for number in count():
        episodes.config = (usual, apart)[number // told.learners % 2]
        batch = episodes.batch()
        queue.put(replace(batch, features=batch.features.half()).to("cpu"))


def join(told: argparse.Namespace, rank: int, queue: Queue) -> None:
    """Learn with others, a process of its own."""
    import_module("torch._dynamo")  # as `diarize.training.processes` has it
    meeting = f"file://{told.out / 'meeting'}"
    torch.distributed.init_process_group(
        "gloo", init_method=meeting, rank=rank, world_size=told.learners
    )
    learn(told, Processes(rank, told.learners), queue)
    torch.distributed.destroy_process_group()


def learn(told: argparse.Namespace, processes: Processes, queue: Queue) -> None:
    """Take steps until the time is over."""
    torch.manual_seed(told.seed)
    torch.set_num_threads(1)
    config = LoopConfig(rate=told.rate, warmup=told.warmup)
    trainer = going_on(Timed, load_model(told.model), config, told.device)
    trainer.processes, trainer.flat = processes, told.flat
    if told.device == "cpu":
        hasten(trainer.model)
    averaged = AveragedModel(trainer.model, multi_avg_fn=get_ema_multi_avg_fn(AVERAGED))
    rng = np.random.default_rng([told.seed, 5, processes.rank])
    began = shown = time.monotonic()
    losses: list[float] = []
    while trainer.over < 1:
        batch = queue.get().to(told.device)
        batch = cropped(replace(batch, features=batch.features.float()), rng)
        over = torch.tensor([(time.monotonic() - began) / (60 * told.minutes)])
        processes.average([over])  # so that all stop at one step
        trainer.over = float(over)
        losses.append(trainer.advance(batch)["windows"])
        averaged.update_parameters(trainer.model)
        now = time.monotonic()
        if processes.first and (now >= shown + CHECKPOINT or trainer.over >= 1):
            print(f"{now - began:5.0f} s {trainer.step:6d} steps {np.mean(losses):.4f}", flush=True)
            shown, losses = now, []
            save_model(trainer.finished(), told.out / "model.safetensors")
            save_model(averaged.module, told.out / "mean.safetensors")


def train(told: argparse.Namespace) -> None:
    """One process renders for all learners."""
    told.out.mkdir(parents=True, exist_ok=True)
    (told.out / "meeting").unlink(missing_ok=True)  # of a training that was stopped
    torch.multiprocessing.set_sharing_strategy("file_system")  # many batches wait
    context = torch.multiprocessing.get_context("spawn")
    queue = context.Queue(AHEAD)
    renderer = context.Process(target=render, args=(told, queue), daemon=True)
    learners = [
        context.Process(target=join, args=(told, rank, queue), daemon=True)
        for rank in range(told.learners)
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
    training.add_argument("model")
    training.add_argument("--all", action="store_true")
    training.add_argument("--flat", action="store_true")
    training.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    training.add_argument("--minutes", type=float, default=5.0)
    training.add_argument("--rate", type=float, default=RATE)
    for name, value in (("episodes", 8), ("learners", 2), ("warmup", 200), ("seed", 0)):
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
