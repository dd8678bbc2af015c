"""Adapt f to somebody's own recordings, without labels, by alignment.

The coefficients of the recordings' speech are mapped to scatter as those of the training speech do
(`diarize.training.alignment`), which asks for nobody's opinion. A first pass of diarization says
what single speakers surely say, and `identification` how well these are told apart, before and
after: a model that is surely worse is not aligned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diarize.audio import Recording
from diarize.embedding import load_model, pick_device
from diarize.embedding.model import CompositionalEmbedding
from diarize.pipeline import Diarizer
from diarize.progress import Hook
from diarize.scoring.report import standard_error
from diarize.training.alignment import (
    Covariance,
    align,
    covariance_of,
    scatter_of,
    training_covariance,
    transport,
)
from diarize.training.identification import Answers, IdentificationTest
from diarize.training.single_speaker import SingleSpeakerSpeech, single_speaker_speech

RECORDINGS_TO_SPARE = 3
"""Recordings from which on a third of them is kept for the identification test."""


@dataclass(frozen=True)
class Adaptation:
    """What came of it.

    Attributes:
        model: f and g.
        aligned: share by which the map of the alignment differs from leaving everything as it is,
            in the sense of the Frobenius norm; 0: it was not aligned.
        measured: whether there was a map to align it by, that is, speech to measure.
        speakers, seconds: what it is judged by: speakers, each of one recording, and their speech.
        before, after: how the model that one began with identifies the probes, and this one.
    """

    model: CompositionalEmbedding
    aligned: float
    measured: bool
    speakers: int
    seconds: float
    before: Answers
    after: Answers


def adapt(
    recordings: Sequence[Recording],
    diarizer: Diarizer,
    hook: Hook | None = None,
) -> Adaptation:
    """Adapt the diarizer's model to recordings; its options are those of the first pass.

    Raises:
        InputError: a recording, or an option of the diarizer, that cannot be used.
    """
    model = load_model(diarizer.model, pick_device(diarizer.device))
    speech, change = first_pass(recordings, diarizer, hook)
    return aligned(speech, model, change, diarizer.seed)


def first_pass(
    recordings: Sequence[Recording], diarizer: Diarizer, hook: Hook | None = None
) -> tuple[list[SingleSpeakerSpeech], Covariance | None]:
    """Diarize recordings: what single speakers surely say, and the map to align a model by."""
    diarizer.prepare()
    held, scatters = [], []
    for done, recording in enumerate(recordings):
        found = diarizer.diarize(recording)
        held.append(single_speaker_speech(recording, found.annotation, found.confidence))
        scatters.append(scatter_of(recording, found.speech))
        if hook:
            hook("first pass", done + 1, len(recordings))
    own = covariance_of(scatters)
    return held, None if own is None else transport(own, training_covariance())


def aligned(
    speech: Sequence[SingleSpeakerSpeech],
    model: CompositionalEmbedding,
    change: Covariance | None,
    seed: int,
) -> Adaptation:
    """Align a model by a map, unless the identification test is surely worse then."""
    useful = [one for one in speech if len(one.speakers) > 1]
    before = identification_test(useful, model, seed).answer(model)
    after, measured = before, change is not None
    if change is not None:
        changed = align(model, change)
        answers = identification_test(useful, changed, seed).answer(changed)
        if surely_better(answers, before):
            change = None
        else:
            model, after = changed, answers
    # The Frobenius norm of the map's difference from the identity, over that of the identity.
    distance = 0.0
    if change is not None:
        distance = float(np.linalg.norm(change - np.eye(len(change))) / np.sqrt(len(change)))
    return Adaptation(
        model=model.eval().requires_grad_(False),
        aligned=distance,
        measured=measured,
        speakers=sum(len(one.speakers) for one in useful),
        seconds=sum(one.seconds for one in useful),
        before=before,
        after=after,
    )


def identification_test(
    useful: Sequence[SingleSpeakerSpeech], model: CompositionalEmbedding, seed: int
) -> IdentificationTest:
    """Probes of every third recording; of all, where there are one or two."""
    halves = [one.split() for one in useful]
    chosen = halves if len(useful) < RECORDINGS_TO_SPARE else halves[2::3]
    enrolled, probed = zip(*chosen, strict=True) if chosen else ((), ())
    return IdentificationTest(enrolled, probed, model.encode, seed)


def surely_better(before: Answers, after: Answers) -> bool:
    """Is the mean gain over the probes more than two of its standard errors?"""
    gain = after.log_likelihood - before.log_likelihood
    return len(gain) > 1 and bool(gain.mean() > 2 * standard_error(gain))
