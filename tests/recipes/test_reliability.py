"""The script that tells how reliable the confidence of turns is."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.timeline.confidence import calibrated, one_person
from diarize.voices.number import Doubts


@pytest.fixture(scope="module")
def reliability(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("conversations/reliability.py")


def annotated(*turns: tuple[float, float, str]) -> Annotation:
    annotation = Annotation(uri="talk")
    for begin, end, name in turns:
        annotation[Segment(begin, end), name] = name
    return annotation


def test_how_right(reliability: ModuleType) -> None:
    reference = annotated((0.0, 4.0, "x"), (5.0, 8.0, "y"))
    found = annotated((0.0, 5.0, "a"), (6.0, 10.0, "b"), (2.0, 3.0, "c"), (7.0, 8.0, "a"))
    keys = list(found.itertracks())
    right = dict(zip(keys, reliability.how_right(found, reference, keys), strict=True))
    assert right == {
        (Segment(0.0, 5.0), "a"): 0.8,
        (Segment(2.0, 3.0), "c"): 0.0,  # x is matched to a
        (Segment(6.0, 10.0), "b"): 0.5,
        (Segment(7.0, 8.0), "a"): 0.0,
    }


def test_the_table(reliability: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    told = reliability.Turns(
        np.array([1.0, 3.0, 4.0]), np.array([1.0, 0.5, 1.0]), np.array([0.85, 0.81, 1.0])
    )
    assert reliability.calibration_error(told) == pytest.approx((3.28 - 2.5) / 8)
    reliability.report(told._replace(claimed=np.array([0.85, 0.81, 0.99])))
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:4] == [
        "| 0.8 to 0.9 | 2 | 4 | 0.820 | 0.625 |",
        "| 0.9 to 1.0 | 1 | 4 | 0.990 | 1.000 |",
    ]
    assert lines[5].startswith("Expected calibration error 0.10")


def test_the_fit_finds_the_logistic(reliability: ModuleType) -> None:
    rng = np.random.default_rng(0)
    claimed = rng.random((500, len(reliability.SHARPNESSES)))
    again, hides = rng.random((2, 500))
    right = one_person(Doubts((), again, hides), 0.4, 0.6) * calibrated(claimed[:, 3], 3.0, -1.0)
    rows = reliability.fits(reliability.Turns(rng.random(500), right, claimed, again, hides))
    lines = [row[1:6] for row in rows]
    *constants, surprise = map(float, lines[3])
    assert constants == [3.0, -1.0, 0.4, 0.6]
    assert surprise == min(float(line[4]) for line in lines)
