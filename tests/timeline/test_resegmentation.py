"""Where turns lie: decoded by shorter windows, then heard by a network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from diarize.clustering import make
from diarize.sets import SpeakerSets
from diarize.timeline import Decoded, resegmenter
from diarize.timeline.evidence import Evidence
from diarize.timeline.resegmentation import choose, decode_turns, resegment
from diarize.timeline.turns import Turn

from ..making import unit_mean
from .conftest import decoded


def test_turns_lie_where_shorter_windows_say_and_voices_stay_those_of_longer_ones(conversation):
    vectors, cells, _ = conversation
    estimator = make("ckm", n_speakers=2, compose=unit_mean, random_state=0).fit(vectors)
    found = decoded(vectors, cells, estimator)
    shorter = np.roll(vectors, 5, axis=0)  # all is said a second later
    later = decode_turns(found, shorter, estimator.speakers(), spoken=True)
    assert later.trellis.spoken and not found.trellis.spoken
    begins, before = ([begin for begin, *_ in one.turns] for one in (later, found))
    assert begins[1:3] == pytest.approx([time + 1 for time in before[1:3]], abs=0.05)
    assert later.names == found.names
    assert later.trellis.vectors is shorter and later.monologues.vectors is vectors
    assert later.trellis.options.switch < found.trellis.options.switch  # they vary faster
    assert decode_turns(found, vectors.copy(), estimator.speakers()) is found


def test_shorter_windows_take_nobody_away(conversation):
    vectors, cells, _ = conversation
    estimator = make("ckm", n_speakers=2, compose=unit_mean, random_state=0).fit(vectors)
    found = decoded(vectors, cells, estimator)
    one_voice = np.repeat(vectors[:1], len(vectors), axis=0)
    turns = decode_turns(found, one_voice, estimator.speakers())
    assert len(turns.names) == 2


def test_sets_that_are_told_stay(conversation):
    vectors, cells, truth = conversation
    told = make("oracle").fit(vectors, SpeakerSets.from_lists(truth))
    found = decoded(vectors, cells, told)
    assert decode_turns(found, vectors[::-1], told.speakers()) is found


class Says:
    """A network that has one answer to everything."""

    def __init__(self, answer) -> None:
        self.answer = answer

    def log_odds(self, evidence: Evidence) -> np.ndarray:
        return np.asarray(self.answer(evidence), np.float64)


def saying(monkeypatch: pytest.MonkeyPatch, found: Decoded, answer) -> list[Turn]:
    """The turns where the network's answer to the evidence is this."""
    monkeypatch.setattr(resegmenter, "load_resegmenter", lambda: Says(answer))
    return resegment(found).turns


def test_turns_lie_where_the_network_hears_them(short, monkeypatch):
    def later(evidence: Evidence) -> np.ndarray:
        return 8 * np.roll(evidence.decoded, 25, axis=0) - 4  # half a second

    before = [(begin, end) for begin, end, _ in short.turns if begin]
    now = [(begin, end) for begin, end, _ in saying(monkeypatch, short, later) if begin]
    moved = np.clip(np.array(before) + 0.5, 0, 12)
    np.testing.assert_allclose(now, moved, atol=0.021)


def test_somebody_speaks_and_no_more_than_may(short, monkeypatch):
    nobody = saying(monkeypatch, short, lambda evidence: evidence.decoded - 9.0)
    assert {who for *_, who in nobody} == {0, 1}
    everybody = saying(monkeypatch, short, lambda evidence: np.full(evidence.decoded.shape, 9.0))
    np.testing.assert_allclose(everybody, [(0, 12, 0), (0, 12, 1)], atol=1e-9)
    one = replace(short, speakers=replace(short.speakers, largest=1))
    alone = saying(monkeypatch, one, lambda evidence: evidence.decoded + np.array([1.0, 2.0]))
    assert [who for *_, who in alone] != [0] and sum(end - begin for begin, end, _ in alone) <= 12


def test_a_detector_may_have_filled_a_pause(short, monkeypatch):
    def pausing(evidence: Evidence) -> np.ndarray:
        odds = 8.0 * evidence.decoded - 4
        odds[200:260] = -4  # from 4.0 to 5.2 s
        return odds

    def spoken(turns: list[Turn]) -> np.ndarray:
        times = np.arange(0.01, 12, 0.02)
        return np.any([(begin <= times) & (times < end) for begin, end, _ in turns], axis=0)

    detected = spoken(saying(monkeypatch, short, pausing))
    assert not detected[200:260].any() and detected[:200].all() and detected[260:].all()
    known = replace(short, trellis=replace(short.trellis, spoken=True))
    assert spoken(saying(monkeypatch, known, pausing)).all()
    heard = resegment(short).heard
    assert heard is not None and heard.slices.shape == (600, 2)
    np.testing.assert_allclose(heard.probable[200:260], 1 / (1 + np.exp(4)), rtol=1e-5)


def test_everybody_keeps_a_turn(short, monkeypatch):
    only_first = saying(monkeypatch, short, lambda evidence: np.array([[9.0, -9]]).repeat(600, 0))
    kept, before = ([turn for turn in turns if turn[2]] for turns in (only_first, short.turns))
    np.testing.assert_allclose(kept, before, atol=0.021)


def test_what_a_person_says_of_a_cell_stands(short, monkeypatch):
    settled = np.arange(60) < 10
    told = replace(short, trellis=replace(short.trellis, settled=settled))
    swapped = saying(monkeypatch, told, lambda evidence: 4 - 8.0 * evidence.decoded)
    assert min(begin for begin, _, who in swapped if who != short.turns[0][2]) == pytest.approx(2.0)


def test_where_nothing_tells_how_many_speak_turns_stay(short, monkeypatch):
    monkeypatch.delattr(resegmenter, "load_resegmenter")
    deaf = replace(short, trellis=replace(short.trellis, counts=None))
    alike = replace(short, trellis=replace(short.trellis, voices=None))
    for found in (deaf, alike, replace(short, turns=[])):
        assert resegment(found) is found


def test_a_further_speaker_who_costs_much_is_not_heard(short, monkeypatch):
    options = replace(short.trellis.options, overlap=1.0)
    dear = replace(short, trellis=replace(short.trellis, options=options))
    turns = saying(monkeypatch, dear, lambda evidence: 8.0 * evidence.decoded - 4)
    assert sum(end - begin for begin, end, _ in turns) <= 12.0


@given(
    arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.floats(-9, 9)),
    st.integers(1, 3),
    st.floats(-1, 3),
)
def test_the_likeliest_speak(odds, largest, reluctance):
    heard = choose(odds, largest, reluctance)
    assert (heard.sum(axis=1) >= 1).all() and (heard.sum(axis=1) <= largest).all()
    for own, held in zip(odds, heard, strict=True):
        assert own[held].max() == own.max()
        further = np.sort(own)[::-1][1:largest]
        assert held.sum() == 1 + (further > reluctance).sum()


def test_the_network_that_ships_keeps_a_clear_conversation(short):
    turns = resegment(short).turns
    spoken = [[who for begin, end, who in turns if begin <= time < end] for time in (1, 3, 7, 11)]
    assert spoken == [[who for b, e, who in short.turns if b <= t < e] for t in (1, 3, 7, 11)]
