"""Scores worked out by hand, of single recordings and of several."""

from __future__ import annotations

import json

import pytest
from pyannote.core import Segment, Timeline

from diarize.errors import InputError
from diarize.scoring import Report, Scores, score_files

from .drawn import annotation

Turns = list[tuple[str, float, float]]


def score(
    reference: Turns,
    hypothesis: Turns,
    regions: list[tuple[float, float]] | None = None,
    collar: float = 0.0,
    skip_overlap: bool = False,
) -> Scores:
    report = score_files(
        {"talk": annotation(reference, 1)},
        {"talk": annotation(hypothesis, 1)},
        uem=None if regions is None else {"talk": Timeline([Segment(*r) for r in regions])},
        collar=collar,
        skip_overlap=skip_overlap,
    )
    assert report.total == report.files["talk"]
    return report.total


def parts(scores: Scores) -> tuple[float | None, ...]:
    """Missed detection, false alarm, confusion; their sum is the DER."""
    found = (scores.missed_detection, scores.false_alarm, scores.confusion)
    if scores.der is None:
        assert found == (None, None, None)
    else:
        assert scores.der == pytest.approx(sum(found))
    return found


def test_perfect_under_other_names() -> None:
    turns = [("A", 0.0, 10.0), ("B", 8.0, 20.0)]
    scores = score(turns, [({"A": "x", "B": "y"}[name], start, end) for name, start, end in turns])
    assert parts(scores) == (0.0, 0.0, 0.0)
    assert (scores.jer, scores.cri, scores.speaker_count_error) == (0.0, 1.0, 0.0)
    assert scores.reference_seconds == 22.0  # 10 + 12: overlap counts for each speaker


def test_a_single_annotation_is_one_recording() -> None:
    truth, found = annotation([("A", 0.0, 10.0)], 1), annotation([("x", 0.0, 8.0)], 1)
    report = score_files(truth, found)
    assert report.total.der == pytest.approx(0.2)
    assert report == score_files({truth.uri or "audio": truth}, {found.uri or "audio": found})
    part = Timeline([Segment(0, 8)])
    assert score_files(truth, {"other": found}, uem=part).total.der == 0.0
    truth.uri = "talk"
    assert list(score_files(truth, found).files) == ["talk"]


def test_each_kind_of_error() -> None:
    # reference   A 0-10, B 10-20                 20 s of speaker time
    # hypothesis  x 0-8, y 12-22
    # 8-10 missed A, 10-12 missed B, 20-22 false alarm: 4/20, 2/20, 0
    # A with x: 8/10 shared; B with y: 8 of 10-22, so 8/12. JER = (0.2 + 1/3) / 2
    scores = score([("A", 0.0, 10.0), ("B", 10.0, 20.0)], [("x", 0.0, 8.0), ("y", 12.0, 22.0)])
    assert parts(scores) == (0.2, 0.1, 0.0)
    assert scores.jer == pytest.approx((0.2 + 1 / 3) / 2)


def test_more_system_speakers_than_reference_speakers() -> None:
    # reference   A 0-10
    # hypothesis  x 0-5, y 5-9, z 20-25
    # x is A: 5-9 confused (4), 9-10 missed (1), 20-25 false alarm (5), of 10
    # JER: A with x, 1 - 5/10 (A with y would be 1 - 4/10); y and z cost nothing
    scores = score([("A", 0.0, 10.0)], [("x", 0.0, 5.0), ("y", 5.0, 9.0), ("z", 20.0, 25.0)])
    assert parts(scores) == (0.1, 0.5, 0.4)
    assert scores.jer == pytest.approx(0.5)
    assert scores.speaker_count_error == 2.0
    # CRI over A's 1000 frames, all pairs "contain" in truth: x x, y y, and nobody (9-10) is
    # contained in x, in y and in itself: 500*499 + 400*399 + 100*99 + 100*500 + 100*400
    agreeing = 500 * 499 + 400 * 399 + 100 * 99 + 100 * 500 + 100 * 400
    assert scores.cri == pytest.approx(agreeing / (1000 * 999))


def test_a_reference_speaker_who_overlaps_itself_and_a_turn_given_twice() -> None:
    twice = [("A", 0.0, 7.0), ("A", 5.0, 10.0), ("A", 5.0, 10.0)]
    scores = score(twice, [("x", 0.0, 10.0)])
    assert parts(scores) == (0.0, 0.0, 0.0)
    assert scores.reference_seconds == 10.0
    # One speaker is no overlap: nothing is skipped.
    assert score(twice, [("x", 0.0, 10.0)], skip_overlap=True).reference_seconds == 10.0


