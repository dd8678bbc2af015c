"""Centroids of speakers, known voices among them, and the same person in several recordings."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from diarize.scatter import Likeness
from diarize.voices.vectors import Monologues, Voiceprints, by_first_appearance, join, rename
from diarize.voices.voiceprints import (
    BANDS,
    SPLIT,
    identify,
    link,
    log_odds,
    log_odds_across,
    matches,
    name_speakers,
)

from ..making import annotation

ALIKE = Likeness()


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def voices(*rows: list[float], names: str = "") -> Voiceprints:
    called = tuple(names or (f"SPEAKER_{n:02d}" for n in range(len(rows))))
    return Voiceprints(called, unit(np.array(rows, float)))


def chance(cosine: float) -> float:
    """The probability that two voices of much speech are one person's."""
    return float(expit(ALIKE.offset + ALIKE.cosine * cosine))


def cosine_of(probability: float) -> float:
    return float((logit(probability) - ALIKE.offset) / ALIKE.cosine)


CELLS = np.stack([np.arange(6) * 0.5, np.arange(1, 7) * 0.5], axis=1)
VECTORS = unit(np.array([[1, 0], [1, 0.2], [1, 1], [0, 1], [0, 1], [0.2, 1]], float))


def test_a_speaker_is_the_mean_of_the_windows_held_alone() -> None:
    turns = annotation((0.0, 1.5, "b"), (1.0, 3.0, "a"))
    found = Monologues.of(turns, CELLS, VECTORS).voiceprints()
    assert found.names == ("b", "a")
    np.testing.assert_allclose(found.centroids[0], unit(VECTORS[:2].sum(axis=0)), atol=1e-6)
    np.testing.assert_allclose(found.centroids[1], unit(VECTORS[3:].sum(axis=0)), atol=1e-6)
    np.testing.assert_allclose(found.seconds, [1.0, 1.5])  # of windows alone


def test_what_is_said_again_and_in_company_is_worth_less() -> None:
    turns = annotation((0.0, 1.5, "b"), (1.0, 3.0, "a"))
    assert Monologues.of(turns, CELLS, VECTORS).spoken == pytest.approx([1.25, 1.75])
    novelty = np.array([0.5, 0.5, 1.0, 0.25, np.nan, 0.25])  # "b" says it twice, "a" four times
    said = Monologues.of(turns, CELLS, VECTORS, novelty)
    assert said.spoken == pytest.approx([1.25 * (0.5 + 0.5 + 1) / 3, 1.75 * (1 + 0.25 + 0.25) / 3])
    assert said.seconds == pytest.approx([1.0, 1.5])
    nobody_knows = Monologues.of(turns, CELLS, VECTORS, np.full(6, np.nan))
    assert nobody_knows.spoken == pytest.approx([1.25, 1.75])


def test_a_speaker_who_is_never_alone() -> None:
    turns = annotation((0.0, 3.0, "a"), (1.0, 1.75, "b"), (2.75, 3.0, "b"))
    found = Monologues.of(turns, CELLS, VECTORS).voiceprints()
    expected = 0.5 * VECTORS[2] + 0.25 * VECTORS[3] + 0.25 * VECTORS[5]
    np.testing.assert_allclose(found.centroids[1], unit(expected), atol=1e-6)


def test_nobody_speaks() -> None:
    for n in (0, 6):
        found = Monologues.of(annotation(), CELLS[:n], VECTORS[:n]).voiceprints()
        assert found.names == ()
        assert len(found.centroids) == 0
    assert by_first_appearance(annotation()) == []


def test_known_voices_are_found_and_strangers_are_not() -> None:
    found = voices([1, 0, 0], [0, 1, 0], [0, 0, 1], names="xyz")
    known = voices([0.1, 1, 0], [1, 0.1, 0.1], [1, 1, 1], names="abc")
    assert identify(found, known) == {"x": "b", "y": "a"}
    assert identify(found, known, Likeness(known=chance(0.5))) == {"x": "b", "y": "a", "z": "c"}
    assert identify(found, Voiceprints()) == identify(Voiceprints(), known) == {}


