"""Train f and g on a folder of speech: voices, episodes, steps, development report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from diarize.embedding import (
    CompositionalEmbedding,
    EmbeddingConfig,
    Knowledge,
    load_model,
    pick_device,
    save_model,
)
from diarize.errors import InputError, extra
from diarize.mixing.acoustics import noises_of
from diarize.mixing.speech import Utterance, audio_files, utterances_of
from diarize.mixing.voices import SPEEDS, UNLABELLED_SPEEDS, UNNAMED, Voices, collect_voices
from diarize.progress import Hook
from diarize.training.checkpoints import SpeechRecipe, has_begun, recipe_text, write_recipe
from diarize.training.development import Episodes, development_episodes
from diarize.training.episodes import EpisodeConfig, EpisodeMaker, require_speakers
from diarize.training.knowledge import heard_voices, measured
from diarize.training.loop import LoopConfig, Trainer, begin, train
from diarize.training.processes import join_processes
from diarize.training.rendering import training_rooms
from diarize.training.shifts import shifted_voices
from diarize.training.steps import Report

DEVELOPMENT_EPISODES = 150


@dataclass(frozen=True, kw_only=True)
class EmbeddingRecipe(SpeechRecipe):
    """All that a training is made of.

    Attributes:
        unlabelled: folder of single-speaker files without names, each taken as a voice of its own.
        development: split on which set accuracy is reported, and by whose figures the best weights
            are kept; None: none, and the last are.
        pool: corpora whose names begin with one of these are reported together.
        shifts: whether every speaker is also heard with other formants and another pitch.
        start: weights to begin with, a model's name or file, which also say who resembles whom:
            such voices meet more often; None: drawn ones.
        model, episodes, loop: sizes, mixtures, steps.
    """

    unlabelled: Path | None = None
    development: str | None = None
    pool: Sequence[str] = ()
    shifts: bool = False
    start: str | Path | None = None
    model: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    episodes: EpisodeConfig = field(default_factory=EpisodeConfig)
    loop: LoopConfig = field(default_factory=LoopConfig)


def train_embedding(
    recipe: EmbeddingRecipe,
    folder: Path,
    *,
    device: str = "cpu",
    workers: int = 1,
    until: int | None = None,
    hook: Hook | None = None,
    report: Report | None = None,
) -> Path:
    """Train, or go on with a training that was interrupted; alone, or as one process of torchrun's.

    Args:
        recipe: what to train on, and how.
        folder: voices, checkpoint, report and the finished `model.safetensors` go here.
        device: "auto", "cpu" or "cuda".
        workers: processes that make batches.
        until: stop before this step, as if interrupted.
        hook: progress.
        report: called at every checkpoint.

    Returns:
        The path of the weights.

    Raises:
        InputError: speech or a device that cannot be used, or a folder with a training by another
            recipe.
        TrainingError: a gradient that is not finite; its batch is kept in the folder.
    """
    weights = folder / "model.safetensors"
    with join_processes(pick_device(device)) as (processes, own_device):
        # Steps may change: the rate is the same up to where the shorter one cools down.
        written = recipe_text(recipe, steps=0, cooldown=0, every=0)
        begun = has_begun(written, folder)
        start = None if recipe.start is None else load_model(recipe.start)
        noises = noises_of(recipe.noise)
        rooms = training_rooms(recipe.rooms, recipe.seed)
        development = _development(recipe, hook) if processes.first else {}
        if processes.first and not begun:
            _voices(recipe, start, hook).save(folder / "voices")
            write_recipe(written, folder)
        processes.wait()
        voices = Voices.load(folder / "voices")
        maker = EpisodeMaker(voices, noises, recipe.episodes, recipe.seed, rooms)
        torch.manual_seed(recipe.seed)
        model = CompositionalEmbedding(recipe.model if start is None else start.config)
        trainer = Trainer(model, recipe.loop, own_device, processes)
        begin(trainer, maker, folder / "checkpoint.safetensors", start)
        train(
            trainer,
            maker,
            folder,
            development,
            workers=workers,
            until=until,
            hook=hook,
            report=report,
        )
        if processes.first:
            finished = trainer.finished()
            before = Knowledge() if start is None else start.knowledge
            finished.knowledge = measured(finished, voices, before)
            save_model(finished, weights)
    return weights


def _voices(
    recipe: EmbeddingRecipe, start: CompositionalEmbedding | None, hook: Hook | None
) -> Voices:
    """Collect the voices, and hear them with the weights to begin with."""
    if recipe.shifts:
        extra("parselmouth", "what shifts voices is not installed", "shifts")
    named = utterances_of(recipe.speech, recipe.split)
    unnamed = []
    if recipe.unlabelled is not None:  # every file is the voice of somebody else
        files = audio_files(recipe.unlabelled)
        if not files:
            raise InputError(f"{recipe.unlabelled}: no recordings")
        names = (p.relative_to(recipe.unlabelled).with_suffix("").as_posix() for p in files)
        unnamed = [
            Utterance(path, f"{UNNAMED}/{name}", UNNAMED)
            for path, name in zip(files, names, strict=True)
        ]
    voices = collect_voices(named, hook=hook)
    unchanged = voices[np.arange(SPEEDS.index(1.0), len(voices), len(SPEEDS))]
    if unnamed:
        voices = voices + collect_voices(unnamed, UNLABELLED_SPEEDS, hook)
    require_speakers(voices, recipe.episodes.speakers, recipe.speech)
    if recipe.shifts:
        voices = voices + shifted_voices(unchanged, recipe.seed, hook)
    return voices if start is None else replace(voices, heard=heard_voices(start, voices, hook))


def _development(recipe: EmbeddingRecipe, hook: Hook | None) -> dict[str, Episodes]:
    if recipe.development is None:
        return {}
    utterances = utterances_of(recipe.speech, recipe.development)
    return development_episodes(utterances, recipe.pool, DEVELOPMENT_EPISODES, hook)