def test_uem_cuts_turns_and_drops_speakers() -> None:
    # Evaluated: 2-6 and 8-12. reference A 0-7 -> 2-6 (4 s), B 9-20 -> 9-12 (3 s), C is outside
    # hypothesis  x 3-12 -> 3-6 and 8-12, y 12-14 is outside (touches the edge only)
    # x is A and B 3 s each: either way 3 s are confused; 2-3 missed 1, 8-9 false alarm 1, of 7
    scores = score(
        [("A", 0.0, 7.0), ("B", 9.0, 20.0), ("C", 20.0, 30.0)],
        [("x", 3.0, 12.0), ("y", 12.0, 14.0)],
        regions=[(8.0, 12.0), (2.0, 6.0)],
    )
    assert parts(scores) == pytest.approx((1 / 7, 1 / 7, 3 / 7))
    assert scores.reference_seconds == 7.0
    assert scores.speaker_count_error == 1.0  # A and B against x
    # JER: x with A: 3 of 4 + 7 - 3; x with B: 3 of 3 + 7 - 3; the second is better, A has nobody
    assert scores.jer == pytest.approx((1 + 4 / 7) / 2)


def test_uem_beyond_the_recording_and_within_silence() -> None:
    turns = [("A", 1.0, 2.0)]
    assert parts(score(turns, turns, regions=[(0.0, 1e6)])) == (0.0, 0.0, 0.0)
    # Regions that overlap are not counted twice.
    assert score(turns, turns, regions=[(0.0, 1.5), (1.0, 3.0)]).reference_seconds == 1.0
    silent = score(turns, turns, regions=[(5.0, 6.0)])
    assert parts(silent) == (None, None, None)
    assert (silent.jer, silent.cri, silent.speaker_count_error) == (None, None, 0.0)


def test_empty_reference() -> None:
    scores = score([], [("x", 0.0, 5.0), ("y", 3.0, 6.0)])
    assert parts(scores) == (None, None, None)
    assert scores == Scores(None, None, None, None, None, None, 0.0, 2.0)


def test_empty_hypothesis() -> None:
    # CRI, A 600 frames, B 400: nobody contains nobody, so all pairs are "contains"
    scores = score([("A", 0.0, 6.0), ("B", 6.0, 10.0)], [])
    assert parts(scores) == (1.0, 0.0, 0.0)
    assert (scores.jer, scores.speaker_count_error) == (1.0, 2.0)
    assert scores.cri == pytest.approx((600 * 599 + 400 * 399) / (1000 * 999))


def test_both_empty() -> None:
    assert score([], []) == Scores(None, None, None, None, None, None, 0.0, 0.0)


def test_collar_is_per_side() -> None:
    # reference   A 0-10; collar 1 s: -1..1 and 9..11 do not count, 8 s remain
    # hypothesis  x 1.5-9.5: 1-1.5 missed, 0.5 of 8; the missed 9.5-10 lies in the collar
    scores = score([("A", 0.0, 10.0)], [("x", 1.5, 9.5)], collar=1.0)
    assert parts(scores) == (0.0625, 0.0, 0.0)
    assert scores.reference_seconds == 8.0
    assert scores.jer == pytest.approx(0.2)  # JER knows no collar


def test_a_collar_around_turns_that_touch() -> None:
    # md-eval: each turn has its collars, also where the same speaker goes on: 4.75-5.25 is out
    scores = score([("A", 0.0, 5.0), ("A", 5.0, 10.0)], [("x", 0.0, 10.0)], collar=0.25)
    assert scores.reference_seconds == 9.0


def test_the_mapping_does_not_know_the_collar() -> None:
    # reference   A 0-4, 10-14, 20-24, 30-34 (16 s), B 40-50
    # hypothesis  x in A's first 8 s and y in its other 8 s and 1 s more; y is A.
    # With a collar of 1.5 s, each A turn keeps 1 s in its middle and B 7 s: still y is A, though y
    # is silent there and x is not.
    reference = [("A", float(t), t + 4.0) for t in (0, 10, 20, 30)] + [("B", 40.0, 50.0)]
    hypothesis = [
        ("x", 1.4, 2.6), ("x", 11.4, 12.6), ("x", 21.4, 22.6), ("x", 31.4, 32.6),
        ("y", 0.0, 1.4), ("y", 12.6, 14.0), ("y", 20.0, 21.4), ("y", 32.6, 34.0),
        ("z", 40.0, 50.0),
    ]  # fmt: skip
    scores = score(reference, hypothesis, collar=1.5)
    # shared with A: x 4.8 s, y 5.6 s. Scored: 4 s of A, all said by x: confused, of 4 + 7
    assert parts(scores) == pytest.approx((0.0, 0.0, 4 / 11))