def test_what_a_cosine_says_depends_on_the_bands() -> None:
    """One voice is less alike across bands, and two are more alike within a narrow one."""
    row = unit(np.array([[1, 0]], float))
    wide, narrow = (Voiceprints(("x",), row, narrow=band) for band in (None, np.array([True])))
    bands = (wide, wide), (wide, narrow), (narrow, narrow)
    odds = [float(log_odds(a, b)[0, 0]) for a, b in bands]
    assert odds == pytest.approx(ALIKE.offset + ALIKE.cosine + np.array(BANDS), abs=1e-4)
    assert log_odds(narrow, wide)[0, 0] == pytest.approx(odds[1])
    assert join([wide, narrow]).narrowed.tolist() == [False, True]
    assert join([wide, narrow])[[1]].narrowed.tolist() == [True]
    turns = annotation((0.0, 1.5, "b"), (1.0, 3.0, "a"))
    assert Monologues.of(turns, CELLS, VECTORS).voiceprints(narrow=True).narrowed.all()


def test_what_a_cosine_says_depends_on_how_much_speech_there_is() -> None:
    row = unit(np.array([[1, 0]], float))
    known = Voiceprints(("a",), unit(np.array([[1, 0.8]], float)))
    cosine = float((row @ known.centroids.T)[0, 0])
    for seconds, scarcity in ((None, 0.0), (np.array([4.0]), 0.25), (np.array([0.1]), 2.0)):
        odds = log_odds(Voiceprints(("x",), row, seconds), known)
        assert odds[0, 0] == pytest.approx(
            ALIKE.offset + ALIKE.cosine * cosine + ALIKE.scarcity * scarcity, abs=1e-4
        )
    both = join([Voiceprints(), Voiceprints(("x",), row, np.array([4.0])), known])
    assert both.names == ("x", "a")
    np.testing.assert_allclose(both.scarcity, [0.25, 0.0], atol=1e-6)
    assert join([]).names == ()
    for threshold in (0.0, 1.0, -1.0, np.nan):
        for name in ("known", "same_person"):
            with pytest.raises(ValueError, match=r"not finite|least probability"):
                Likeness(**{name: threshold})


def test_what_was_found_is_told_and_what_was_nearly_found() -> None:
    found = voices([1, 0, 0], [0, 1, 0.9], names="ax")
    known = voices([1, 0.1, 0], [0, 0, 1], names="ab")
    odds = log_odds(found, known)
    one, other = matches(found, known, lambda speaker, voice: speaker == voice, odds)
    assert (one.speaker, one.voice, one.same) == ("a", "a", True)
    assert one.similarity == pytest.approx(1 / np.sqrt(1.01), abs=1e-6)
    assert one.probability == pytest.approx(float(expit(odds[0, 0])), abs=1e-6)
    assert str(one).startswith("a sounds like a (similarity 1.00, probability ")
    assert (other.speaker, other.voice, other.same) == ("x", "b", False)
    assert str(other).startswith(
        "x sounds most like b, but not enough (similarity 0.67, probability "
    )
    nobody = Voiceprints()
    assert (
        matches(found, nobody, str.__eq__, odds) == matches(nobody, known, str.__eq__, odds) == []
    )


