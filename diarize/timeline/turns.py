"""From the sets of cells to turns: no crumbs, and no short gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float64

from diarize.sets import SpeakerSets
from diarize.timeline.trellis import TimelineOptions
from diarize.voices.vectors import SHORTEST

if TYPE_CHECKING:
    from pyannote.core import Annotation

Turn = tuple[float, float, int]  # begin and end in seconds, number of the speaker

MILLISECOND = 1e-3  # the least that formats write


def turns(
    cells: Float64[np.ndarray, "n 2"],
    sets: SpeakerSets,
    options: TimelineOptions,
    least: int = 0,
    settled: Bool[np.ndarray, "n"] | None = None,
    most: int | None = None,
    nobody: Sequence[int] = (),
) -> list[Turn]:
    """Join cells into turns.

    Args:
        cells: sorted disjoint stretches of time, seconds.
        sets: who speaks in each.
        options: of which `min_turn` and `min_gap` are used.
        least: so many speakers keep a turn, however short their turns are.
        settled: in which cells everybody keeps a turn; None: in none.
        most: a gap in which so many others speak is not closed; None: any is.
        nobody: speakers who are none; what they hold alone is a neighbour's, or nobody's.

    Returns:
        Begin, end, speaker of each turn, sorted by begin, then speaker. At no instant there are
        more than `most`, or than the cell's set holds.
    """
    most = sets.n_speakers if most is None else most
    shortest = np.full(sets.n_speakers, options.min_turn, np.float64)
    shortest[list(nobody)] = np.inf
    membership = _without_crumbs(cells, sets.membership, shortest, least, most)
    if settled is not None:
        membership[settled] = sets.membership[settled]
    closed = _closed_gaps(cells, membership, options.min_gap, most)
    found = []
    for speaker in range(membership.shape[1]):
        rows = np.flatnonzero(membership[:, speaker])
        if not len(rows):
            continue
        spoken = cells[rows]
        apart = (spoken[1:, 0] - spoken[:-1, 1] > 1e-9) & ~closed[rows[:-1], speaker]
        begins = spoken[np.concatenate([[True], apart]), 0]
        ends = spoken[np.concatenate([apart, [True]]), 1]
        heard = ends - begins > MILLISECOND  # a cell between two borders that met holds nothing
        stretches = zip(begins[heard], ends[heard], strict=True)
        found += [(float(b), float(e), speaker) for b, e in stretches]
    return sorted(found)


def _closed_gaps(
    cells: Float64[np.ndarray, "n 2"], membership: np.ndarray, longest: float, most: int
) -> Bool[np.ndarray, "n k"]:
    """After which cells a speaker's gap is closed: the shortest first, as long as there is room."""
    gaps: list[tuple[float, int, int, int]] = []  # seconds, cells before and after, speaker
    for speaker, held in enumerate(membership.T):
        rows = np.flatnonzero(held)
        seconds = cells[rows[1:], 0] - cells[rows[:-1], 1]
        gaps += [
            (float(seconds[i]), int(rows[i]), int(rows[i + 1]), speaker)
            for i in np.flatnonzero((seconds > 1e-9) & (seconds <= longest))
        ]
    n, k = membership.shape
    room = np.full(2 * n, most)  # in each cell, and in the pause after it
    room[::2] -= membership.sum(axis=1)
    room[1:-1:2][cells[1:, 0] - cells[:-1, 1] <= 1e-9] = k  # there is no pause
    closed = np.zeros((n, k), bool)
    for _, before, after, speaker in sorted(gaps):
        inside = room[2 * before + 1 : 2 * after]
        if inside.min() > 0:
            inside -= 1
            closed[before, speaker] = True
    return closed


