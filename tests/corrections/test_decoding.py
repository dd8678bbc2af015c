"""Corrections bind what is decoded, whatever the windows say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diarize.clustering import make
from diarize.corrections import Claim, Corrections, Kind
from diarize.corrections.decoding import decode_corrected, split_cells
from diarize.corrections.links import relink
from diarize.embedding import Knowledge, place_windows
from diarize.errors import InputError
from diarize.sets import SpeakerSets, to_sphere
from diarize.timeline import Decoded, TimelineOptions, Trellis, decode
from diarize.timeline.confidence import calibrated, confidences

from ..making import unit_mean

OPTIONS = TimelineOptions()
NAMES = ("ann", "ben", "SPEAKER_00", "SPEAKER_01")


@dataclass
class Talk:
    """Two voices take turns from 1 s to 9 s, with a pause from 5 s to 6 s."""

    told: Corrections
    seed: int = 0

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        edges = np.concatenate([np.arange(1, 5.1, 0.2), np.arange(6, 9.1, 0.2)])
        cells = np.stack([edges[:-1], edges[1:]], axis=1)
        self.cells = cells[cells[:, 1] - cells[:, 0] < 0.3]
        who = (self.cells[:, 0] > 3).astype(int) - (self.cells[:, 0] > 7.5)
        rows = to_sphere(np.eye(2, 8)[who] + rng.normal(0, 0.05, (len(self.cells), 8)))
        self.vectors = rows.astype(np.float32)
        beyond = self.told.unheard(np.array([[1.0, 5.0], [6.0, 9.0]]))
        _, self.unheard_cells = place_windows(beyond, 1.4, 0.2)
        strange = to_sphere(rng.normal(0, 1, (len(self.unheard_cells), 8)))
        self.unheard = strange.astype(np.float32)

    def free(self, backend: str = "gcr", d: int = 2, options=OPTIONS, truth=None) -> Decoded:
        n_speakers = 2 if truth is None else None
        self.model = make(
            backend, n_speakers=n_speakers, max_set_size=d, compose=unit_mean, random_state=0
        ).fit(self.vectors, truth)
        speakers = self.model.speakers()
        trellis = Trellis.of(self.cells, self.vectors, speakers.sets(), None, options)
        return decode(trellis, speakers)

    def bound(self, free: Decoded, least: int = 0) -> Decoded:
        speakers, names = relink(self.model, free.names, self.told, self.cells, self.vectors)
        free = replace(free, speakers=speakers, names=names)
        beyond = self.unheard_cells, self.unheard
        return decode_corrected(free, self.told, *beyond, least)


def confidence(found: Decoded) -> list[float]:
    return confidences(found, Knowledge()).tolist()


def heard(decoded, time: float) -> set[str]:
    return {decoded.names[who] for begin, end, who in decoded.turns if begin <= time < end}


def holds(claim: Claim, names: set[str]) -> bool:
    return {
        Kind.PRESENT: claim.name in names,
        Kind.ABSENT: claim.name not in names,
        Kind.ONLY: names == {claim.name},
    }[claim.kind]


@pytest.mark.parametrize("d", [1, 2])
def test_the_largest_set_holds_after_gaps_are_closed(d: int) -> None:
    """The pause from 5 s to 6 s, and what the other voice says around it, are closed over."""
    options = TimelineOptions(min_gap=5.0)
    talk = Talk(Corrections((Claim(2.0, 2.4, "ann", Kind.PRESENT),)))
    free = talk.free(d=d, options=options)
    bound = talk.bound(free)
    assert bound.trellis.options is free.trellis.options
    for decoded in (free, bound):
        instants = np.arange(1.05, 9.0, 0.1)
        assert max(len(heard(decoded, t)) for t in instants if not 2.0 <= t < 2.4) == d
    assert max(len(heard(bound, t)) for t in (2.1, 2.3)) >= 1  # a claim may have more


claims = st.builds(
    lambda start, length, name, kind: Claim(start / 20, (start + length) / 20, name, kind),
    st.integers(0, 195),
    st.integers(1, 60),
    st.sampled_from(NAMES),
    st.sampled_from(Kind),
)


@settings(max_examples=25)
@given(
    st.lists(claims, max_size=5),
    st.sampled_from(["gcr", "links"]),  # the second clusters anew
    st.integers(1, 2),
    st.integers(0, 5),
)
def test_every_claim_holds_to_the_instant(
    given_claims: list[Claim], backend: str, d: int, least: int
) -> None:
    told = Corrections()
    for claim in given_claims:
        try:
            told = Corrections((*told.claims, claim))
        except InputError:
            continue
    told = told.within(0.0, 10.0)
    talk = Talk(told)
    free = talk.free(backend, d)
    found = talk.bound(free, least=least)
    borders = np.unique([t for turn in found.turns for t in turn[:2]] + list(told.borders))
    borders = borders[np.append(True, np.diff(borders) > 1e-6)]  # RTTM knows no shorter times
    for time in (borders[1:] + borders[:-1]) / 2:
        names = heard(found, time)
        for claim in told.claims:
            if claim.start <= time < claim.end:
                assert holds(claim, names), (claim, names, time)
    assert found.turns == sorted(found.turns)
    for _, _, who in found.turns:
        assert who in found.names
    sure = confidence(found)
    assert len(sure) == len(found.turns)
    assert all(0 <= value <= 1 for value in sure)


def test_without_claims_nothing_changes() -> None:
    talk = Talk(Corrections())
    free = talk.free()
    found = talk.bound(free)
    assert found.turns == free.turns
    assert {n: found.names[n] for n in free.names} == free.names


def test_a_correction_speaks_for_the_rest() -> None:
    """A third voice that was taken for the second is found wherever it speaks."""
    talk = Talk(Corrections((Claim(6.2, 7.0, "carl", Kind.ONLY),)))
    third = to_sphere(np.eye(3, 8)[1] * 0.8 + np.eye(3, 8)[2] * 0.6)
    talk.vectors[talk.cells[:, 0] >= 6] = third
    free = talk.free()
    assert heard(free, 8.5) == {"SPEAKER_01"}
    found = talk.bound(free)
    assert heard(found, 6.5) == heard(found, 8.5) == {"carl"}
    assert heard(found, 2.0) == {"SPEAKER_00"}
    assert heard(found, 4.0) <= {"SPEAKER_01", "carl"}


def test_corrected_windows_bind_a_clustering_that_takes_constraints() -> None:
    """Half of a voice that is named twice, by two people, is two voices."""
    said = (Claim(1.0, 3.0, "ann", Kind.ONLY), Claim(7.6, 9.0, "ben", Kind.ONLY))
    talk = Talk(Corrections(said))
    free = talk.free("links")
    assert heard(free, 2.0) == heard(free, 8.5) == {"SPEAKER_00"}
    found = talk.bound(free)
    assert heard(found, 2.0) == {"ann"}
    assert heard(found, 8.5) == {"ben"}
    assert not heard(found, 4.0) & {"ann", "ben"}


def test_the_truth_is_renamed_and_corrected() -> None:
    """From 3 s to 5 s the second speaks, and from 4 s on the first as well."""
    talk = Talk(Corrections((Claim(2.0, 2.6, "ann", Kind.ONLY), Claim(8.0, 8.4, "ben"))))
    who = SpeakerSets(
        np.stack(
            [
                (talk.cells[:, 0] < 2.9) | (talk.cells[:, 0] > 3.9),
                (talk.cells[:, 0] > 2.9) & (talk.cells[:, 0] < 7.5),
            ],
            axis=1,
        )
    )
    free = talk.free("oracle", truth=who)
    assert heard(free, 2.0) == {"SPEAKER_00"} and heard(free, 3.5) == {"SPEAKER_01"}
    found = talk.bound(free, least=2)
    assert heard(found, 2.0) == heard(found, 1.5) == {"ann"}
    assert heard(found, 3.5) == {"SPEAKER_01"}
    assert heard(found, 4.5) == {"ann", "SPEAKER_01"}
    assert heard(found, 8.2) == {"ann", "ben"}


def test_what_a_person_says_is_certain() -> None:
    talk = Talk(Corrections((Claim(1.0, 5.0, "ann", Kind.ONLY),)))
    free = talk.free()
    found = talk.bound(free)
    sure = {
        begin: value for (begin, _, _), value in zip(found.turns, confidence(found), strict=True)
    }
    assert sure[1.0] == pytest.approx(1.0)
    surest = calibrated(np.ones(1), Knowledge().slope, Knowledge().offset)[0]
    assert surest < 0.99
    assert all(value <= surest + 1e-9 for start, value in sure.items() if start > 5)


def test_sets_larger_than_are_looked_for_where_a_person_hears_them() -> None:
    said = tuple(Claim(2.0, 3.0, name) for name in ("ann", "ben", "carl"))
    talk = Talk(Corrections(said))
    free = talk.free("ac", d=1)
    found = talk.bound(free)
    assert heard(found, 2.5) == {"ann", "ben", "carl"}
    assert len(heard(found, 1.5)) == len(heard(found, 4.0)) == 1


ticks = st.integers(0, 40).map(lambda tick: tick / 8)


@given(st.lists(ticks, min_size=2, max_size=12, unique=True), st.sets(ticks), st.randoms())
def test_cells_are_cut_at_borders_and_nowhere_else(edges, borders, random) -> None:
    edges = sorted(edges)
    cells = [pair for pair in pairwise(edges) if random.random() < 0.8]
    random.shuffle(cells)
    where = np.array(sorted(borders), np.float64)
    found, rows = split_cells(np.array(cells, np.float64).reshape(-1, 2), where)
    expected = []
    for n, (begin, end) in enumerate(cells):
        inside = [begin, *(b for b in sorted(borders) if begin < b < end), end]
        expected += [(b, e, n) for b, e in pairwise(inside)]
    assert [(b, e, n) for (b, e), n in zip(found.tolist(), rows, strict=True)] == sorted(expected)


def test_a_border_that_is_off_by_rounding_cuts_nothing() -> None:
    cells = np.array([[0.0, 0.3], [0.3, 0.6]])
    found, rows = split_cells(cells, np.array([0.1 + 0.2, 0.6 - 1e-9]))
    np.testing.assert_array_equal(found, cells)
    np.testing.assert_array_equal(rows, [0, 1])