def test_a_known_voice_is_one_speaker_only() -> None:
    found = voices([1, 0.3], [1, 0], names="xy")
    assert identify(found, voices([1, 0.1], names="a")) == {"y": "a"}


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4))
def test_no_other_assignment_exceeds_the_threshold_by_more(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    found = Voiceprints(tuple("wxyz"[:n]), unit(rng.normal(size=(n, 3))))
    known = Voiceprints(tuple("abcd"[:m]), unit(rng.normal(size=(m, 3))))
    likeness = Likeness(known=0.5)
    answer = identify(found, known, likeness)
    excess = log_odds(found, known, likeness)
    gained = [excess[found.names.index(s), known.names.index(k)] for s, k in answer.items()]
    assert len(set(answer.values())) == len(answer)
    assert all(gain >= 0 for gain in gained)
    padded = np.zeros((max(n, m), max(n, m)))
    padded[:n, :m] = np.maximum(excess, 0)
    best = max(
        sum(padded[i, p[i]] for i in range(len(p))) for p in permutations(range(len(padded)))
    )
    assert sum(gained) == pytest.approx(best, abs=1e-6)


def test_strangers_are_numbered_by_first_appearance() -> None:
    found = voices([0, 0, 1], [1, 0, 0], [0, 1, 0])
    known = voices([1, 0.1, 0], names="a")
    (names,) = name_speakers([found], known)
    assert names == {"SPEAKER_00": "SPEAKER_00", "SPEAKER_01": "a", "SPEAKER_02": "SPEAKER_01"}
    numbered = Voiceprints(("SPEAKER_00",), known.centroids)
    (names,) = name_speakers([found], numbered)
    assert list(names.values()) == ["SPEAKER_01", "SPEAKER_00", "SPEAKER_02"]


def test_one_recording_keeps_its_names() -> None:
    found = voices([1, 0], [1, 0.01], [0, 1])  # two speakers of one recording are two persons
    assert name_speakers([found]) == [{name: name for name in found.names}]
    assert name_speakers([]) == []
    assert name_speakers([Voiceprints(), found])[0] == {}


def test_one_person_has_one_name_in_all_recordings() -> None:
    recordings = [
        voices([1, 0, 0, 0], [0, 1, 0, 0]),
        voices([0, 0, 1, 0], [0.1, 1, 0, 0]),
        voices([0, 0, 1, 0.1], [0, 0, 0, 1], [1, 0.1, 0, 0]),
    ]
    names = [list(mapping.values()) for mapping in name_speakers(recordings)]
    assert names == [
        ["SPEAKER_00", "SPEAKER_01"],
        ["SPEAKER_02", "SPEAKER_01"],
        ["SPEAKER_02", "SPEAKER_03", "SPEAKER_00"],
    ]


def test_a_known_name_spreads_over_links() -> None:
    near = np.cos(np.arccos(cosine_of(Likeness().known)) + 0.05)  # just too far from the clip
    side = np.sqrt(1 - near**2)
    recordings = [voices([1, 0.4, 0]), voices([near, side, 0], [0, 0, 1])]
    assert identify(recordings[1], voices([1, 0, 0], names="a")) == {}
    names = name_speakers(recordings, voices([1, 0, 0], names="a"))
    assert [list(mapping.values()) for mapping in names] == [["a"], ["a", "SPEAKER_00"]]


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 4), max_size=5))
def test_linking_keeps_apart_what_must_be(seed: int, counts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    recordings = [
        Voiceprints(tuple(f"s{i}" for i in range(n)), unit(rng.normal(size=(n, 2)))) for n in counts
    ]
    names = [
        name
        for n in counts
        for name in [None if rng.random() < 0.5 else x for x in rng.permutation(list("abcd"))[:n]]
    ]
    persons = link(recordings, names)
    assert len(persons) == sum(counts)
    origin = np.repeat(np.arange(len(counts)), counts)
    assert len({*zip(origin, persons, strict=True)}) == len(persons)
    of_name: dict[str, set[int]] = {}
    of_person: dict[int, set[str]] = {}
    for name, person in zip(names, persons, strict=True):
        if name is not None:
            of_name.setdefault(name, set()).add(person)
            of_person.setdefault(person, set()).add(name)
    assert all(len(found) == 1 for found in [*of_name.values(), *of_person.values()])


def plain_linkage(odds: np.ndarray, origin: list[int], threshold: float) -> set[frozenset[int]]:
    """Average linkage as the definition has it."""
    groups = [{i} for i in range(len(odds))]
    while True:
        pairs = [
            (np.mean([odds[i, j] for i in a for j in b]), n, m)
            for n, a in enumerate(groups)
            for m, b in enumerate(groups[:n])
            if not {origin[i] for i in a} & {origin[j] for j in b}
        ]
        if not pairs or max(pairs)[0] < threshold:
            return {frozenset(group) for group in groups}
        _, n, m = max(pairs)
        groups[m] |= groups[n]
        del groups[n]


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 3), min_size=1, max_size=5))
def test_linking_is_average_linkage(seed: int, counts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    recordings = [
        Voiceprints(tuple(f"s{i}" for i in range(n)), unit(rng.normal(size=(n, 2)))) for n in counts
    ]
    odds = log_odds_across(join(recordings))
    origin = np.repeat(np.arange(len(counts)), counts).tolist()
    persons = link(recordings, [None] * len(odds))
    found = {
        frozenset(i for i, person in enumerate(persons) if person == one) for one in set(persons)
    }
    assert found == plain_linkage(odds, origin, float(logit(Likeness().same_person)))


def test_rivals_who_are_alike_leave_in_doubt_who_it_is() -> None:
    known = voices([1, 0, 0], names="a")
    alone = log_odds(voices([1, 0.5, 0], names="x"), known)[0, 0]
    rival = log_odds(voices([1, 0.5, 0], [1, -0.5, 0], names="xy"), known)
    stranger = log_odds(voices([1, 0.5, 0], [0, 0, 1], names="xy"), known)
    believed = np.exp(alone) / (1 + SPLIT * np.exp(alone))
    np.testing.assert_allclose(rival, alone - np.log1p(believed), atol=1e-5)
    assert stranger[0, 0] == pytest.approx(alone, abs=1e-5)
    # A voice that was found in two halves is still known.
    halves = log_odds(voices([1, 0.1, 0], [1, -0.1, 0], names="xy"), known)
    assert (halves > logit(ALIKE.known)).all()


def test_how_alike_strangers_are_is_seen_where_two_are_certainly_different() -> None:
    """Two children of two recordings are one person's, unless there are two more like them."""
    shared, own = np.sqrt(0.92) * np.eye(7)[0], np.sqrt(0.08) * np.eye(7)
    children = [(shared + own[n]).tolist() for n in range(1, 5)]  # of cosine 0.92 all
    recordings = [voices(children[0], own[5].tolist()), voices(children[1], own[6].tolist())]
    assert link(recordings, [None] * 4) == [0, 1, 0, 3]
    third = voices(*children[2:])
    assert link([*recordings, third], [None] * 6) == [0, 1, 2, 3, 4, 5]


def test_names_may_be_exchanged() -> None:
    turns = annotation((0.0, 1.0, "a"), (1.0, 2.0, "b"), (2.0, 3.0, "c"))
    found = voices([1, 0, 0], [0, 1, 0], [0, 0, 1], names="abc")
    renamed, same = rename(turns, found, {"a": "b", "b": "a"})
    assert [label for _, _, label in renamed.itertracks(yield_label=True)] == ["b", "a", "c"]
    assert renamed.uri == "talk"
    assert same.names == ("b", "a", "c")
    assert same.centroids is found.centroids
    assert turns.labels() == ["a", "b", "c"]


def test_speakers_who_have_a_name_keep_it() -> None:
    found = Voiceprints(("ann", "SPEAKER_00", "SPEAKER_04"), np.eye(3, dtype=np.float32))
    # Who sounds like the known ann is not ann, since another speaker has been called so.
    known = Voiceprints(("ann", "ben"), np.eye(3, dtype=np.float32)[[1, 2]])
    (names,) = name_speakers([found], known)
    assert names == {"ann": "ann", "SPEAKER_00": "SPEAKER_00", "SPEAKER_04": "ben"}


def test_the_likeness_is_that_of_the_model_that_ships() -> None:
    from diarize.embedding import load_model

    assert load_model().knowledge.likeness == Likeness()
