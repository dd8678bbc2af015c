import errno
import os
import resource
from pathlib import Path

import numpy as np
import pytest
import soundfile

from diarize.errors import InputError
from diarize.mixing.speech import Utterance
from diarize.mixing.voices import LOUDNESS, Voices, collect_voices


@pytest.fixture
def utterances(tmp_path):
    time = np.arange(32_000) / 16_000
    for name, pitch in (("a1", 100), ("a2", 110), ("b1", 200)):
        hum = 0.3 * np.sign(np.sin(2 * np.pi * pitch * time)) * (time % 1.0 < 0.6)
        soundfile.write(tmp_path / f"{name}.wav", hum, 16_000)
    return [
        Utterance(tmp_path / "a1.wav", "a", "x"),
        Utterance(tmp_path / "b1.wav", "b", "y"),
        Utterance(tmp_path / "a2.wav", "a", "x"),
    ]


def test_each_speaker_at_each_speed_is_a_voice(utterances):
    voices = collect_voices(utterances, speeds=(1.0, 1.25))
    assert voices.speakers.tolist() == ["a", "a", "b", "b"]
    assert voices.corpora.tolist() == ["x", "x", "y", "y"]
    lengths = voices.ends - voices.starts
    assert lengths[1] == pytest.approx(lengths[0] / 1.25, rel=1e-3)
    assert lengths[0] < 2 * 32_000  # pauses are cut
    spoken = voices.samples[: voices.ends[0]].astype(float) / 32767
    assert np.sqrt(np.square(spoken).mean()) == pytest.approx(LOUDNESS, rel=0.05)


def test_round_trip_and_joining(utterances, tmp_path):
    voices = collect_voices(utterances, speeds=(1.0,))
    (voices + voices[np.array([True, False])]).save(tmp_path / "out")
    again = Voices.load(tmp_path / "out")
    assert again.speakers.tolist() == ["a", "b", "a"]
    for v, w in ((0, 0), (1, 1), (2, 0)):
        np.testing.assert_array_equal(
            again.samples[again.starts[v] : again.ends[v]],
            voices.samples[voices.starts[w] : voices.ends[w]],
        )
    assert again.heard is None


def test_pauses_are_cut_to_the_length_that_is_asked_for(utterances):
    short, long = (
        collect_voices(utterances, speeds=(1.0,), longest_pause=seconds) for seconds in (0.1, 0.3)
    )
    # Of each file's two pauses of 0.4 s, the inner one is left at its length.
    assert long.ends[1] - long.starts[1] > short.ends[1] - short.starts[1] + 0.15 * 16_000


def test_who_hardly_speaks_is_no_voice(utterances, tmp_path):
    soundfile.write(tmp_path / "silent.wav", np.zeros(32_000), 16_000)
    short = 0.3 * np.sign(np.sin(np.arange(6_000)))  # with what is kept around it, under 0.5 s
    soundfile.write(tmp_path / "short.wav", np.concatenate([short, np.zeros(32_000)]), 16_000)
    few = [Utterance(tmp_path / f"{name}.wav", name) for name in ("silent", "short")]
    told = []
    voices = collect_voices([*few, *utterances], (1.0, 1.25), lambda *step: told.append(step))
    assert voices.speakers.tolist() == ["a", "a", "b", "b"]
    np.testing.assert_array_equal(voices.samples, collect_voices(utterances, (1.0, 1.25)).samples)
    assert told[-1] == ("voices", 4, 4)
    with pytest.raises(InputError, match=r"^silent, short: nobody with 0\.5 s of speech$"):
        collect_voices(few)


def test_what_cannot_be_written_says_why(utterances, tmp_path):
    voices = collect_voices(utterances, (1.0,))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))  # as if the disk were full
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as caught:
            voices.save(tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert Path(caught.value.filename) == tmp_path / "out" / "samples.npy"
