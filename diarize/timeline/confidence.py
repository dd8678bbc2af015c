"""How probable it is that a turn's speaker is right.

The network that hears turns says it of each slice of time. Without it, the decoding knows how much
better a sequence of sets with the speaker fits than one without. How often such a speaker is right
was counted on conversations with truth. Both know nothing of two people who share a label, or of
one who has two: what speaks for either (`diarize.voices.number`) makes the turns of that label less
sure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Float64
from scipy.special import expit, logit

from diarize.timeline.decoding import Decoded, heard_alone
from diarize.timeline.paths import posteriors
from diarize.timeline.turns import Turn
from diarize.voices.number import NO_DOUBTS, Doubts, doubts, probabilities, within

if TYPE_CHECKING:
    from pyannote.core import Segment

    from diarize.embedding import Knowledge

DOUBLED = 0.7
"""Share of a speaker's turns that are wrong if he is nobody new: whose label has more is right."""

SHARED = 0.2
"""Share that is wrong if he stands for one more person. Both were fitted together with `slope` and
`offset`, as `recipes/conversations/reliability.py` does, on conversations of dev-a."""

HEARD = -0.31
"""Log odds by which a turn is less often right than the network says of it, on average over the
turn; fitted by `recipes/conversations/reliability.py` on conversations and replays of dev-a."""

LEAST = 0.01  # probability below which the network is not believed, and above 1 less it


class Certainty(NamedTuple):
    """How sure is what was found in a recording.

    Attributes:
        confidence: of each turn's segment and track, as `confidences` says.
        number: how probable each number of speakers is; one is certain where it was told.
        doubted: what may be wrong with speakers.
    """

    confidence: Mapping[tuple[Segment, str], float]
    number: Mapping[int, float]
    doubted: Doubts


def certainty(
    found: Decoded, knowledge: Knowledge, least: int = 0, most: int | None = None
) -> Certainty:
    """Say how sure what was decoded is; of sets that were told, nothing is doubted.

    Args:
        found: what was decoded.
        knowledge: of the embedding.
        least: so many speakers there are, as was told.
        most: so many there are at most; None: nobody knows.
    """
    doubted, number = NO_DOUBTS, {len(found.monologues.names): 1.0}
    if found.turns and found.speakers.told is None:
        bounds = max(least, 1), most
        every = doubts(found.monologues, knowledge.likeness)
        doubted = within(every, *bounds)
        if least != most:
            number = probabilities(every, *bounds)
    sure = confidences(found, knowledge, doubted).tolist()
    return Certainty(dict(zip(found.tracks, sure, strict=True)), number, doubted)


def confidences(
    found: Decoded,
    knowledge: Knowledge,
    doubted: Doubts = NO_DOUBTS,
) -> Float64[np.ndarray, " turns"]:
    """Say for each turn with what probability its speaker is heard at an instant drawn from it.

    A speaker who is heard is one whose voice sounds, be it with others; that nobody speaks counts
    against every turn. What a person says is certain.

    Args:
        found: what was decoded; every turn shares time with a cell.
        knowledge: of the embedding: its sharpness, slope and offset.
        doubted: what may be wrong with speakers, by name.
    """
    cells, certain = found.trellis.cells, found.trellis.certain
    told = turn_shares(found.turns, cells, certain.astype(np.float64))

    def untold(share: Float64[np.ndarray, " turns"]) -> Float64[np.ndarray, " turns"]:
        return np.clip((share - told) / np.maximum(1 - told, 1e-9), 0.0, 1.0)

    if found.heard is not None:
        share = untold(turn_shares(found.turns, *found.heard)).clip(LEAST, 1 - LEAST)
        rest = expit(logit(share) + HEARD)
    else:
        probable = speaker_posteriors(found, knowledge.sharpness)  # (n, k)
        share = untold(turn_shares(found.turns, cells, probable))
        rest = calibrated(share, knowledge.slope, knowledge.offset)
    right = dict(zip(doubted.names, one_person(doubted), strict=True))
    single = np.array([right.get(found.names.get(who, ""), 1.0) for _, _, who in found.turns])
    return told + (1 - told) * single * rest


def one_person(
    doubted: Doubts, doubled: float = DOUBLED, shared: float = SHARED
) -> Float64[np.ndarray, " k"]:
    """Share of each speaker's turns that is right, as far as his label goes."""
    return np.asarray((1 - doubled * doubted.duplicate) * (1 - shared * doubted.merged))


def speaker_posteriors(found: Decoded, sharpness: float) -> Float64[np.ndarray, "n k"]:
    """How probable each speaker is in each cell, as far as the decoding knows."""
    trellis, speakers = found.trellis, found.speakers
    if not len(speakers) or not len(trellis.cells):
        return np.zeros((len(trellis.cells), len(speakers)))
    places = heard_alone(trellis.vectors, found.sets, speakers).places(trellis.states)  # (m, p)
    fits = trellis.costs(places), trellis.states, trellis.options
    return posteriors(trellis.cells, *fits, sharpness)


def turn_shares(
    found: Sequence[Turn],
    cells: Float64[np.ndarray, "n 2"],
    probable: Float[np.ndarray, "n k"],
) -> Float64[np.ndarray, " turns"]:
    """Average a speaker's probability over the cells of each turn, by the time they share."""
    shares = np.zeros(len(found))
    for i, (begin, end, speaker) in enumerate(found):
        here = slice(np.searchsorted(cells[:, 1], begin), np.searchsorted(cells[:, 0], end))
        seconds = np.minimum(cells[here, 1], end) - np.maximum(cells[here, 0], begin)  # (here,)
        shares[i] = seconds @ probable[here, speaker] / max(seconds.sum(), 1e-9)
    return np.clip(shares, 0.0, 1.0)


def calibrated(
    shares: Float64[np.ndarray, " turns"], slope: float, offset: float
) -> Float64[np.ndarray, " turns"]:
    """From what the decoding is sure of to how often it is right: a logistic."""
    return np.asarray(1 / (1 + np.exp(-(slope * shares + offset))))
