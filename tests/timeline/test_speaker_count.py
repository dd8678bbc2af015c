"""Speakers who are very probably nobody new leave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from diarize.activity.counts import VoiceCounts
from diarize.clustering import make
from diarize.embedding.knowledge import SCATTER
from diarize.scatter import Likeness, Scatter
from diarize.timeline import TimelineOptions
from diarize.timeline.decoding import Decoded, decoder
from diarize.timeline.speaker_count import duplicates_note, fit_and_prune
from diarize.voices.number import doubts, within

LIKENESS = Likeness()
APART = replace(SCATTER, variance=0.02, alike=0.99)  # windows alone tell near voices apart
SECONDS = 40  # that each place is heard


def voices(*places: np.ndarray) -> np.ndarray:
    """A vector a second, forty near each of these places in turn."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.stack(places), SECONDS, axis=0)
    rows = rows + rng.normal(0, 0.02, rows.shape)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def compose(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The middle of two, on the sphere."""
    return (a + b) / np.maximum(np.linalg.norm(a + b, axis=-1, keepdims=True), 1e-9)


def heard(
    vectors: np.ndarray,
    scatter: Scatter = APART,
    counts: VoiceCounts | None = None,
    **bounds: int,
) -> tuple[Any, Decoded]:
    """What is found in the end.

    Args:
        vectors: of a second each.
        scatter: of the vectors.
        counts: how many are heard.
        bounds: what is told of the number of speakers.
    """
    cells = np.arange(len(vectors))[:, None] + np.array([0.0, 1.0])
    told = {"max_set_size": 1, "compose": compose, "scatter": scatter}
    decoded = decoder(cells, vectors, counts, TimelineOptions())
    estimator, believed = fit_and_prune(make("ac", **bounds, **told), vectors, decoded, LIKENESS)
    assert believed.turns == decoded(estimator).turns
    assert len(estimator.sets_) == len(vectors)
    return estimator, believed


def found(vectors: np.ndarray, *known: Any, **told: Any) -> int:
    """How many speakers are found in the end; arguments as for `heard`."""
    return int(heard(vectors, *known, **told)[0].n_speakers_)


NEAR = np.eye(1, 32)[0]
NEARER = 0.8 * np.eye(32)[0] + 0.6 * np.eye(32)[1]  # a cosine of 0.8: hardly
ALSO_NEAR = 0.95 * np.eye(32)[0] + 0.31 * np.eye(32)[1]  # a cosine of 0.95: the same person
FAR = np.eye(32)[2]


def test_who_is_nobody_new_leaves() -> None:
    three = voices(NEAR, ALSO_NEAR, FAR)
    assert make("ac", max_set_size=1, scatter=APART).fit(three).n_speakers_ == 3
    assert found(three) == 2


def test_two_people_stay_two() -> None:
    assert found(voices(NEAR, FAR)) == 2


@pytest.mark.parametrize(
    ("bounds", "n"),
    [
        ({"n_speakers": 3}, 3),
        ({"n_speakers": 2}, 2),
        ({"n_speakers": 1}, 1),
        ({"n_speakers": 5}, 5),
        ({"min_speakers": 3}, 3),
        ({"max_speakers": 1}, 1),
        ({"min_speakers": 1, "max_speakers": 3}, 2),
    ],
)
def test_what_is_told_holds(bounds: dict[str, int], n: int) -> None:
    assert found(voices(NEAR, ALSO_NEAR, FAR), **bounds) == n


@pytest.mark.parametrize("told", [{"n_speakers": 4}, {"min_speakers": 4}])
def test_who_cannot_be_told_apart_is_heard_once(told: dict[str, int]) -> None:
    """Halves of a voice would take half of what a person says."""
    _, believed = heard(voices(NEAR, FAR), **told)
    assert len(believed.names) == 4
    seconds = sorted(believed.monologues.seconds.tolist())
    assert max(seconds[:2]) <= 2 and min(seconds[2:]) >= SECONDS - 4
    doubted = within(doubts(believed.monologues, LIKENESS), 4, 4)
    (note,) = duplicates_note(doubted)
    assert note.endswith("there since so many were told, and likely one of the others")
    assert note.count("SPEAKER_") == 2


@pytest.mark.parametrize("seed", [36, 42, 47])
def test_of_several_in_doubt_the_likeliest_leaves(seed: int) -> None:
    """Of four that were told, two are one man in several moods, and neither surely."""
    rng = np.random.default_rng(seed)
    moods = NEAR + rng.normal(0, 0.12, (4, 32))
    vectors = np.concatenate([np.repeat(moods, 18, axis=0), np.repeat(FAR[None], 6, axis=0)])
    vectors = vectors + rng.normal(0, 0.2, vectors.shape)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    _, believed = heard(vectors, SCATTER, n_speakers=4)
    seconds = sorted(believed.monologues.seconds.tolist())
    assert seconds[0] <= 2 and seconds[-1] >= 36  # not four parts


@pytest.mark.parametrize("told", [{"n_speakers": 2}, {"min_speakers": 2}])
def test_over_a_telephone_halves_of_a_voice_are_no_two_people(told: dict[str, int]) -> None:
    moods = voices(NEAR, 0.98 * NEAR + 0.2 * np.eye(32)[1])
    _, believed = heard(moods, replace(SCATTER, alike=None), **told)
    least, most = sorted(believed.monologues.seconds.tolist())
    assert least <= 2 and most >= 2 * SECONDS - 4


def test_who_is_like_another_stays_where_so_many_are_told() -> None:
    """That there are three makes it likely that the third is one who is there."""
    _, believed = heard(voices(NEAR, NEARER, FAR), n_speakers=3)
    assert min(believed.monologues.seconds) >= SECONDS - 2
    assert duplicates_note(within(doubts(believed.monologues, LIKENESS), 3, 3)) == []


@pytest.mark.parametrize("backend", ["ac", "links"])
@pytest.mark.parametrize("seed", [*range(30), 3790, 9640])
def test_whatever_is_heard_as_many_speak_as_were_told(seed: int, backend: str) -> None:
    """Of few windows, which are much alike or hardly, with pauses between."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    vectors = np.eye(16)[rng.integers(0, 3, n)] + rng.normal(0, rng.choice([0.02, 0.2]), (n, 16))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    begins = 0.2 * np.arange(n) + 0.5 * np.cumsum(rng.random(n) < 0.2)
    cells = begins[:, None] + np.array([0.0, 0.2])
    told = int(rng.integers(1, min(n, 8) + 1))
    estimator = make(backend, n_speakers=told, max_set_size=2, compose=compose, scatter=SCATTER)
    decoded = decoder(cells, vectors, None, TimelineOptions(), told)
    _, believed = fit_and_prune(estimator, vectors, decoded, LIKENESS)
    assert len(believed.names) == told


def test_where_nothing_is_decoded_nobody_is_looked_for() -> None:
    decoded = decoder(np.zeros((0, 2)), np.zeros((0, 32)), None, TimelineOptions(), 2)
    estimator = make("ac", n_speakers=2, max_set_size=1, scatter=SCATTER)
    _, believed = fit_and_prune(estimator, voices(NEAR, FAR), decoded, LIKENESS)
    assert not believed.turns


def test_one_speaker_or_none_is_left_alone() -> None:
    assert found(voices(NEAR)) == 1
    assert found(np.zeros((0, 32))) == 0


def test_over_a_telephone_near_voices_may_be_two() -> None:
    assert found(voices(NEAR, ALSO_NEAR, FAR), replace(APART, alike=None)) == 3


@pytest.mark.parametrize(("together", "n"), [(0.9, 2), (0.1, 3)])
def test_where_two_speak_at_once_is_nobody(together: float, n: int) -> None:
    both = compose(NEAR, FAR)
    probabilities = np.tile([0, 1, 0, 0], (3 * SECONDS * 50, 1)).astype(np.float32)
    probabilities[2 * SECONDS * 50 :] = [0, 1 - together, together, 0]
    counts = VoiceCounts(0.0, probabilities)
    assert found(voices(NEAR, FAR, both), counts=counts) == n


def test_where_several_are_heard_but_no_two_others_is_somebody() -> None:
    probabilities = np.tile([0, 0.1, 0.9, 0], (3 * SECONDS * 50, 1)).astype(np.float32)
    counts = VoiceCounts(0.0, probabilities)
    assert found(voices(NEAR, FAR, np.eye(32)[3]), counts=counts) == 3
