"""What was found in a recording, renamed and without overlap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.errors import InputError
from diarize.timeline import Diarization
from diarize.voices.vectors import Voiceprints
from diarize.voices.voiceprints import Match

from ..making import turns_of


def found() -> Diarization:
    """Two who overlap for a second."""
    annotation = Annotation(uri="talk")
    annotation[Segment(0, 2), "x"] = "a"
    annotation[Segment(1, 3), "y"] = "b"
    sure = {(Segment(0, 2), "x"): 0.75, (Segment(1, 3), "y"): 0.5}
    voices = Voiceprints(("a", "b"), np.eye(4, dtype=np.float32)[:2])
    return Diarization(
        annotation, np.array([[0.0, 3.0]]), 1, 3.0, "cpu", voices=voices, confidence=sure
    )


def test_without_overlap() -> None:
    exclusive = found().exclusive()
    assert turns_of(exclusive.annotation) == [(0.0, 2.0, "a"), (2.0, 3.0, "b")]
    assert exclusive.annotation.uri == "talk"
    assert list(exclusive.confidence.values()) == [0.75, 0.5]
    assert list(exclusive.confidence) == [(Segment(0, 2), "a"), (Segment(2, 3), "b")]


def test_other_names_for_some() -> None:
    renamed = found().renamed({"a": "anna"})
    assert turns_of(renamed.annotation) == [(0, 2, "anna"), (1, 3, "b")]
    assert renamed.voices.names == ("anna", "b")
    assert renamed.confidence == found().confidence


def test_two_speakers_do_not_get_one_name() -> None:
    for names in ({"a": "x", "b": "x"}, {"a": "b"}):
        with pytest.raises(InputError, match=r"^a and b cannot both be called [xb]$"):
            found().renamed(names)


def test_what_speakers_have_to_do_with_voices_is_told_of_their_new_names() -> None:
    matches = tuple(Match(name, "ann", 0.5, 0.5, False) for name in "ab")
    renamed = replace(found(), matches=matches).renamed({"a": "anna"})
    assert [match.speaker for match in renamed.matches] == ["anna", "b"]


def test_results_can_be_compared_and_hold_no_voice_in_what_is_printed() -> None:
    one, other = found(), found()
    assert one == one and one != other and len({one, other, one.voices, other.voices}) == 4
    assert repr(one) == "<Diarization talk: a, b in 3.000 s>"
    assert repr(one.voices) == "<Voiceprints of a, b>"
