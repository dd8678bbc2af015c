"""Claims: how they are written, when they contradict each other, and turns that honour them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.corrections import Claim, Corrections, Kind
from diarize.errors import InputError

from ..making import annotation

NAMES = ("ann", "ben", "SPEAKER_00")
# Times on a grid, so that begins and ends often coincide.
times = st.integers(0, 20).map(lambda tick: tick / 4)
spans = st.tuples(times, times).filter(lambda pair: pair[0] < pair[1])
claims = st.builds(
    lambda span, name, kind: Claim(*span, name, kind),
    spans,
    st.sampled_from(NAMES),
    st.sampled_from(Kind),
)
turn_lists = st.lists(st.tuples(spans, st.integers(0, 2)), max_size=6).map(
    lambda turns: [(*span, speaker) for span, speaker in turns]
)


def consistent(given_claims: list[Claim]) -> Corrections:
    """The claims, less those that contradict one before them."""
    kept: list[Claim] = []
    for claim in given_claims:
        try:
            Corrections((*kept, claim))
        except InputError:
            continue
        kept.append(claim)
    return Corrections(tuple(kept))


claim_lists = st.lists(claims, max_size=6)


def heard(turns: list[tuple[float, float, int]], time: float) -> set[str]:
    return {NAMES[who] for begin, end, who in turns if begin <= time < end}


def holds(claim: Claim, names: set[str]) -> bool:
    """The definition, for somebody who hears these names."""
    return {
        Kind.PRESENT: claim.name in names,
        Kind.ABSENT: claim.name not in names,
        Kind.ONLY: names == {claim.name},
    }[claim.kind]


INSTANTS = np.arange(0.125, 5, 0.25)  # one between each two times of the grid


def at(claims_: tuple[Claim, ...], time: float) -> list[Claim]:
    return [claim for claim in claims_ if claim.start <= time < claim.end]


def test_three_kinds_of_labels() -> None:
    made = annotation((2, 3, "only:ann"), (0, 1, "ben"), (1, 2, "!ann!"), (4, 5, "!ONLY:x"))
    assert Corrections.of(made).claims == (
        Claim(0.0, 1.0, "ben", Kind.PRESENT),
        Claim(1.0, 2.0, "ann!", Kind.ABSENT),
        Claim(2.0, 3.0, "ann", Kind.ONLY),
        Claim(4.0, 5.0, "ONLY:x", Kind.ABSENT),
    )
    assert Corrections.of(made).names == ["ben", "ann"]


def test_blanks_around_a_name_are_none_of_it() -> None:
    assert Claim.parse(0.0, 1.0, "ONLY: ann ") == Claim(0.0, 1.0, "ann", Kind.ONLY)


@pytest.mark.parametrize("label", ["", "!", "ONLY:", "! "])
def test_a_label_without_a_name_is_refused(label: str) -> None:
    with pytest.raises(InputError, match=r"from 0\.000 to 1\.000 s: a name is missing"):
        Corrections.of(annotation((0, 1, label)))


def test_a_contradiction_names_both_stretches() -> None:
    with pytest.raises(InputError) as caught:
        Corrections.of(annotation((3, 9, "x"), (0.5, 2, "ONLY:ann"), (1.25, 4, "ben")))
    assert str(caught.value) == (
        "ONLY:ann from 0.500 to 2.000 s contradicts ben from 1.250 to 4.000 s"
    )
    Corrections.of(annotation((0.5, 1.25, "ONLY:ann"), (1.25, 4, "ben")))  # they only touch


@given(st.lists(claims, max_size=4))
def test_claims_are_refused_where_no_set_of_speakers_suits_all(given_claims: list[Claim]) -> None:
    sets = [{*chosen} for size in range(4) for chosen in combinations(NAMES, size)]
    suited = all(
        any(all(holds(claim, names) for claim in at(tuple(given_claims), time)) for names in sets)
        for time in INSTANTS
    )
    if suited:
        Corrections(tuple(given_claims))
    else:
        with pytest.raises(InputError, match="contradicts"):
            Corrections(tuple(given_claims))


@given(turn_lists, claim_lists)
def test_patched_turns_keep_every_claim_and_change_nothing_else(
    turns: list[tuple[float, float, int]], given_claims: list[Claim]
) -> None:
    told = consistent(given_claims)
    patched = told.patch(turns, NAMES)
    assert patched == sorted(patched)
    for time in INSTANTS:
        here = at(told.claims, time)
        names = heard(patched, time)
        assert all(holds(claim, names) for claim in here)
        silenced = {name for name in NAMES if any(claim.silences(name) for claim in here)}
        said = {claim.name for claim in here if claim.speaks}
        assert names == (heard(turns, time) | said) - silenced


@given(claim_lists, spans)
def test_what_lies_between_two_times(given_claims: list[Claim], span: tuple[float, float]) -> None:
    told = consistent(given_claims)
    inside = told.within(*span)
    for time in INSTANTS:
        expected = at(told.claims, time) if span[0] < time < span[1] else []
        labels = [(claim.name, claim.kind) for claim in at(inside.claims, time)]
        assert sorted(labels, key=str) == sorted([(c.name, c.kind) for c in expected], key=str)


def test_lines_of_one_stretch_are_counted_one_by_one() -> None:
    given_lines = annotation((1, 2, "ann"), (1, 2, "!ben"), (1.5, 2, "ann"))
    told, result = Corrections.of(given_lines), annotation((0, 2, "ann"), (2, 3, "ben"))
    assert told.notes(given_lines, result) == []
    assert told.within(1.75, 3).notes(given_lines, result) == []
    assert told.within(0, 1.25).notes(given_lines, result) == [
        "1 of 3 corrections lie outside of what was read"
    ]


@given(claim_lists, st.lists(spans, max_size=2))
def test_speech_that_nobody_heard(
    given_claims: list[Claim], regions: list[tuple[float, float]]
) -> None:
    speech = np.array(sorted(regions)).reshape(-1, 2)
    if len(speech) == 2 and speech[1, 0] <= speech[0, 1]:
        speech = speech[:1]
    told = consistent(given_claims)
    unheard = told.unheard(speech)

    def inside(where: np.ndarray, time: float) -> bool:
        return bool(((where[:, 0] <= time) & (time < where[:, 1])).any())

    for time in INSTANTS:
        said = any(claim.speaks for claim in at(told.claims, time))
        assert inside(unheard, time) == (said and not inside(speech, time))


def test_times_are_rounded_so_that_neighbours_do_not_meet() -> None:
    assert 1.1 + 2.2 > 3.3
    told = Corrections((Claim(1.1, 1.1 + 2.2, "ann", Kind.ONLY), Claim(3.3, 5.0, "ben", Kind.ONLY)))
    assert told.borders.tolist() == [1.1, 3.3, 5.0]
    with pytest.raises(InputError, match="contradicts"):
        Corrections((Claim(1.1, 3.300001, "ann", Kind.ONLY), Claim(3.3, 5.0, "ben", Kind.ONLY)))


def test_claims_follow_who_is_called_otherwise() -> None:
    told = Corrections((Claim(0, 1, "SPEAKER_01"), Claim(1, 2, "SPEAKER_00", Kind.ONLY)))
    before, now = {3: "SPEAKER_00", 5: "SPEAKER_01"}, {3: "ann", 5: "SPEAKER_01"}
    assert told.renamed(before, now).names == ["SPEAKER_01", "ann"]
    now[5] = "SPEAKER_00"  # a known voice bears a number
    assert told.renamed(before, now).names == ["SPEAKER_00"]
    both = Corrections((Claim(0, 1, "ann", Kind.ABSENT), Claim(0, 1, "SPEAKER_00")))
    with pytest.raises(InputError, match=r"ann from .* contradicts !ann from"):
        both.renamed(before, now | {3: "ann", 5: "SPEAKER_01"})
