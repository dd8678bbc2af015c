"""Train the network that hears how many speak, on real talk replayed by the voices of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from diarize.activity.counter import CounterConfig, VoiceCounter
from diarize.activity.network import load_counter, save_counter
from diarize.embedding import pick_device
from diarize.errors import InputError
from diarize.mixing.acoustics import noises_of
from diarize.mixing.recorded import Recorded
from diarize.mixing.replay import Replay
from diarize.mixing.rooms import draw_rooms
from diarize.mixing.speech import Utterance, audio_files, utterances_of
from diarize.mixing.talk import find_talks
from diarize.mixing.voices import Voices, collect_voices
from diarize.progress import Hook
from diarize.training.checkpoints import SpeechRecipe, has_begun, recipe_text, write_recipe
from diarize.training.chunks import Shard, ShardFolder, Shards, Source, render_shard
from diarize.training.counting import CounterLoop, CounterTrainer, as_batch, draw_batch, judge
from diarize.training.counting_teacher import load_teacher
from diarize.training.steps import Report, take_steps
from diarize.training.voicing import fit_voice

SPEEDS = (1.0, 0.92, 1.09)  # at which voices are heard whose pauses are short
PAUSE = 1.2  # seconds of silence that are kept where a voice is heard with its own pauses
ROOMS = 80  # made ones, beside the measured
DEVELOPMENT = "development.npy"  # the chunks that weights are judged on
DEVELOPMENT_SEED = 77  # of the talk in them


@dataclass(frozen=True, kw_only=True)
class ActivityRecipe(SpeechRecipe):
    """All that a training is made of.

    Attributes:
        turns: folders of RTTM files whose talk is replayed, as `mixing.talk.find_talks` takes them.
        development: split whose voices replay `development_turns`; the weights with the lowest
            loss there are kept. None: the last are.
        development_turns: talk that is not trained on.
        teacher: weights of the network that says how many speak, beside the truth; None: the truth
            alone.
        unlabelled: folders of recordings of which the teacher alone says it.
        start: weights to begin with; None: drawn ones.
        model, loop: sizes and steps.
    """

    turns: Sequence[str]
    development: str | None = None
    development_turns: Sequence[str] = ()
    teacher: Path | None = None
    unlabelled: Sequence[Path] = ()
    start: Path | None = None
    model: CounterConfig = field(default_factory=CounterConfig)
    loop: CounterLoop = field(default_factory=CounterLoop)


def train_activity(
    recipe: ActivityRecipe,
    folder: Path,
    *,
    device: str = "cpu",
    workers: int = 1,
    until: int | None = None,
    hook: Hook | None = None,
    report: Report | None = None,
) -> Path:
    """Train, or go on with a training that was interrupted; as `train_embedding`, alone.

    After the last step is learned what is a voice; where there are none, nothing else is.
    Voices, shards, checkpoint and the finished `activity.safetensors` go into the folder; `workers`
    render shards, 0 renders them here. Also weights that stop before the last step are written.
    """
    device = pick_device(device)
    start = None if recipe.start is None else load_counter(recipe.start)
    if (recipe.development is None) != (not recipe.development_turns):
        raise InputError("a split to judge by and the turns to replay it with go together")
    if recipe.unlabelled and recipe.teacher is None:
        raise InputError("of recordings without labels a teacher has to say how many speak")
    teacher = None if recipe.teacher is None else load_teacher(recipe.teacher)
    written = recipe_text(recipe, every=0)
    begun = has_begun(written, folder)
    talks = find_talks(recipe.turns)
    noises = noises_of(recipe.noise)
    for unlabelled in recipe.unlabelled:  # before there are voices, it is to be there
        audio_files(unlabelled)
    utterances = utterances_of(recipe.speech, recipe.split)
    rooms = draw_rooms(np.random.default_rng(recipe.seed), recipe.rooms, ROOMS)
    development = None
    if recipe.development is not None:
        if not begun:
            _render_development(recipe, noises, folder / DEVELOPMENT, hook)
        development = Shard.load(folder / DEVELOPMENT)
    if not begun:
        _collect(utterances, folder / "voices", hook)
        write_recipe(written, folder)
    voices = Voices.load(folder / "voices")
    replay = Replay(talks, voices, rooms, noises, seed=recipe.seed)
    last = recipe.loop.steps if until is None else min(recipe.loop.steps, until)
    recorded = Recorded.of(recipe.unlabelled, replay) if recipe.unlabelled else None
    source = Source(replay, recorded, teacher)
    kept = ShardFolder(source, folder / "shards", recipe.loop.chunks, recipe.loop.seconds)
    kept.folder.mkdir(exist_ok=True)
    shards = Shards(kept, recipe.loop.shards_at(last - 1) if last else 0, workers)
    trainer = _begin(recipe, start, shards, folder / "checkpoint.safetensors", device)
    batches = (
        (step, draw_batch(shards, step, recipe.loop, trainer.model.config, recipe.seed))
        for step in range(trainer.step, last)
    )
    take_steps(
        trainer,
        batches,
        lambda: {} if development is None else judge(trainer.averaged, development),
        folder,
        last=last,
        hook=hook,
        report=report,
    )
    weights = folder / "activity.safetensors"
    counter = trainer.finished().cpu()
    if last == recipe.loop.steps:
        fit_voice(counter, replay, recipe.loop.music, recipe.loop.seconds, hook)
    save_counter(counter, weights)
    return weights


def _begin(
    recipe: ActivityRecipe,
    start: VoiceCounter | None,
    shards: Shards,
    checkpoint: Path,
    device: str,
) -> CounterTrainer:
    """Go on from a checkpoint, begin with weights, or measure the bands and begin."""
    torch.manual_seed(recipe.seed)
    if start is not None:
        begun = deepcopy(start).requires_grad_(True)  # others share what was loaded
        trainer = CounterTrainer(begun, recipe.loop, device)
    else:
        trainer = CounterTrainer(VoiceCounter(recipe.model), recipe.loop, device)
    if checkpoint.is_file():
        trainer.load(checkpoint)
    elif start is None:
        trainer.look_at(as_batch(shards[0], recipe.model).spectra)
    return trainer


def _collect(utterances: Sequence[Utterance], folder: Path, hook: Hook | None) -> None:
    """Keep each voice with its own pauses and, at several speeds, with short ones."""
    paused = collect_voices(utterances, (1.0,), hook, PAUSE)
    (paused + collect_voices(utterances, SPEEDS, hook)).save(folder)


def _render_development(
    recipe: ActivityRecipe, noises: Sequence[np.ndarray], path: Path, hook: Hook | None
) -> None:
    """Render the chunks by which weights are judged."""
    talks = find_talks(recipe.development_turns)
    voices = collect_voices(utterances_of(recipe.speech, recipe.development), (1.0,), hook)
    rooms = draw_rooms(np.random.default_rng(DEVELOPMENT_SEED), recipe.rooms, ROOMS)
    replay = Replay(talks, voices, rooms, noises, seed=DEVELOPMENT_SEED)
    path.parent.mkdir(parents=True, exist_ok=True)
    render_shard(Source(replay), 0, recipe.loop.chunks, recipe.loop.seconds).save(path)
