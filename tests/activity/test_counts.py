"""What follows from the probabilities of so many voices."""

from __future__ import annotations

import math

import numpy as np
import pytest

from diarize.activity.counts import INSTANT, Heard, VoiceCounts
from diarize.activity.speech import SpeechByCounts

# Rows that are told by a letter: nobody, one, two, three voices for sure, and nothing is known.
ROWS = {"-": (1, 0, 0, 0), "1": (0, 1, 0, 0), "2": (0, 0, 1, 0), "3": (0, 0, 0, 1)}
ROWS["?"] = (0.25, 0.25, 0.25, 0.25)


def counts(letters: str, start: float = 0.0) -> VoiceCounts:
    rows = np.array([ROWS[letter] for letter in letters], np.float32).reshape(-1, 4)
    return VoiceCounts(start, rows)


def regions(voices: VoiceCounts, **options: float) -> list[list[float]]:
    given = {"threshold": 0.5, "min_speech": 0.0, "min_silence": 0.0} | options
    heard = SpeechByCounts(**given).heard(voices.start, voices.probabilities, math.inf)
    return ((heard.regions - voices.start) / INSTANT).round(6).tolist()


def test_speech_is_where_nobody_is_improbable() -> None:
    voices = counts("--11-2--?3--")
    assert regions(voices) == [[2, 4], [5, 6], [8, 10]]
    assert regions(voices, threshold=0.8) == [[2, 4], [5, 6], [9, 10]]
    assert regions(voices, min_silence=0.04) == [[2, 6], [8, 10]]
    assert regions(voices, min_silence=0.05) == [[2, 10]]
    assert regions(voices, min_speech=0.04) == [[2, 4], [8, 10]]
    # A gap is closed first: what is short alone may be long together.
    assert regions(counts("1-1-1"), min_speech=0.1, min_silence=0.03) == [[0, 5]]
    assert regions(counts("--?1??-"), threshold=0.9) == [[3, 6]]
    eager = SpeechByCounts(threshold=0.5, min_speech=0.0, min_silence=0.0)
    late = eager.heard(7.0, counts("-11-").probabilities, math.inf).regions
    assert late == pytest.approx(np.array([[7.02, 7.06]]))
    assert regions(counts("")) == regions(counts("----")) == []


def test_what_is_just_long_enough_is_so_everywhere() -> None:
    """A tenth of a second is five instants, wherever they lie."""
    for first in range(200):
        voices = counts("-" * first + "1" * 5 + "-" * 10 + "1" * 5)
        found = regions(voices, min_speech=0.1, min_silence=0.2)
        assert found == [[first, first + 5], [first + 15, first + 20]]


def test_where_several_are_heard() -> None:
    heard = counts("-" * 5 + "2" * 10 + "1" * 3 + "3" * 6 + "1" * 20 + "2" * 4)
    end = heard.start + 9
    np.testing.assert_allclose(heard.several(end), heard.start + np.array([[0.1, 0.48]]))
    assert counts("-11").several(end).shape == (0, 2)
    short = heard.several(heard.start + 0.45)  # the last instant may reach beyond the recording
    np.testing.assert_allclose(short, heard.start + np.array([[0.1, 0.45]]))


def test_what_was_heard_comes_back_from_arrays() -> None:
    some = np.array([[0.0, 1.0]])
    alone = Heard.from_arrays(Heard(some).arrays())
    assert alone.counts is None and np.array_equal(alone.regions, some)
    both = Heard.from_arrays(Heard(some, counts("1-2", start=3.5)).arrays())
    assert both.counts is not None and both.counts.start == 3.5
    assert np.array_equal(both.counts.probabilities, counts("1-2").probabilities)
    assert Heard.of(both) is both and np.array_equal(Heard.of(some).regions, some)
