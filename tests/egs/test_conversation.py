"""The conversation that ships, and its reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from pyannote.core import Annotation, Segment

from diarize.formats.rttm import read_rttm


@pytest.fixture
def reference(repo_root: Path) -> Annotation:
    return read_rttm(repo_root / "egs" / "conversation.rttm")["conversation"]


def test_it_is_a_small_file_of_two_minutes(repo_root: Path, reference: Annotation) -> None:
    path = repo_root / "egs" / "conversation.ogg"
    info = soundfile.info(path)
    assert path.stat().st_size < 1_500_000
    assert 100 < info.duration < 140
    assert info.duration > reference.get_timeline().extent().end


def test_several_people_share_it_and_sometimes_overlap(reference: Annotation) -> None:
    assert len(reference.labels()) >= 3
    seconds = [reference.label_duration(label) for label in reference.labels()]
    assert min(seconds) > 20
    speech = reference.get_timeline().support().duration()
    assert 0.06 < reference.get_overlap().duration() / speech < 0.10


def test_nobody_overlaps_with_themselves(reference: Annotation) -> None:
    for label in reference.labels():
        turns = [
            segment for segment, _, own in reference.itertracks(yield_label=True) if own == label
        ]
        assert sum(turn.duration for turn in turns) == pytest.approx(
            reference.label_duration(label)
        )


def test_there_is_sound_exactly_where_the_reference_says_so(
    repo_root: Path, reference: Annotation
) -> None:
    samples, rate = soundfile.read(repo_root / "egs" / "conversation.ogg")
    speech = reference.get_timeline().support()
    silence = speech.gaps(support=Segment(0.0, len(samples) / rate))

    def level(start: float, end: float) -> float:
        part = samples[round(start * rate) : round(end * rate)]
        return float(10 * np.log10(np.square(part).mean() + 1e-12))

    # The room rings for a quarter of a second after each turn.
    pauses = [level(gap.start + 0.25, gap.end) for gap in silence if gap.duration > 0.35]
    assert len(pauses) > 5
    assert max(pauses) < -45
    assert min(level(turn.start, turn.end) for turn in speech) > -30
    # Each stretch of speech begins within 50 ms of its time.
    for turn in speech:
        onset = level(turn.start, turn.start + 0.05)
        assert onset > level(turn.start - 0.05, turn.start - 0.01) - 1
