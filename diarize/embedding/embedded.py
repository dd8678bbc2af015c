"""A recording in which speech was heard, as vectors: all that clustering and decoding see of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Float64

from diarize.activity.counts import Heard, VoiceCounts
from diarize.audio import Recording
from diarize.audio.bandwidth import is_narrow
from diarize.embedding.encoder import SpeakerEncoder
from diarize.embedding.encoders import identity
from diarize.embedding.knowledge import Knowledge
from diarize.embedding.windows import embed_windows, place_windows
from diarize.progress import Hook
from diarize.storage.cache import Cache, cache_key

CLUSTERED = 1800.0  # seconds of speech in which windows to cluster lie as near as the model has it


@dataclass(frozen=True)
class Embedded:
    """A recording as clustering and decoding see it; all times in seconds."""

    uri: str
    duration: float  # of audio that was read
    speech: Float64[np.ndarray, "m 2"]  # regions
    counts: VoiceCounts | None  # how many were heard; None: nobody listened for that
    windows: Float64[np.ndarray, "windows 2"]  # begin and end of those that are clustered
    step: float  # from one of them to the next, at most
    coarse: Float32[np.ndarray, "windows p"]  # their vectors
    cells: Float64[np.ndarray, "n 2"]  # the time for which each window that is decoded speaks
    fine: Float32[np.ndarray, "n p"]  # vectors of these windows
    short: Float32[np.ndarray, "n p"]  # the same of shorter ones, by which turns are decoded
    unheard_cells: Float64[np.ndarray, "u 2"]  # the same of speech that only corrections know of
    unheard: Float32[np.ndarray, "u p"]
    device: str  # what f ran on
    narrow: bool = False  # a band like a telephone's, in which different voices are more alike


def embed_heard(
    recording: Recording,
    heard: Heard,
    beyond: Float64[np.ndarray, "b 2"],
    model: SpeakerEncoder,
    *,
    name: str | Path,
    window: float | None = None,
    step: float | None = None,
    cache: Cache | None = None,
    hook: Hook | None = None,
) -> Embedded:
    """Lay windows over the speech of a recording, and embed them in one pass.

    Args:
        recording: where the sound comes from.
        heard: where there is speech, and of how many.
        beyond: more regions of speech, of which only corrections know, seconds.
        model: what embeds.
        name: of the model, or its path.
        window: length of the windows that are clustered, seconds; None: that which suits the model.
        step: distance between two of them, likewise; in more than half an hour of speech they lie
            further apart, so that there are no more of them, but never beside each other with
            speech between.
        cache: where vectors are kept by the content of the recording; None: nowhere.
        hook: told progress.
    """
    known = model.knowledge
    fine_grid = known.fine_window, known.fine_step
    step = step or apart(heard.regions, known)
    coarse, _ = place_windows(heard.regions, window or known.window, step)
    fine, cells = place_windows(heard.regions, *fine_grid)
    short = fine[:0]  # as long: one set of windows is enough
    if known.has_short:
        short, _ = place_windows(heard.regions, known.turn_window, known.fine_step)
    unheard, unheard_cells = place_windows(beyond, *fine_grid)
    placed = coarse, fine, short, unheard
    windows = np.concatenate(placed)  # (coarse + fine + short + unheard, 2)

    def embed() -> np.ndarray:
        return embed_windows(model, recording, windows, hook)  # (as many, p)

    if cache is None:
        vectors = embed()
    else:
        front_end = [recording.sha256(), identity(name), model.device, windows.tolist()]
        vectors = cache.kept(cache_key("vectors", *front_end), embed)
    of_coarse, of_fine, of_short, of_unheard = np.split(
        vectors, np.cumsum([len(one) for one in placed[:-1]])
    )
    return Embedded(
        uri=recording.uri,
        duration=recording.duration,
        speech=heard.regions,
        counts=heard.counts,
        windows=coarse,
        step=step,
        coarse=of_coarse,
        cells=cells,
        fine=of_fine,
        short=of_short if known.has_short else of_fine,
        unheard_cells=unheard_cells,
        unheard=of_unheard,
        device=model.device,
        narrow=is_narrow(recording),
    )


def apart(speech: Float64[np.ndarray, "m 2"], known: Knowledge) -> float:
    """How many seconds the windows that are clustered lie apart in so much speech."""
    seconds = float(np.diff(speech).sum())
    return min(known.window, known.step * max(1.0, seconds / CLUSTERED))
