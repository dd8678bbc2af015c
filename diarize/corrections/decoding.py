"""Who speaks when such that corrections hold: brought into cells and costs before the decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64

from diarize.corrections.binding import Binding
from diarize.corrections.claims import RESOLUTION, Corrections
from diarize.corrections.speakers import Corrected, correct_speakers
from diarize.sets import SpeakerSets
from diarize.timeline import Decoded, Trellis, decode
from diarize.timeline.resegmentation import resegment
from diarize.voices.voiceprints import free_names


def decode_corrected(
    free: Decoded,
    corrections: Corrections,
    unheard_cells: Float64[np.ndarray, "u 2"],
    unheard: Float32[np.ndarray, "u p"],
    least: int = 0,
    most: int | None = None,
) -> Decoded:
    """Say who speaks when such that the corrections hold.

    Speakers who are not corrected keep the names that they have without corrections.

    Args:
        free: what was found without corrections.
        corrections: claims.
        unheard_cells: cells of the speech that only corrections know of, seconds.
        unheard: vectors of their windows.
        least: fewest speakers.
        most: largest number of speakers; None: any.

    Raises:
        InputError: corrections name more people than there may be speakers.
    """
    heard = free.trellis
    cells, rows = split_cells(np.concatenate([heard.cells, unheard_cells]), corrections.borders)
    vectors = np.concatenate([heard.vectors, unheard])[rows]  # (m, p)
    voices = np.concatenate([heard.of_voices, unheard])[rows]
    corrected = correct_speakers(
        corrections, cells, voices.astype(np.float64), free.speakers, free.names, least, most
    )
    names, speakers = _complete(corrected.names), corrected.speakers
    binding = Binding.of(corrections, cells, names, rows >= len(heard.cells))
    if free.speakers.told is not None:
        true = _renamed(free.speakers.told, corrected, rows)
        told = SpeakerSets((true | binding.required) & ~binding.forbidden)
        speakers = replace(speakers, told=told)
    states = binding.states(speakers.sets())
    novelty = heard.novelty
    if novelty is not None:
        novelty = np.concatenate([novelty, np.full(len(unheard), np.nan)])[rows]  # (m,)
    trellis = Trellis.of(cells, vectors, states, heard.counts, heard.options, novelty)
    trellis = binding.bind(trellis, speakers.largest)
    if heard.voices is not None:
        trellis = replace(trellis, voices=voices, spoken=heard.spoken)
    found = resegment(decode(trellis, speakers, least, everybody=least > 0))
    patched = corrections.patch(found.turns, names)
    return replace(found, turns=patched, names=dict(enumerate(names)))


def split_cells(
    cells: Float64[np.ndarray, "n 2"], borders: Float64[np.ndarray, " b"]
) -> tuple[Float64[np.ndarray, "m 2"], Int64[np.ndarray, " m"]]:
    """Cut cells such that none holds a border inside.

    Args:
        cells: disjoint stretches of time, seconds, in any order.
        borders: sorted times, seconds.

    Returns:
        The cells in order of time, and of which cell each is a part.
    """
    first = np.searchsorted(borders, cells[:, 0] + RESOLUTION)
    stop = np.searchsorted(borders, cells[:, 1] - RESOLUTION)
    edges = [
        [begin, *borders[i:j], end] for (begin, end), i, j in zip(cells, first, stop, strict=True)
    ]
    parts = np.array([part for own in edges for part in pairwise(own)]).reshape(-1, 2)  # (m, 2)
    whole = np.array([i for i, own in enumerate(edges) for _ in own[1:]], np.int64)  # (m,)
    order = np.argsort(parts[:, 0], kind="stable")
    return parts[order], whole[order]


def _renamed(
    told: SpeakerSets, corrected: Corrected, rows: Int64[np.ndarray, " m"]
) -> Bool[np.ndarray, "m k"]:
    """Of whom it is told that they are in parts of cells; of rows beyond those told, nobody is."""
    some = rows < len(told)  # (m,)
    held = np.zeros((len(rows), told.n_speakers), bool)
    held[some] = told.membership[rows[some]]
    columns = [held[:, own].any(axis=1) for own in corrected.clusters]
    return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), bool)


def _complete(names: Sequence[str | None]) -> list[str]:
    """Call who has no name by the first numbers that are free."""
    free = free_names(names)
    return [next(free) if name is None else name for name in names]
