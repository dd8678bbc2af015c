"""Voiceprints out of clips."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from diarize.activity import whole
from diarize.audio import open_recording
from diarize.errors import InputError
from diarize.pipeline import Diarizer
from diarize.voices.enrolment import enrol
from diarize.voices.voiceprints import identify


@pytest.fixture
def diarizer(tiny_weights: Path) -> Diarizer:
    return Diarizer(model=tiny_weights, activity=np.zeros((0, 2)), device="cpu")


def test_a_person_is_the_mean_of_his_clips(diarizer: Diarizer, talk: Path) -> None:
    anna, ben = open_recording(talk, start=1, end=5), open_recording(talk, start=7, end=9)
    told: list[tuple[str, float, float]] = []
    known = enrol(
        diarizer, {"anna": [anna], "ben": [ben], "both": [anna, ben]}, whole,
        lambda *progress: told.append(progress),
    )  # fmt: skip
    assert known.names == ("anna", "ben", "both")
    np.testing.assert_allclose(np.linalg.norm(known.centroids, axis=1), 1, atol=1e-6)
    middle = known.centroids[0] + known.centroids[1]
    np.testing.assert_allclose(known.centroids[2], middle / np.linalg.norm(middle), atol=1e-6)
    assert told == [("enrolment", n, 3) for n in (1, 2, 3)]


def test_one_clip_is_taken_as_it_is(diarizer: Diarizer, talk: Path) -> None:
    samples, rate = soundfile.read(talk, dtype="float32")
    clips = [str(talk), talk, open_recording(talk), (samples, rate), (talk, str(talk))]
    clips.append((torch.from_numpy(samples), rate))
    known = enrol(diarizer, {f"p{n}": clip for n, clip in enumerate(clips)}, whole)
    for centroid in known.centroids[1:]:
        np.testing.assert_allclose(centroid, known.centroids[0], atol=1e-4)


@pytest.mark.parametrize(
    ("name", "clips", "reason"),
    [
        ("anna", [], "known anna: at least one clip is needed"),
        ("anna b", "a.wav", "known anna b: 'anna b' cannot be a speaker's name in RTTM"),
        ("SPEAKER_07", "a.wav", "known SPEAKER_07: names like SPEAKER_07 are kept for unknown"),
    ],
)
def test_people_who_cannot_be_enrolled(
    diarizer: Diarizer, name: str, clips: list[str] | str, reason: str
) -> None:
    with pytest.raises(InputError, match=f"^{reason}"):
        enrol(diarizer, {name: clips})


def test_nobody_is_enrolled(diarizer: Diarizer) -> None:
    assert enrol(diarizer, {}).names == ()


def test_clips_that_cannot_be_used(diarizer: Diarizer, write_tone: Callable[..., Path]) -> None:
    tone = write_tone("tone.wav")
    hush = tone.with_name("hush.wav")
    soundfile.write(hush, np.zeros(16_000), 16_000)
    with pytest.raises(InputError, match=r"hush\.wav: no speech in this clip of anna$"):
        enrol(diarizer, {"anna": [hush]})
    with pytest.raises(InputError, match=r"^missing\.wav: no such file"):
        enrol(diarizer, {"anna": [tone], "ben": ["missing.wav"]}, whole)


def test_the_voices_of_the_example_are_known_again(repo_root: Path) -> None:
    example = repo_root / "egs" / "conversation.ogg"
    diarizer = Diarizer()
    clips = {"anna": open_recording(example, start=1, end=5.5),
             "ben": open_recording(example, start=6.3, end=11)}  # fmt: skip
    known = enrol(diarizer, {name: [clip] for name, clip in clips.items()})
    found = diarizer.diarize(open_recording(example, end=12))
    assert sorted(identify(found.voices, known).values()) == ["anna", "ben"]
    first = found.renamed(identify(found.voices, known)).annotation
    assert first.argmax() in {"anna", "ben"}
    assert next(iter(first.itertracks(yield_label=True)))[2] == "anna"
