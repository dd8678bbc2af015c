"""What is known of a trained model: how the vectors of its training voices scatter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float32, Float64

from diarize.audio import SAMPLE_RATE, open_recording
from diarize.embedding import Knowledge, SpeakerEncoder, embed_windows
from diarize.embedding.knowledge import SCATTER
from diarize.mixing.voices import Voices
from diarize.progress import Hook
from diarize.scatter import Axes

AXES = 20
"""Directions that are kept, as in Winter, Dinari, Freifeld, section 5.2."""

STEP = 1.0  # seconds between two windows
MOST_WINDOWS = 32  # of one speaker, from the beginning of his speech
FEW_WINDOWS = 8  # of one voice, to say whom it resembles

LEAST_ROWS = 5 * AXES
"""Windows beyond the first of each speaker from which on a covariance within speakers is one."""

SHIPPED_WITHIN = 0.115
"""Mean squared distance of windows from their speaker's centroid, of the model that ships and its
training voices. Windows of conversations scatter more (`SCATTER`): they hold pauses, other voices,
rooms. What they have in common, one minus that, is taken to shrink in the same proportion with
another model, and the centroids of halves of one voice to lie apart in that of the distances."""


def measured(model: SpeakerEncoder, voices: Voices, before: Knowledge) -> Knowledge:
    """Say how the model's vectors scatter; all else is as it was.

    Args:
        model: f, trained.
        voices: that it was trained on; the first of each speaker counts, which is he himself.
        before: what is known without a measurement; all that is, where there are too few speakers.
    """
    first = np.unique(voices.speakers, return_index=True)[1]
    vectors = [speaker_vectors(model, voices, int(voice), before.window) for voice in first]
    vectors = [rows for rows in vectors if len(rows) > 1]
    axes = axes_of(vectors)
    if axes is None:
        return before
    within = float(np.mean([rows.var(axis=0, ddof=1).sum() for rows in vectors]))
    variance = 1 - (1 - within) * (1 - SCATTER.variance) / (1 - SHIPPED_WITHIN)
    alike = None if SCATTER.alike is None else 1 - (1 - SCATTER.alike) * within / SHIPPED_WITHIN
    scatter = replace(before.scatter, variance=variance, alike=alike, axes=axes)
    return replace(before, scatter=scatter)


def heard_voices(
    model: SpeakerEncoder,
    voices: Voices,
    hook: Hook | None = None,
    most: int = FEW_WINDOWS,
) -> Float32[np.ndarray, "voices p"]:
    """Where a model hears each voice, in `most` windows: a unit vector, zero for one too short."""
    heard = np.zeros((len(voices), model.dim), np.float32)
    for voice in range(len(voices)):
        total = speaker_vectors(model, voices, voice, model.knowledge.window, most).sum(0)
        heard[voice] = total / max(np.linalg.norm(total), 1e-9)
        if hook and voice % 100 == 0:
            hook("likeness", voice + 1, len(voices))
    return heard


def speaker_vectors(
    model: SpeakerEncoder, voices: Voices, voice: int, window: float, most: int = MOST_WINDOWS
) -> Float64[np.ndarray, "n p"]:
    """Vectors of whole windows of a voice, `most` at most."""
    samples = voices.stretch(voice)
    seconds = min(len(samples) / SAMPLE_RATE, window + STEP * (most - 1))
    begins = np.arange(0.0, seconds - window + 1e-9, STEP)
    if not len(begins):
        return np.zeros((0, model.dim))
    windows = np.stack([begins, begins + window], axis=1)
    return embed_windows(model, open_recording((samples, SAMPLE_RATE)), windows).astype(np.float64)


def axes_of(speakers: Sequence[Float64[np.ndarray, "_ p"]]) -> Axes | None:
    """The axes along which speakers differ most; every speaker weighs the same.

    Returns:
        None where there are too few speakers or windows to tell, or speakers do not differ.
    """
    spare = sum(len(rows) - 1 for rows in speakers)
    if len(speakers) <= AXES or spare < LEAST_ROWS:
        return None
    weights = np.concatenate([np.full(len(rows), 1 / len(rows)) for rows in speakers])[:, None]
    rows = np.concatenate(speakers)
    mean = (weights * rows).sum(axis=0) / weights.sum()
    total = (weights * (rows - mean)).T @ (rows - mean) / weights.sum()
    axes = np.linalg.eigh(total)[1][:, ::-1][:, :AXES].T
    scatters = [(own - own.mean(axis=0)) @ axes.T for own in speakers]
    within = np.mean([s.T @ s / (len(s) - 1) for s in scatters], axis=0)
    along = axes @ total @ axes.T
    if not np.linalg.eigvalsh(within)[0] > 0 or not np.trace(along) > np.trace(within):
        return None
    return Axes(mean, axes, within, along)
