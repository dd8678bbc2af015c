"""`--known`: what it takes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diarize.activity import whole
from diarize.errors import InputError
from diarize.formats.embeddings import Embeddings
from diarize.formats.speakers import SpeakerArchive, write_speakers
from diarize.pipeline import Diarizer
from diarize.storage.files import file_sha256
from diarize.voices.known import learn_known, parse_known, read_voices, save_voices
from diarize.voices.vectors import Voiceprints


def test_clips_by_name() -> None:
    values = ["anna=a.wav", "Ζωή=c=d.wav", "anna=b.wav"]
    assert parse_known(values) == {"anna": ["a.wav", "b.wav"], "Ζωή": ["c=d.wav"]}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["anna.wav"], "known anna.wav: NAME=CLIP or FILE.npz expected"),
        (["=a.wav"], "known =a.wav: NAME=CLIP"),
        (["anna="], "known anna=: NAME=CLIP"),
        (["anna b=a.wav"], "known anna b=a.wav: 'anna b' cannot be a speaker's name in RTTM"),
        (["<NA>=a.wav"], "known <NA>=a.wav: '<NA>' cannot be a speaker's name in RTTM"),
        (["SPEAKER_07=a.wav"], "names like SPEAKER_07 are kept for unknown voices"),
        (["anna=-"], "known anna=-: a clip is a file, not standard input"),
        (["anna=a.wav", "ben=./a.wav"], "known ben=./a.wav: the same clip is given for anna"),
    ],
)
def test_what_cannot_be_used_is_refused(values: list[str], reason: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_known(values)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def write(path: Path, *names: str, linked: bool = False, model: str = "0" * 64) -> Path:
    rows = np.eye(16, dtype=np.float32)[: len(names)]
    uris = tuple(f"talk{n}" for n in range(len(names)))
    voices = Embeddings(rows, "lstm", model)
    write_speakers(path, SpeakerArchive(voices, names, uris, np.ones(len(names)), linked))
    return path


def test_voices_of_a_file(tmp_path: Path) -> None:
    known = read_voices(str(write(tmp_path / "x.npz", "anna", "SPEAKER_00", "anna")), "0" * 64)
    assert known.names == ("anna", "SPEAKER_00")
    half = np.sqrt(0.5)
    np.testing.assert_allclose(known.centroids[:, :3], [[half, 0, half], [0, 1, 0]], atol=1e-6)
    linked = write(tmp_path / "x.npz", "SPEAKER_00", "SPEAKER_00", linked=True)
    assert read_voices(str(linked), "0" * 64).names == ("SPEAKER_00",)
    assert read_voices(str(write(tmp_path / "x.npz")), "0" * 64).names == ()


def test_who_was_heard_over_telephones_alone(tmp_path: Path) -> None:
    voices = Embeddings(np.eye(4, dtype=np.float32)[:3], "lstm", "0" * 64)
    heard = ("anna", "ben", "anna"), ("a", "a", "b"), np.ones(3), False
    for narrow, alone in (([1, 1, 0], [False, True]), (None, [False, False])):
        band = None if narrow is None else np.array(narrow, bool)
        write_speakers(tmp_path / "x.npz", SpeakerArchive(voices, *heard, band))
        assert read_voices(str(tmp_path / "x.npz"), "0" * 64).narrowed.tolist() == alone


def test_voices_that_cannot_be_used(tmp_path: Path) -> None:
    for names, model, reason in (
        (("anna",), "1" * 64, r"voices of another model \(lstm\)$"),
        (("SPEAKER_00", "SPEAKER_00"), "0" * 64, "SPEAKER_00 is somebody else in each recording"),
        (("anna b",), "0" * 64, "'anna b' cannot be a speaker's name in RTTM"),
        (("",), "0" * 64, "'' cannot be a speaker's name in RTTM"),
    ):
        with pytest.raises(InputError, match=reason):
            read_voices(str(write(tmp_path / "x.npz", *names, model=model)), "0" * 64)


def test_clips_and_files_together(tiny_weights: Path, talk: Path, tmp_path: Path) -> None:
    diarizer = Diarizer(model=tiny_weights, device="cpu")
    own = file_sha256(tiny_weights)
    first = write(tmp_path / "x=1.npz", "anna", "SPEAKER_03", model=own)
    second = write(tmp_path / "y.npz", "carl", model=own)
    values = [str(first), f"ben={talk}", str(second), str(first)]
    known = learn_known(values, diarizer, whole)
    assert known.names == ("anna", "SPEAKER_03", "carl", "ben")
    np.testing.assert_allclose(np.linalg.norm(known.centroids, axis=1), 1, atol=1e-6)
    for more, place in (
        (f"anna={talk}", "a clip"),
        (str(write(second, "anna", model=own)), "y.npz"),
    ):
        with pytest.raises(InputError, match=rf"^known anna: from .*x=1.npz and from .*{place}"):
            learn_known([str(first), more], diarizer, whole)
    with pytest.raises(InputError, match=r"^cannot read missing.npz: No such file"):
        learn_known(["missing.npz"], diarizer, whole)
    assert learn_known([str(write(second, model=own))], diarizer, whole).names == ()


def test_voices_can_be_kept_and_added_to(tiny_weights: Path, talk: Path, tmp_path: Path) -> None:
    diarizer = Diarizer(model=tiny_weights, device="cpu")
    path, rows = tmp_path / "people.npz", np.eye(16, dtype=np.float32)[:2]
    narrow, seconds = np.array([False, True]), np.array([3.0, 4.0])
    save_voices(Voiceprints(("anna", "ben"), rows, seconds, narrow=narrow), path, diarizer)
    known = learn_known([path], diarizer)
    assert known.names == ("anna", "ben")
    np.testing.assert_array_equal(known.centroids, rows)
    assert (known.narrowed.tolist(), known.seconds.tolist()) == ([False, True], [3.0, 4.0])
    save_voices(learn_known([path, f"carl={talk}"], diarizer, whole), path, diarizer)
    assert learn_known([path], diarizer).names == ("anna", "ben", "carl")
    with pytest.raises(InputError, match="voices of another model"):
        learn_known([path], Diarizer(device="cpu"))
    much = Voiceprints(("anna",), rows[:1])
    save_voices(much, path, diarizer)
    np.testing.assert_allclose(learn_known([path], diarizer).scarcity, much.scarcity, atol=1e-8)
    save_voices(Voiceprints(), path, diarizer)
    assert learn_known([path], diarizer).names == ()
