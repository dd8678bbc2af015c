"""Where turns lie, once it is known who speaks and how many there are.

The turns are decoded once more, by shorter windows; then a network that has seen how such decodings
err says for each slice of time who is heard (resegmentation).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit

from diarize.sets import Speakers, SpeakerSets
from diarize.timeline.decoding import Decoded, Heard, decode
from diarize.timeline.evidence import SLICES, Evidence
from diarize.timeline.trellis import TimelineOptions, Trellis
from diarize.timeline.turns import name_turns, turns

SHORTER = {"switch": 0.8, "overlap": 0.5, "counts": 0.67}
"""What costs less among shorter windows: its share of what it costs otherwise; chosen on
conversations and replays of dev-a."""

PAUSED = -0.5  # log odds of the likeliest speaker below which nobody speaks
SHARPNESS = 20.0  # log odds for a unit of squared distance that a further speaker pays more


def for_shorter(options: TimelineOptions) -> TimelineOptions:
    """As they are for shorter windows."""
    own = vars(options)
    return replace(options, **{name: share * own[name] for name, share in SHORTER.items()})


def find_turns(
    found: Decoded,
    vectors: Float[np.ndarray, "n p"],
    speakers: Speakers,
    everybody: bool = True,
    spoken: bool = False,
) -> Decoded:
    """Say where the turns of those who were found lie.

    Which voices there are, and how many, stays a matter of the longer windows. Where the shorter
    ones are the same, or the sets of the speakers are told, all stays as it is.

    Args:
        found: who speaks when by the longer ones.
        vectors: of the shorter ones, of the same cells.
        speakers: who may speak.
        everybody: as for `decode`.
        spoken: whether it is known that somebody speaks in all of the cells; else there may be
            pauses that a detector has filled.
    """
    return resegment(decode_turns(found, vectors, speakers, everybody, spoken))


def decode_turns(
    found: Decoded,
    vectors: Float[np.ndarray, "n p"],
    speakers: Speakers,
    everybody: bool = True,
    spoken: bool = False,
) -> Decoded:
    """Decode once more, by shorter windows; arguments as for `find_turns`."""
    longer = found.trellis
    if speakers.told is not None or not found.names or np.array_equal(vectors, longer.vectors):
        return found
    heard = longer.counts, for_shorter(longer.options), longer.novelty
    trellis = Trellis.of(longer.cells, vectors, longer.states, *heard)
    trellis = replace(trellis, voices=longer.vectors, spoken=spoken)
    return decode(trellis, speakers, len(found.names), everybody)


def resegment(found: Decoded) -> Decoded:
    """Let the network say who is heard in each slice of what was decoded by shorter windows.

    Everybody keeps a turn. What a person says of a cell stands, and so does all where nobody
    listened for how many speak.
    """
    trellis, counts = found.trellis, found.trellis.counts
    if trellis.voices is None or counts is None or not found.turns:
        return found
    from diarize.timeline.resegmenter import load_resegmenter

    evidence = Evidence.of(found, counts)
    more = trellis.options.overlap - for_shorter(TimelineOptions()).overlap
    odds = load_resegmenter().log_odds(evidence)
    least = -np.inf if trellis.spoken else PAUSED
    heard = choose(odds, found.speakers.largest, SHARPNESS * more, least)
    decoded, settled = evidence.decoded, trellis.settled.repeat(SLICES)
    heard[settled] = decoded[settled]
    silent = ~heard.any(axis=0)
    theirs = decoded[:, silent].any(axis=1)
    heard[theirs] = decoded[theirs]
    if not heard.any(axis=0).all():
        return found
    bounds = trellis.options, heard.shape[1], settled, found.speakers.largest
    own = turns(evidence.slices, SpeakerSets(heard), *bounds)
    numbered = [(begin, end, int(evidence.speakers[who])) for begin, end, who in own]
    probable = np.zeros((len(odds), trellis.states.n_speakers), np.float32)
    probable[:, evidence.speakers] = expit(odds)
    probable[trellis.certain.repeat(SLICES, axis=0)] = 1
    sure = Heard(evidence.slices, probable)
    return replace(found, turns=numbered, names=name_turns(numbered), heard=sure)


def choose(
    odds: Float[np.ndarray, "slices k"], largest: int, reluctance: float, least: float = -np.inf
) -> Bool[np.ndarray, "slices k"]:
    """In each slice the likeliest speaker, and others who are likely, `largest` in all.

    Args:
        odds: log odds that a speaker is heard.
        largest: so many at most.
        reluctance: log odds that a further speaker needs.
        least: log odds that the likeliest needs.
    """
    rank = np.argsort(np.argsort(-odds, axis=1, kind="stable"), axis=1, kind="stable")
    first, others = (rank == 0) & (odds > least), (rank < largest) & (odds > reluctance)
    heard: Bool[np.ndarray, "slices k"] = first | others
    return heard
