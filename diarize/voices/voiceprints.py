"""Who of one recording is who elsewhere: names for voices that are alike.

Two centroids are compared by their cosine, which says more or less depending on how much speech
they rest on. Speakers of one recording are never one person: they are rivals for whoever else is
like them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from jaxtyping import Float64, Int64
from scipy.special import expit, logit

from diarize.clustering.merging import merges
from diarize.scatter import Likeness
from diarize.voices.vectors import Voiceprints, join

SHIPPED = Likeness()  # of the embedding that ships

SPLIT = 0.2
"""Odds that two speakers of a recording who are alike are one, found twice, to those that they are
two; so that a voice in two halves hides nobody. Chosen on dev-a, as the thresholds were, out of
0.05 to 0.5."""

BANDS = (0.0, 2.0, -2.0)
"""Log odds by which one person is likelier where neither voice, one or both are heard in a narrow
band: across bands one voice is less alike, within one two are more. Chosen on dev-a, such that one
of a thousand pairs of strangers is taken for one person by the shipped threshold."""

ANONYMOUS = re.compile(r"SPEAKER_\d+")  # what a voice is called that nobody knows


@dataclass(frozen=True)
class Match:
    """A speaker of a recording, and the voice elsewhere that is most like his."""

    speaker: str  # what he is called now
    voice: str  # who that is
    similarity: float  # cosine of the two
    probability: float  # that they are one person, if that is as probable as not beforehand
    same: bool  # whether they are taken for one

    def __str__(self) -> str:
        who = f"like {self.voice}" if self.same else f"most like {self.voice}, but not enough"
        figures = f"similarity {self.similarity:.2f}, probability {self.probability:.2f}"
        return f"{self.speaker} sounds {who} ({figures})"


def matches(
    found: Voiceprints,
    others: Voiceprints,
    same: Callable[[str, str], bool],
    odds: Float64[np.ndarray, "n m"],
) -> list[Match]:
    """Find the voice that each speaker is, or else that which is most like his.

    `same` says whether a speaker is taken for one of the others; `odds` are log odds that he is.
    """
    if not found.names or not others.names:
        return []
    cosines = found.centroids.astype(np.float64) @ others.centroids.T
    told = []
    for row, speaker in enumerate(found.names):
        taken = np.array([same(speaker, voice) for voice in others.names])
        best = int(np.where(taken | ~taken.any(), odds[row], -np.inf).argmax())
        figures = float(cosines[row, best]), float(expit(odds[row, best]))
        told.append(Match(speaker, others.names[best], *figures, bool(taken[best])))
    return told


def log_odds(
    a: Voiceprints, b: Voiceprints, likeness: Likeness = SHIPPED
) -> Float64[np.ndarray, "n m"]:
    """Say of all pairs how probable it is that they are one person's voices; 0: as not.

    Where rivals, of whom no two are one person, are all like somebody, at most one of them is he:
    the odds of a pair are divided by one plus those of either with the other's rivals.
    """
    alone = _log_odds_alone(a, b, likeness)
    return np.asarray(alone - np.log1p(_of_rivals(a, b, np.exp(alone))))


def log_odds_across(
    voices: Voiceprints, likeness: Likeness = SHIPPED
) -> Float64[np.ndarray, "n n"]:
    """Say of all pairs of voices of several recordings what `log_odds` says of pairs of two.

    Of the speakers of a recording at most one is the same person; in his own, that is himself. The
    one who is second most like somebody therefore tells how alike strangers with voices of that
    kind are: the odds are divided by one plus the odds of these, if they exceed those of rivals.
    """
    alone = _log_odds_alone(voices, voices, likeness)
    odds = np.exp(alone)
    strangers = np.zeros(len(odds))
    for origin in np.unique([] if voices.origins is None else voices.origins):
        here = odds[:, voices.origins == origin]
        if here.shape[1] > 1:
            second = np.partition(here, -2, axis=1)[:, -2]
            strangers = np.maximum(strangers, second / (1 + SPLIT * second))
    both = strangers[:, None] + strangers
    return np.asarray(alone - np.log1p(np.maximum(both, _of_rivals(voices, voices, odds))))


def _of_rivals(
    a: Voiceprints, b: Voiceprints, odds: Float64[np.ndarray, "n m"]
) -> Float64[np.ndarray, "n m"]:
    """Sum up the odds of each of a pair with the rivals of the other, who may be he after all."""
    believed = odds / (1 + SPLIT * odds)
    return np.asarray(a.rivals @ believed + believed @ b.rivals)


def _log_odds_alone(
    a: Voiceprints, b: Voiceprints, likeness: Likeness
) -> Float64[np.ndarray, "n m"]:
    """Log odds of pairs, as if there were no others."""
    cosines = a.centroids.astype(np.float64) @ b.centroids.T
    scarcity = a.scarcity[:, None] + b.scarcity
    narrow = a.narrowed[:, None].astype(np.int64) + b.narrowed
    return np.asarray(likeness.log_odds(cosines, scarcity) + np.array(BANDS)[narrow])


def identify(
    found: Voiceprints, known: Voiceprints, likeness: Likeness = SHIPPED
) -> dict[str, str]:
    """Find known voices among the speakers of one recording.

    Each known voice is at most one speaker and the other way round; what is assigned has the
    largest sum of what the log odds exceed those of the threshold by.

    Args:
        found: the speakers.
        known: the known voices.
        likeness: of the embedding, and the least probability that two are one person.

    Returns:
        Speaker to known voice, for those who are known.
    """
    from scipy.optimize import linear_sum_assignment

    if not found.names or not known.names:
        return {}
    excess = log_odds(found, known, likeness) - logit(likeness.known)
    rows, columns = linear_sum_assignment(np.maximum(excess, 0.0), maximize=True)
    return {
        found.names[row]: known.names[column]
        for row, column in zip(rows, columns, strict=True)
        if excess[row, column] >= 0
    }


def name_speakers(
    recordings: Sequence[Voiceprints],
    known: Voiceprints | None = None,
    likeness: Likeness = SHIPPED,
) -> list[dict[str, str]]:
    """Name the speakers of recordings: the same person has the same name in all of them.

    Known voices get their names, strangers are SPEAKER_00, SPEAKER_01, ... by first appearance, in
    the order of the recordings; a number that a known voice bears is passed over. Speakers who have
    a name that is no number keep it.

    Args:
        recordings: the speakers of each, by first appearance.
        known: voices whose names are known.
        likeness: of the embedding, and the least probabilities that two are one person.

    Returns:
        For each recording, speaker to name.
    """
    known = known or Voiceprints()
    given = [_identify_strangers(found, known, likeness) for found in recordings]
    speakers = [(n, name) for n, found in enumerate(recordings) for name in found.names]
    names = [given[n].get(name) for n, name in speakers]
    persons = link(recordings, names, likeness)
    called = {person: name for person, name in zip(persons, names, strict=True) if name}
    strangers = free_names(known.names)
    result: list[dict[str, str]] = [{} for _ in recordings]
    for (n, name), person in zip(speakers, persons, strict=True):
        if person not in called:
            called[person] = next(strangers)
        result[n][name] = called[person]
    return result


def free_names(taken: Container[str | None]) -> Iterator[str]:
    """What people are called whom nobody knows: SPEAKER_00 and on, but for what is taken."""
    return (name for n in count() if (name := f"SPEAKER_{n:02d}") not in taken)


def _identify_strangers(
    found: Voiceprints, known: Voiceprints, likeness: Likeness
) -> dict[str, str]:
    """Find known voices among those who have no name yet, and keep the names of the others."""
    named = {name: name for name in found.names if not ANONYMOUS.fullmatch(name)}
    return named | identify(_without(found, named), _without(known, named), likeness)


def _without(voices: Voiceprints, names: Container[str]) -> Voiceprints:
    return voices[[row for row, name in enumerate(voices.names) if name not in names]]


def link(
    recordings: Sequence[Voiceprints], names: Sequence[str | None], likeness: Likeness = SHIPPED
) -> list[int]:
    """Tell which speakers of several recordings are one person.

    Average linkage of the log odds, where two speakers of one recording, or with two names, are
    never joined, and two with one name always.

    Args:
        recordings: the speakers of each.
        names: of all speakers in turn, where they are known.
        likeness: of the embedding, and the least probability, by the mean of the log odds, that two
            groups of speakers that are joined are one person.

    Returns:
        A number for each speaker in turn: that of his person.
    """
    everybody = join(recordings)
    if not everybody.names:
        return []
    alike = log_odds_across(everybody, likeness)
    codes = np.unique([name or "" for name in names], return_inverse=True)[1]
    named = np.array([name is not None for name in names])
    both = named[:, None] & named
    same = codes[:, None] == codes
    alike[both & same] = 1e9  # more than any other: joined first
    alike[(both & ~same) | (everybody.rivals > 0)] = -np.inf
    np.fill_diagonal(alike, -np.inf)
    return _average_linkage(alike, float(logit(likeness.same_person))).tolist()


def _average_linkage(alike: Float64[np.ndarray, "n n"], threshold: float) -> Int64[np.ndarray, "n"]:
    """Join the two groups with the largest mean similarity while that reaches a threshold.

    What is -inf stays so, whatever it is averaged with. A group is numbered as its first member.
    """
    group, size, costs = np.arange(len(alike)), np.ones(len(alike)), -alike

    def mean(kept: int, gone: int, others: Int64[np.ndarray, " others"]) -> np.ndarray:
        total = size[kept] * costs[kept, others] + size[gone] * costs[gone, others]
        size[kept] += size[gone]
        return total / size[kept]

    for kept, gone, cost in merges(costs, mean):
        if cost > -threshold:
            break
        group[group == gone] = kept
    return group
