"""The diarization error rate against pyannote.metrics and a literal count (see test_md_eval)."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyannote.core import Segment, Timeline

from diarize.scoring.der import SpeakerTime, speaker_mapping, speaker_time
from diarize.scoring.elements import TICKS_PER_SECOND, decompose

from .drawn import Turns, annotation, turns

TENTH = TICKS_PER_SECOND // 10


def apart(reference: Turns) -> Turns:
    """The turns that overlap no earlier turn of the same speaker."""
    kept: Turns = []
    for name, start, end in reference:
        if all(name != other or end < s or start > e for other, s, e in kept):
            kept.append((name, start, end))
    return kept


REFERENCE, HYPOTHESIS = turns("ABC"), turns("wxyz")
REGIONS = st.none() | st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 40)).map(lambda t: (t[0], t[0] + t[1])),
    min_size=1,
    max_size=2,
)
COLLAR = st.sampled_from([0, 1, 3, 10])  # tenths of a second, per side


def timeline(regions: list[tuple[int, int]] | None) -> Timeline | None:
    if regions is None:
        return None
    return Timeline([Segment(start / 10, end / 10) for start, end in regions], uri="talk").support()


def speaking(given_turns: Turns, tenth: int) -> set[str]:
    return {name for name, start, end in given_turns if start <= tenth < end}


def literal_time(
    reference: Turns,
    hypothesis: Turns,
    regions: list[tuple[int, int]] | None,
    collar: int,
    skip_overlap: bool,
) -> set[SpeakerTime]:
    """Tenth by tenth, for every mapping that shares the most time (there may be ties)."""
    edges = [edge for _, start, end in reference for edge in (start, end)]
    evaluated = [
        (speaking(reference, tenth), speaking(hypothesis, tenth), tenth)
        for tenth in range(100)
        if regions is None or any(start <= tenth < end for start, end in regions)
    ]
    scored = [
        (who, heard)
        for who, heard, tenth in evaluated
        if not any(edge - collar <= tenth < edge + collar for edge in edges)
        if not (skip_overlap and len(who) > 1)
    ]
    shared: Counter[tuple[str, str]] = Counter()
    for who, heard, _ in evaluated:
        shared.update(product(who, heard))
    partners = [*"wxyz", *[None] * 3]
    mappings = [dict(zip("ABC", chosen, strict=True)) for chosen in permutations(partners, 3)]
    gains = [sum(shared[pair] for pair in mapping.items()) for mapping in mappings]
    found = set()
    for mapping, gain in zip(mappings, gains, strict=True):
        if gain == max(gains):
            counts = [
                (
                    len(who),
                    max(len(who) - len(heard), 0),
                    max(len(heard) - len(who), 0),
                    min(len(who), len(heard)) - sum(mapping[name] in heard for name in who),
                )
                for who, heard in scored
            ]
            counts.append((0, 0, 0, 0))
            sums = [TENTH * sum(column) for column in zip(*counts, strict=True)]
            found.add(SpeakerTime(*sums))
    return found


@settings(max_examples=80, deadline=None)
@given(REFERENCE, HYPOTHESIS, REGIONS, COLLAR, st.booleans())
def test_equals_a_literal_count(
    reference: Turns,
    hypothesis: Turns,
    regions: list[tuple[int, int]] | None,
    collar: int,
    skip_overlap: bool,
) -> None:
    elements = decompose(
        annotation(reference),
        annotation(hypothesis),
        timeline(regions),
        collar=collar / 10,
        skip_overlap=skip_overlap,
    )
    expected = literal_time(reference, hypothesis, regions, collar, skip_overlap)
    assert speaker_time(elements) in expected


@pytest.mark.filterwarnings("ignore:'uem' was approximated")
@settings(max_examples=80, deadline=None)
@given(REFERENCE.map(apart), HYPOTHESIS, REGIONS, COLLAR, st.booleans())
def test_equals_pyannote_metrics(
    reference: Turns,
    hypothesis: Turns,
    regions: list[tuple[int, int]] | None,
    collar: int,
    skip_overlap: bool,
) -> None:
    from pyannote.metrics.diarization import DiarizationErrorRate
    from pyannote.metrics.identification import IdentificationErrorRate

    truth = annotation(reference)
    heard = annotation(hypothesis).support()  # pyannote.metrics counts self-overlap twice
    uem = timeline(regions)
    elements = decompose(truth, heard, uem, collar=collar / 10, skip_overlap=skip_overlap)
    ours = speaker_time(elements)

    # Its collar is the sum of both sides. It maps after taking collars out, md-eval before: the
    # mapping is ours where they would differ, or where there are ties.
    rows, columns = speaker_mapping(elements)
    mapping = {
        heard.labels()[column]: truth.labels()[row]
        for row, column in zip(rows, columns, strict=True)
    }
    kept = {name: mapping.get(name, f"nobody-{name}") for name in heard.labels()}
    metric = IdentificationErrorRate(collar=2 * collar / 10, skip_overlap=skip_overlap)
    theirs = metric(truth, heard.rename_labels(kept), uem=uem, detailed=True)
    scored = {
        "total": ours.reference,
        "missed detection": ours.missed_detection,
        "false alarm": ours.false_alarm,
        "confusion": ours.confusion,
    }
    for name, ticks in scored.items():
        assert theirs[name] == pytest.approx(ticks / TICKS_PER_SECOND, abs=1e-5), name

    its_own = DiarizationErrorRate(collar=2 * collar / 10, skip_overlap=skip_overlap)
    confusion = its_own(truth, heard, uem=uem, detailed=True)["confusion"]
    if collar == 0 and not skip_overlap:
        assert confusion == pytest.approx(theirs["confusion"], abs=1e-5)
    else:
        assert confusion <= theirs["confusion"] + 1e-5  # it may choose for the scored time alone


def test_empty_annotations() -> None:
    for reference, hypothesis in (([], []), ([("A", 0, 10)], []), ([], [("x", 0, 10)])):
        elements = decompose(annotation(reference), annotation(hypothesis))
        assert {speaker_time(elements)} == literal_time(reference, hypothesis, None, 0, False)
