"""`--export-speakers`: what is written, and what is refused beforehand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.cli.speakers import require_export, write_voices
from diarize.diarization import Diarization
from diarize.embedding.weights import sha256
from diarize.errors import InputError
from diarize.formats.speakers import read_speakers
from diarize.pipeline import Diarizer
from diarize.voices.voiceprints import Voiceprints


def heard(uri: str, *names: str) -> Diarization:
    annotation = Annotation(uri=uri)
    for n, name in enumerate(names):
        annotation[Segment(n, n + 1.5), n] = name
        annotation[Segment(n + 1, n + 2), -n - 1] = name  # overlaps itself
    voices = Voiceprints(names, np.eye(3, dtype=np.float32)[: len(names)])
    return Diarization(annotation, np.zeros((0, 2)), 0, 9.0, "cpu", voices=voices)


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
    assert speakers.voices.model_sha256 == sha256(tiny_weights)
    np.testing.assert_array_equal(speakers.voices.embeddings, np.eye(3)[[0, 1, 0]])


def test_nobody_speaks(tiny_weights: Path, tmp_path: Path) -> None:
    path = tmp_path / "voices.npz"
    write_voices(path, [heard("quiet")], Diarizer(model=tiny_weights), linked=False)
    assert read_speakers(path).names == ()


def test_places_that_cannot_be_used(tmp_path: Path) -> None:
    recording = tmp_path / "a.npz"
    recording.write_bytes(b"sound")
    for path, out, reason in (
        (tmp_path / "voices", "-", "voices: a name that ends in .npz is needed"),
        (tmp_path / "none" / "voices.npz", "-", "cannot write"),
        (tmp_path / "voices.npz", str(tmp_path / "voices.npz"), "is where the result goes, too"),
        (recording, "-", "is the recording, which the voices would replace"),
    ):
        with pytest.raises(InputError, match=reason):
            require_export(path, out, [str(recording), "-"])
    require_export(tmp_path / "voices.npz", "-", [str(recording), "-"])
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
