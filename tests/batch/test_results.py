"""Results under other names, and the file of their voices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pyannote.core import Annotation, Segment

from diarize.audio import open_recording
from diarize.batch.jobs import Job
from diarize.batch.results import Result, write_voices
from diarize.formats.speakers import read_speakers
from diarize.pipeline import Diarizer
from diarize.storage.files import file_sha256
from diarize.timeline import Diarization
from diarize.voices.vectors import Voiceprints


def heard(uri: str, *names: str) -> Result:
    annotation = Annotation(uri=uri)
    for n, name in enumerate(names):
        annotation[Segment(n, n + 1.5), n] = name
        annotation[Segment(n + 1, n + 2), -n - 1] = name  # overlaps itself
    voices = Voiceprints(names, np.eye(3, dtype=np.float32)[: len(names)])
    found = Diarization(annotation, np.zeros((0, 2)), 0, 9.0, "cpu", voices=voices)
    return Result(Job(uri), open_recording((np.zeros(16_000), 16_000)), found, 0.5)


def test_a_result_under_other_names() -> None:
    renamed = heard("a", "SPEAKER_00").renamed({"SPEAKER_00": "anna"})
    assert renamed.found.annotation.labels() == ["anna"]
    assert renamed.found.voices.names == ("anna",)
    assert (renamed.job, renamed.elapsed) == (Job("a"), 0.5)


def test_one_file_for_all_recordings(tiny_weights: Path, tmp_path: Path) -> None:
    path = tmp_path / "voices.npz"
    found = [heard("a", "SPEAKER_00", "anna"), heard("quiet"), heard("b", "anna")]
    write_voices(path, found, Diarizer(model=tiny_weights), linked=True)
    speakers = read_speakers(path)
    assert speakers.names == ("SPEAKER_00", "anna", "anna")
    assert speakers.uris == ("a", "a", "b")
    assert speakers.seconds.tolist() == [2.0, 2.0, 2.0]
    assert speakers.linked
    assert speakers.voices.model == str(tiny_weights)
    assert speakers.voices.model_sha256 == file_sha256(tiny_weights)
    np.testing.assert_array_equal(speakers.voices.embeddings, np.eye(3)[[0, 1, 0]])


def test_nobody_speaks(tiny_weights: Path, tmp_path: Path) -> None:
    path = tmp_path / "voices.npz"
    write_voices(path, [heard("quiet")], Diarizer(model=tiny_weights), linked=False)
    assert read_speakers(path).names == ()
