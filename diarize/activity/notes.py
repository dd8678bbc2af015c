"""What is heard in a recording beside speech, in words: a person should know what was left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32, Float64

from diarize.activity.counts import INSTANT, VoiceCounts
from diarize.activity.level import BLOCK_SECONDS, CHUNK, LOUD, SILENCE, chunk_levels
from diarize.activity.speech import SpeechByCounts
from diarize.audio import SAMPLE_RATE
from diarize.storage.cache import Cache, cache_key

if TYPE_CHECKING:
    from diarize.audio import Recording

CANCELLED = 10.0  # dB that a mix loses beyond what the mix of unlike channels loses
BACKGROUND = 20.0  # dB under the loud parts
# Of real conversations nine tenths of what lies above the background are taken for speech or more,
# where the detector hears them.
LITTLE = 0.5  # share of what is heard
PROBABLE = 0.05  # of speech; less is taken for it by no threshold that anybody would give
WORTH = 0.3  # share of what was not taken for speech, for which a lower threshold is worth a word


def notes_on(
    recording: Recording,
    speech: Float64[np.ndarray, "m 2"],
    activity: Any,
    cache: Cache | None = None,
    counts: VoiceCounts | None = None,
) -> list[str]:
    """What a person should know of what was not taken for speech, or cannot be heard at all.

    Args:
        recording: in which speech was looked for.
        speech: the regions that were found, seconds.
        activity: what found them; what is said depends on its `threshold`, if it has one.
        cache: where what is measured is kept; None: nowhere.
        counts: how many were heard; None: nobody listened for that.

    Raises:
        InputError: the recording is damaged.
    """

    def kept(what: str, measure: Callable[[Recording], np.ndarray]) -> np.ndarray:
        if cache is None:
            return measure(recording)
        return cache.kept(cache_key(what, recording.sha256()), lambda: measure(recording))

    if recording.n_channels > 1 and recording.channel is None:
        cancelled = note_on_channels(kept("powers", channel_powers), recording.n_channels)
        if cancelled is not None:
            return [cancelled]  # and what is not heard for that is no wonder
    seconds = float((speech[:, 1] - speech[:, 0]).sum())
    threshold = getattr(activity, "threshold", None)  # None: speech was told, not looked for
    if threshold is None or seconds >= LITTLE * recording.duration:
        return []
    measured = kept("levels", lambda sound: chunk_levels(sound.blocks(BLOCK_SECONDS)))
    probable = math.inf
    if isinstance(activity, SpeechByCounts) and counts is not None:
        probable = float((counts.probabilities[:, 0] < 1 - PROBABLE).sum()) * INSTANT
    note = note_on_speech(measured, recording.start, speech, threshold, probable)
    return [] if note is None else [note]


def channel_powers(recording: Recording) -> Float64[np.ndarray, "2"]:
    """Sum the squares of all channels' samples, as their mean, and those of their mix."""
    alone = mixed = 0.0
    left = round(recording.duration * recording.sample_rate)
    for frames in recording.frames(recording.start):
        part = frames[:left].astype(np.float64)
        alone += float(np.square(part).mean(axis=1).sum())
        mixed += float(np.square(part.mean(axis=1)).sum())
        left -= len(part)
        if left <= 0:
            break
    return np.array([alone, mixed])


def note_on_channels(powers: Float64[np.ndarray, "2"], n_channels: int) -> str | None:
    """Say that channels cancel each other out where they are mixed; None: they do not."""
    alone, mixed = (float(power) for power in powers)
    if not alone:
        return None
    lost = math.inf if not mixed else 10 * math.log10(alone / mixed)
    if lost - 10 * math.log10(n_channels) < CANCELLED:  # as much is lost by unlike channels
        return None
    left = "silent" if lost > -SILENCE else f"{lost:.0f} dB quieter than they are"
    return (
        f"its {n_channels} channels cancel each other out: their mix is {left}; "
        "--channels separate hears each alone"
    )


def note_on_speech(
    measured: Float32[np.ndarray, "chunks"],
    begin: float,
    speech: Float64[np.ndarray, "m 2"],
    threshold: float,
    probable: float = math.inf,
) -> str | None:
    """Say that little of what is heard was taken for speech; None: enough was.

    `measured` are the levels of every 32 ms from `begin` on, dBFS; `probable`, how many seconds the
    lowest threshold would take.
    """
    if not len(measured) or measured.max() <= SILENCE:
        return "it is silent throughout"
    seconds = CHUNK / SAMPLE_RATE
    loud = float(np.percentile(measured[measured > SILENCE], LOUD))
    edges = np.searchsorted(
        speech.ravel(), begin + (np.arange(len(measured)) + 0.5) * seconds, side="right"
    )
    inside = edges % 2 == 1
    sound = float(((measured > max(loud - BACKGROUND, SILENCE)) | inside).sum()) * seconds
    found = float((speech[:, 1] - speech[:, 0]).sum())
    if found >= LITTLE * sound:
        return None
    rest = f"a --vad-threshold below {threshold:g} takes more"
    if probable - found < WORTH * (sound - found):
        rest = "the rest is like no speech, or like music"
    return (
        f"of {sound:.1f} s in which sound is heard (loud parts at {loud:.0f} dBFS), {found:.1f} s "
        f"were taken for speech; {rest}, --vad none takes all"
    )
