"""What a conversation looks like in figures: who talks how long, how many at once, who follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64
from pyannote.core import Annotation

from diarize.scoring.elements import TICKS_PER_SECOND, decompose


@dataclass(frozen=True)
class Figures:
    """Figures of one conversation between k speakers.

    Attributes:
        speakers: by first appearance; all else is in this order.
        talk: seconds in which each speaks; an instant counts once, however many turns hold it.
        alone: seconds of them in which nobody else does.
        turns: how many turns each has.
        at_once: seconds in which 0, 1, 2, ... speakers speak; 0 between the first word and the
            last.
        follows: `follows[a, b]` is how often a turn of b is the next to begin after one of a. On
            the diagonal a speaker goes on after a pause.
    """

    speakers: tuple[str, ...]
    talk: Float64[np.ndarray, "k"]
    alone: Float64[np.ndarray, "k"]
    turns: Int64[np.ndarray, "k"]
    at_once: Float64[np.ndarray, "n"]
    follows: Int64[np.ndarray, "k k"]


def talk_figures(annotation: Annotation) -> Figures:
    """Count what is in an annotation, to the microsecond."""
    tracks = [
        (segment.start, segment.end, str(label))
        for segment, _, label in annotation.itertracks(yield_label=True)
    ]
    order = [label for _, _, label in sorted(tracks)]
    speakers = tuple(dict.fromkeys(order))
    index = {label: number for number, label in enumerate(speakers)}
    says = np.array([index[label] for label in order], np.int64)
    follows = np.zeros((len(speakers), len(speakers)), np.int64)
    np.add.at(follows, (says[:-1], says[1:]), 1)

    elements = decompose(annotation, Annotation())
    sizes, seconds = elements.reference.sizes, elements.duration / TICKS_PER_SECOND
    # The columns are those of `labels()`, which are sorted.
    columns = [[str(label) for label in annotation.labels()].index(label) for label in speakers]
    membership = elements.reference.membership[:, columns]
    return Figures(
        speakers=speakers,
        talk=seconds @ membership,
        alone=seconds @ (membership & (sizes == 1)[:, None]),
        turns=np.bincount(says, minlength=len(speakers)).astype(np.int64),
        at_once=np.bincount(sizes, weights=seconds, minlength=1).astype(np.float64),
        follows=follows,
    )