def _without_crumbs(
    cells: Float64[np.ndarray, "n 2"],
    membership: np.ndarray,
    shortest: Float64[np.ndarray, " k"],
    least: int,
    most: int,
) -> np.ndarray:
    """Take each speaker out of runs shorter than `shortest`; a neighbour gets what nobody holds.

    A neighbour of more than `most` speakers, which only a person asks for, goes on nowhere. A
    speaker who has no other runs keeps the longest, where fewer than `least` would be left.
    """
    kept = membership.copy()
    longest = np.zeros(membership.shape[1])  # seconds
    longest_run: dict[int, np.ndarray] = {}
    n = len(cells)
    touching = np.zeros(n, bool)
    touching[1:] = cells[1:, 0] - cells[:-1, 1] <= 1e-9
    for speaker in range(membership.shape[1]):
        held = membership[:, speaker]
        starts = held & ~(np.concatenate([[False], held[:-1]]) & touching)
        run = np.cumsum(starts) - 1
        rows = np.flatnonzero(held)
        if not len(rows):
            continue
        length = np.bincount(run[rows], (cells[rows, 1] - cells[rows, 0]))
        longest[speaker] = length.max()
        longest_run[speaker] = rows[run[rows] == length.argmax()]
        short = rows[length[run[rows]] < shortest[speaker] - 1e-9]
        kept[short, speaker] = False
    left_out = np.flatnonzero(membership.any(axis=0) & ~kept.any(axis=0))
    missing = max(0, least - int(kept.any(axis=0).sum()))
    for speaker in left_out[np.argsort(-longest[left_out], kind="stable")][:missing]:
        kept[longest_run[speaker], speaker] = True
    lost = membership.any(axis=1) & ~kept.any(axis=1)

    def gives(row: int) -> bool:
        return 0 < int(kept[row].sum()) <= most

    for row in np.flatnonzero(lost).tolist():  # forwards: the turn before goes on
        if touching[row] and gives(row - 1):
            kept[row] = kept[row - 1]
    for row in np.flatnonzero(lost)[::-1].tolist():  # backwards: the turn after begins sooner
        if not kept[row].any() and row + 1 < n and touching[row + 1] and gives(row + 1):
            kept[row] = kept[row + 1]
    still = membership.any(axis=1) & ~kept.any(axis=1)
    # A region that is all crumbs stays as it was heard.
    kept[still] = membership[still] & np.isfinite(shortest)
    return kept


def in_scraps(found: Sequence[Turn], least: int = 0) -> list[int]:
    """Speakers of whom no turn is as long as something is known of a voice, where others have such.

    So many as `least` asks for stay, those with the longest turns.
    """
    longest: dict[int, float] = {}
    for begin, end, speaker in found:
        longest[speaker] = max(longest.get(speaker, 0.0), end - begin)
    order = sorted(longest, key=lambda speaker: -longest[speaker])
    some = any(seconds >= SHORTEST for seconds in longest.values())
    return [who for who in order[least:] if some and longest[who] < SHORTEST]


def name_turns(found: Sequence[Turn]) -> dict[int, str]:
    """Call speakers SPEAKER_00, SPEAKER_01, ... in order of first appearance."""
    order = dict.fromkeys(speaker for _, _, speaker in found)
    return {speaker: f"SPEAKER_{n:02d}" for n, speaker in enumerate(order)}


def sets_at(reference: Annotation, times: Float64[np.ndarray, "n"]) -> SpeakerSets:
    """Say whom a reference holds at given instants, which are sorted."""
    labels = reference.labels()
    tracks = reference.itertracks(yield_label=True)
    said = [(segment.start, segment.end, labels.index(label)) for segment, _, label in tracks]
    return turns_at(said, times, len(labels))


def turns_at(said: Sequence[Turn], times: Float64[np.ndarray, "n"], n_speakers: int) -> SpeakerSets:
    """Say who has a turn at given instants, which are sorted."""
    membership = np.zeros((len(times), n_speakers), bool)
    for begin, end, speaker in said:
        membership[slice(*np.searchsorted(times, [begin, end])), speaker] = True
    return SpeakerSets(membership)
