"""Adapt f to somebody's own recordings, without labels: by alignment and combination assignment.

First the coefficients of the recordings' speech are mapped to scatter as those of the training
speech do (`diarize.training.alignment`), which asks for nobody's opinion.

Then a first pass of diarization says how many speakers each recording has, about how much each of
them speaks, and what they surely say alone. The last layer of f is trained to cluster the windows
of these stretches: greedy assignment to the recording's clusters, whose sizes have the first pass's
shares as their prior, two views of a window (itself, and a neighbour in its turn with noise)
sharing their cluster. g stays as it is, and three things hold f in place: mixtures of two windows
lie where g has their parts, windows lie near to where they lay, and training stops when the
rehearsal on held-out recordings gets worse. What is not better there than the aligned model was is
not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from diarize.activity.counts import Hook
from diarize.audio import Recording
from diarize.embedding import load_model, pick_device
from diarize.embedding.model import CompositionalEmbedding
from diarize.pipeline import Diarizer
from diarize.training.alignment import (
    Covariance,
    align,
    covariance_of,
    scatter_of,
    training_covariance,
    transport,
)
from diarize.training.held import HeldSpeech, held_speech
from diarize.training.last_layer import AdaptationConfig, LastLayer
from diarize.training.rehearsal import Answers, Rehearsal

RECORDINGS_TO_SPARE = 3
"""Recordings from which on a third of them is kept for the rehearsal."""


@dataclass(frozen=True)
class Adaptation:
    """What came of it.

    Attributes:
        model: f and g.
        aligned: share by which the map of the alignment differs from leaving everything as it is,
            in the sense of the Frobenius norm; 0: it was not aligned.
        measured: whether there was a map to align it by, that is, speech to measure.
        steps: that the model took after it was aligned; 0: nothing was gained by them.
        speakers, seconds: what was learned from: speakers, each of one recording, and their speech.
        before, after: how the model that one began with answered the rehearsal, and this one.
    """

    model: CompositionalEmbedding
    aligned: float
    measured: bool
    steps: int
    speakers: int
    seconds: float
    before: Answers
    after: Answers


def adapt(
    recordings: Sequence[Recording],
    diarizer: Diarizer,
    config: AdaptationConfig | None = None,
    hook: Hook | None = None,
) -> Adaptation:
    """Adapt the diarizer's model to recordings; its options are those of the first pass.

    Args:
        recordings: of the kind that is to be diarized.
        diarizer: of the first pass; its seed is that of all that is drawn.
        config: how.
        hook: progress.

    Raises:
        InputError: a recording, or an option of the diarizer, that cannot be used.
    """
    config = config or AdaptationConfig()
    diarizer.prepare()
    held, scatters = [], []
    for done, recording in enumerate(recordings):
        found = diarizer.diarize(recording)
        held.append(held_speech(recording, found))
        scatters.append(scatter_of(recording, found.speech))
        if hook:
            hook("first pass", done + 1, len(recordings))
    own = covariance_of(scatters)
    change = None if own is None else transport(own, training_covariance())
    model = load_model(diarizer.model, pick_device(diarizer.device))
    return adapt_to(held, model, config, diarizer.seed, hook, change=change)


def adapt_to(
    speech: Sequence[HeldSpeech],
    model: CompositionalEmbedding,
    config: AdaptationConfig,
    seed: int,
    hook: Hook | None = None,
    *,
    change: Covariance | None = None,
) -> Adaptation:
    """Adapt a model to speech whose speakers a first pass has told apart.

    Args:
        speech: of each recording.
        model: f and g, which stay as they are.
        config: how.
        seed: of all that is drawn.
        hook: progress.
        change: map by which the model is aligned, unless the rehearsal is surely worse then; None:
            not at all.
    """
    useful = [one for one in speech if len(one.speakers) > 1]
    taught, rehearsed = lessons_and_rehearsal(useful)
    references, questions = zip(*rehearsed, strict=True) if rehearsed else ((), ())
    rehearsal = Rehearsal(references, questions, model.encode, seed)
    aligned, before = model, rehearsal.answer(model)
    start, measured = before, change is not None
    if change is not None:
        changed = align(model, change)
        heard_anew = Rehearsal(references, questions, changed.encode, seed)
        answers = heard_anew.answer(changed)
        if _surely_better(answers, before):
            change = None
        else:
            aligned, rehearsal, start = changed, heard_anew, answers
    best, best_steps, after = aligned, 0, start
    trains = config.steps > 0 and len(rehearsal) > 0
    trained = LastLayer(taught, aligned, config, seed) if trains else None
    idle = 0
    for step in range(1, config.steps + 1 if trained else 0):
        assert trained is not None
        trained.advance()
        if hook:
            hook("adapting", step, config.steps)
        if step % config.every == 0:
            answers = rehearsal.answer(trained.model)
            if answers.log_likelihood.mean() > after.log_likelihood.mean():
                best, best_steps, after, idle = deepcopy(trained.model), step, answers, 0
            else:
                idle += 1
                if idle == config.patience:
                    break
    if not _surely_better(start, after):
        best, best_steps, after = aligned, 0, start
    return Adaptation(
        model=best.eval().requires_grad_(False),
        aligned=0.0 if change is None else _distance(change),
        measured=measured,
        steps=best_steps,
        speakers=sum(len(one.speakers) for one in useful),
        seconds=sum(one.seconds for one in useful),
        before=before,
        after=after,
    )


def lessons_and_rehearsal(
    useful: Sequence[HeldSpeech],
) -> tuple[list[HeldSpeech], list[tuple[HeldSpeech, HeldSpeech]]]:
    """What is trained on; and recordings that are rehearsed, for references and for questions.

    Every third recording is rehearsed and not trained on: whoever is told apart better there may be
    so in others as well. One or two recordings are trained on and rehearsed by different chunks,
    which says nothing of other speakers.
    """
    parted = [one.parted() for one in useful]
    if len(useful) < RECORDINGS_TO_SPARE:
        return [taught for taught, _ in parted], parted
    spared = range(2, len(useful), 3)
    return [one for i, one in enumerate(useful) if i not in spared], [parted[i] for i in spared]


def _surely_better(before: Answers, after: Answers) -> bool:
    """Is the mean gain over the questions more than two of its standard errors?"""
    gain = after.log_likelihood - before.log_likelihood
    return len(gain) > 1 and bool(gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain)))


def _distance(change: Covariance) -> float:
    """Frobenius norm of a map's difference from the identity, over that of the identity."""
    return float(np.linalg.norm(change - np.eye(len(change))) / np.sqrt(len(change)))
