"""Results of one run: one bad input does not stop the others."""

from __future__ import annotations

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.audio import open_recording
from diarize.cli.gather import Entry
from diarize.cli.results import Failures, Result
from diarize.diarization import Diarization
from diarize.errors import InputError
from diarize.voices.voiceprints import Voiceprints


def test_one_of_several_may_fail(capsys: pytest.CaptureFixture[str]) -> None:
    failures = Failures(several=True)
    done = []
    for source in ("a", "b", "b", "c"):
        with failures.of(source):
            if source == "b":
                raise InputError("b: no\nsuch file")
            done.append(source)
    assert (done, failures.inputs) == (["a", "c"], ["b"])
    assert capsys.readouterr().err == "diarize: error: b: no such file\n" * 2


def test_what_a_single_one_raises_is_raised() -> None:
    failures = Failures(several=False)
    with pytest.raises(InputError), failures.of("a"):
        raise InputError("a: no such file")
    assert failures.inputs == []


def test_a_closed_pipe_stops_everything() -> None:
    with pytest.raises(BrokenPipeError), Failures(several=True).of("a"):
        raise BrokenPipeError


def test_a_result_under_other_names() -> None:
    annotation = Annotation(uri="a")
    annotation[Segment(0, 1), "x"] = "SPEAKER_00"
    voices = Voiceprints(("SPEAKER_00",), np.ones((1, 1), np.float32))
    found = Diarization(annotation, np.zeros((0, 2)), 1, 1.0, "cpu", voices=voices)
    recording = open_recording((np.zeros(16_000), 16_000))
    renamed = Result(Entry("a"), recording, found, 0.5).renamed({"SPEAKER_00": "anna"})
    assert renamed.found.annotation.labels() == ["anna"]
    assert renamed.found.voices.names == ("anna",)
    assert (renamed.entry, renamed.elapsed) == (Entry("a"), 0.5)
