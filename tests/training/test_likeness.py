"""How alike voices must be to be one person's, fitted to hearings of known voices."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from diarize.scatter import Likeness
from diarize.sets import to_sphere
from diarize.training.likeness import Hearing, fitted_likeness, pairs


def hearings(voices: int, each: int, noise: float, seed: int = 0) -> list[Hearing]:
    """Voices on the sphere, heard several times: every place adds something of its own."""
    rng = np.random.default_rng(seed)
    centres = to_sphere(rng.normal(size=(voices, 16)))
    found = []
    for voice in range(voices):
        for _ in range(each):
            here = centres[voice] + rng.normal(size=16) * noise
            rows = to_sphere(here + rng.normal(size=(3, 16)) * noise)
            found.append(Hearing(voice, "ab"[voice % 2], 3.0, rows.astype(np.float32)))
    return found


def test_pairs_stay_within_a_corpus_and_never_share_a_hearing() -> None:
    rows, same = pairs(hearings(12, 2, 0.0))
    assert same.sum() == 12 and len(same) <= 12 + 12 * 6
    np.testing.assert_allclose(rows[same, 0], 1, atol=1e-6)
    np.testing.assert_allclose(rows[:, 1], 2 / 3)


def test_the_probabilities_are_right_about_as_often_as_they_say() -> None:
    before = Likeness(known=0.8, same_person=0.7)
    found = fitted_likeness(hearings(200, 4, 0.22), before)
    assert (found.known, found.same_person) == (0.8, 0.7)
    assert found.cosine > 0
    rows, same = pairs(hearings(200, 4, 0.22, seed=1))
    odds = found.offset + found.cosine * rows[:, 0] + found.scarcity * rows[:, 1]
    weights = np.where(same, 1 / same.sum(), 1 / (~same).sum())
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.0)):
        inside = (expit(odds) >= low) & (expit(odds) <= high)
        share = weights[inside & same].sum() / weights[inside].sum()
        assert abs(share - np.average(expit(odds)[inside], weights=weights[inside])) < 0.15


def test_voices_that_are_easily_told_apart_leave_finite_factors() -> None:
    found = fitted_likeness(hearings(60, 4, 0.1), Likeness())
    assert 0 < found.cosine < 200 and abs(found.offset) < 200


def test_a_few_voices_say_nothing() -> None:
    before = Likeness(offset=-1.0)
    assert fitted_likeness(hearings(10, 3, 0.1), before) == before
    assert fitted_likeness([], before) == before