def test_times_that_are_no_binary_fractions() -> None:
    # 0.1 + 0.2 is not 0.3 in floating point; a speaker must not appear out of the difference.
    scores = score(
        [("A", 0.0, 0.1 + 0.2), ("B", 0.3, 1.0)],
        [("x", 0.0, 0.3), ("y", 0.3, 1.0)],
        regions=[(0.3, 1.0)],
    )
    assert parts(scores) == (0.0, 0.0, 0.0)
    assert scores.reference_seconds == 0.7
    assert scores.speaker_count_error == 0.0


def several() -> Report:
    return score_files(
        {
            "Gespräch_Zoë": annotation([("Zoë", 0.0, 10.0), ("Jürgen", 10.0, 20.0)], 1),
            "b": annotation([("A", 0.0, 5.0)], 1),
            "silent": annotation([], 1),
        },
        {
            "Gespräch_Zoë": annotation([("x", 0.0, 10.0), ("y", 10.0, 18.0)], 1),
            "silent": annotation([("x", 0.0, 2.0)], 1),
            "c": annotation([("x", 0.0, 2.0)], 1),
        },
    )


def test_totals_pool_time_speakers_and_pairs() -> None:
    report = several()
    assert list(report.files) == ["Gespräch_Zoë", "b", "silent"]
    # missed: 2 of 20, 5 of 5, -; false alarm 2 s where nobody speaks: of 25 in all
    assert report.total.reference_seconds == 25.0
    assert parts(report.total) == pytest.approx((7 / 25, 2 / 25, 0.0))
    assert parts(report.files["Gespräch_Zoë"]) == (0.1, 0.0, 0.0)
    assert report.files["silent"].der is None
    # JER over three reference speakers: 0, 0.2, 1
    assert report.total.jer == pytest.approx(1.2 / 3)
    # count errors 0, 1, 1
    assert report.total.speaker_count_error == pytest.approx(2 / 3)
    # CRI weighted by pairs: 2000 frames and 500
    first, second = report.files["Gespräch_Zoë"].cri, report.files["b"].cri
    pairs = 2000 * 1999, 500 * 499
    assert first is not None and second == 1.0
    assert report.total.cri == pytest.approx((first * pairs[0] + pairs[1]) / sum(pairs))


def test_notes_and_protocol() -> None:
    report = several()
    assert report.notes == ("no hypothesis, counted as empty: b", "no reference, left out: c")
    assert report.protocol == "no collar, overlap scored, whole recordings"
    turns = {"a": annotation([("A", 0.0, 1.0)], 1), "b": annotation([("A", 0.0, 1.0)], 1)}
    uem = {"b": Timeline([Segment(0, 1)])}
    report = score_files(turns, turns, uem=uem, collar=0.25, skip_overlap=True)
    assert list(report.files) == ["b"]
    assert report.notes == ("not in the UEM, left out: a",)
    assert report.protocol == "collar of 0.25 s per side, overlap skipped, regions of the UEM"


def test_json_has_null_for_undefined() -> None:
    text = json.dumps(several().to_json_dict(), allow_nan=False)
    content = json.loads(text)
    keys = [
        "der", "missed_detection", "false_alarm", "confusion", "jer", "cri", "reference_seconds",
        "speaker_count_error",
    ]  # fmt: skip
    assert list(content) == ["total", "files"]
    assert list(content["total"]) == keys
    assert [list(scores) for scores in content["files"].values()] == [keys] * 3
    assert content["files"]["silent"]["der"] is None


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(InputError, match=r"nothing to score: no reference$"):
        score_files({}, {})
    with pytest.raises(
        InputError, match=r"nothing to score: the UEM lists no recording of the reference$"
    ):
        score_files({"a": annotation([], 1)}, {}, uem={"b": Timeline()})
    for collar in (-0.1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="the collar must be zero or more seconds"):
            score_files({"a": annotation([], 1)}, {}, collar=collar)
