"""One microphone for each speaker: turns by channel, without what leaks between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.activity import SileroActivity, whole
from diarize.audio import SAMPLE_RATE, Recording, open_recording
from diarize.batch.multitrack import FRAME, diarize_channels, leaks
from diarize.errors import InputError
from diarize.pipeline import Diarizer
from diarize.scoring import score_files

# Speaker (anna and ben of the bundled conversation), where his sound begins there, begin and end.
SAID = ((0, 1.1, 1.0, 5.4), (1, 6.4, 4.0, 9.0), (0, 1.1, 10.0, 12.0), (1, 8.9, 13.0, 15.4))
LEAK = 10 ** (-15 / 20)
DELAY = 80  # samples: 1.7 m


def multitrack(talk: Path, silence: float = 1e-4) -> tuple[np.ndarray, Annotation]:
    """Two microphones, each of which hears the other speaker at -15 dB; and who speaks."""
    sound = np.concatenate(list(open_recording(talk).blocks()))
    close = np.zeros((16 * SAMPLE_RATE, 2))
    truth = Annotation(uri="audio")
    for track, (speaker, source, begin, end) in enumerate(SAID):
        piece = sound[round(source * SAMPLE_RATE) :][: round((end - begin) * SAMPLE_RATE)]
        first = round(begin * SAMPLE_RATE)
        close[first : first + len(piece), speaker] += piece
        truth[Segment(begin, end), track] = f"CHANNEL_{speaker + 1}"
    far = np.roll(close[:, ::-1], DELAY, axis=0)
    noise = np.random.default_rng(0).normal(0, silence, close.shape)
    return close + LEAK * far + noise, truth


def der(truth: Annotation, found: Annotation) -> float:
    return score_files({"audio": truth}, {"audio": found}).total.der


def test_cross_talk_is_no_speech(talk: Path) -> None:
    samples, truth = multitrack(talk)
    recording = open_recording((samples, SAMPLE_RATE))
    activity = SileroActivity()
    steps: list[str] = []
    found = diarize_channels(recording, activity, hook=lambda step, *_: steps.append(step))
    naive = Annotation(uri="audio")
    for number, channel in enumerate(recording.by_channel(), start=1):
        for begin, end in activity(channel):
            naive[Segment(begin, end), number] = f"CHANNEL_{number}"
    assert der(truth, naive) > 0.5  # each channel holds both
    assert der(truth, found.annotation) < 0.2
    assert found.annotation.get_overlap().duration() > 0.8  # of 1.4 s
    assert found.annotation.labels() == ["CHANNEL_1", "CHANNEL_2"]
    assert set(steps) == {"activity", "cross-talk"}
    both = Diarizer(activity=activity, device="cpu").diarize(recording)
    assert found.duration == both.duration
    assert found.speech[0, 0] == pytest.approx(1.0, abs=0.2)


def test_leaks_of_frames() -> None:
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 40 * FRAME)).astype(np.float32)

    def found(left: np.ndarray, right: np.ndarray) -> list[float]:
        frames = np.stack([left, right]).reshape(2, 40, FRAME).transpose(1, 0, 2)
        return leaks(frames)[5:-5].mean(axis=0).tolist()

    assert found(one, LEAK * np.roll(one, 100)) == [0.0, 1.0]
    assert found(-LEAK * np.roll(one, 100), one) == [1.0, 0.0]
    assert found(one, np.roll(one, 100)) == [0.0, 0.0]  # as loud: nobody is farther away
    assert found(one, LEAK * two) == [0.0, 0.0]  # quiet, but something else
    assert found(one + LEAK * two, two + LEAK * one) == [0.0, 0.0]  # both speak
    assert found(one, np.zeros_like(one)) == [0.0, 0.0]


def test_any_length(talk: Path) -> None:
    samples, _ = multitrack(talk)
    for seconds in (0.02, 0.1, 1.3):
        part = samples[: round(seconds * SAMPLE_RATE)]
        found = diarize_channels(open_recording((part, SAMPLE_RATE)), whole)
        assert found.annotation.get_timeline().extent().end <= seconds + 1e-9


def test_one_channel_is_refused() -> None:
    with pytest.raises(InputError, match="has one channel"):
        diarize_channels(open_recording((np.zeros(16_000), 16_000)), whole)


def test_a_microphone_into_which_nobody_speaks_is_told() -> None:
    samples = np.random.default_rng(0).normal(0, 0.1, (3 * SAMPLE_RATE, 2))

    def first_speaks(channel: Recording) -> np.ndarray:
        return np.array([[0.5, 2.5]]) if channel.channel == 0 else np.zeros((0, 2))

    found = diarize_channels(open_recording((samples, SAMPLE_RATE)), first_speaks)
    assert found.notes == ("nobody speaks in channel 2",)
    found = diarize_channels(
        open_recording((samples, SAMPLE_RATE)), lambda channel: np.zeros((0, 2))
    )
    assert found.notes == ("no speech found",)
