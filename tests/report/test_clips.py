"""Clips: what is cut, how it is called, and where it cannot go."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from diarize.audio import open_recording
from diarize.audio.decoders import CHUNK_VALUES
from diarize.errors import InputError
from diarize.report.clips import cut_clips, is_clip

from ..making import annotation

RATE = 44_100


@pytest.fixture
def noise(tmp_path: Path) -> Path:
    """Eight seconds of stereo noise of 16 bits, at full scale: several blocks."""
    samples = np.random.default_rng(0).integers(-(2**15), 2**15, (8 * RATE, 2)).astype(np.int16)
    assert samples.size > 5 * CHUNK_VALUES
    path = tmp_path / "noise.flac"
    soundfile.write(path, samples, RATE)
    return path


def test_clips_are_the_recording_bit_by_bit(noise: Path, tmp_path: Path) -> None:
    samples, _ = soundfile.read(noise, dtype="int16")
    turns = [(0.25, 6.5, "ann"), (1.0, 1.5, "ben"), (1.5, 7.123, "ben"), (7.5, 9.0, "ann")]
    found = cut_clips(open_recording(noise), annotation(*turns), tmp_path / "new" / "clips")
    assert [path.name for path in found] == [
        "ann_0000.250-0006.500.wav",
        "ben_0001.000-0001.500.wav",
        "ben_0001.500-0007.123.wav",
        "ann_0007.500-0009.000.wav",  # of which the recording has half a second
    ]
    assert sorted(found) == sorted((tmp_path / "new" / "clips").iterdir())
    for path, (start, end, _) in zip(found, turns, strict=True):
        clip, rate = soundfile.read(path, dtype="int16")
        assert rate == RATE
        np.testing.assert_array_equal(clip, samples[round(start * RATE) : round(end * RATE)])


def test_one_channel_of_a_part_keeps_the_times_of_the_file(noise: Path, tmp_path: Path) -> None:
    samples, _ = soundfile.read(noise, dtype="int16")
    recording = open_recording(noise, channel=1, start=2.0, end=4.0)
    (path,) = cut_clips(recording, annotation((2.5, 3.0, "ann")), tmp_path)
    np.testing.assert_array_equal(
        soundfile.read(path, dtype="int16")[0], samples[round(2.5 * RATE) : 3 * RATE, 1]
    )


def test_names_stay_in_the_folder_and_apart(
    write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    speakers = ["../../x", "a/b", "a:b", "A_B", "", "n" * 400]
    turns = [(n / 10, (n + 1) / 10, speaker) for n, speaker in enumerate(speakers)]
    folder = tmp_path / "clips"
    found = cut_clips(open_recording(write_tone()), annotation(*turns), folder)
    assert {path.parent for path in found} == {folder}
    assert len({path.name.casefold() for path in found}) == len(os.listdir(folder)) == 6
    names = [path.name.rpartition("_")[0] for path in found]
    assert names == ["_._.._x", "a_b", "a_b_", "A_B__", "_", "n" * 150]


def test_clips_are_known_again(noise: Path, tmp_path: Path) -> None:
    (clip,) = cut_clips(open_recording(noise), annotation((0.5, 1.0, "a")), tmp_path / "clips")
    copy = tmp_path / "ann.wav"
    copy.write_bytes(clip.read_bytes())
    assert is_clip(clip) and is_clip(copy)
    other = clip.with_name("a_0001.000-0001.500.wav")
    soundfile.write(other, np.zeros(RATE // 2), RATE)
    assert not any(map(is_clip, (noise, other, tmp_path, tmp_path / "none.wav")))


def test_the_folder_may_be_a_string(noise: Path, tmp_path: Path) -> None:
    (path,) = cut_clips(open_recording(noise), annotation((0.5, 1.0, "a")), str(tmp_path))
    assert path.parent == tmp_path


def test_nothing_said_makes_no_folder(write_tone: Callable[..., Path], tmp_path: Path) -> None:
    assert cut_clips(open_recording(write_tone()), annotation(), tmp_path / "clips") == []
    assert not (tmp_path / "clips").exists()


def test_a_damaged_recording_leaves_no_half_clip(noise: Path, tmp_path: Path) -> None:
    noise.write_bytes(noise.read_bytes()[: noise.stat().st_size // 2])
    folder = tmp_path / "clips"
    with pytest.raises(InputError, match=r"noise\.flac: is damaged or cut off"):
        cut_clips(open_recording(noise), annotation((0.5, 1.0, "a"), (0.7, 7.0, "b")), folder)
    assert [path.name for path in folder.iterdir()] == ["a_0000.500-0001.000.wav"]


def test_clips_of_an_earlier_result_are_told_of(noise: Path, tmp_path: Path) -> None:
    recording, folder = open_recording(noise), tmp_path / "clips"
    for _ in range(2):  # the same again is no other
        cut_clips(recording, annotation((1.0, 2.0, "ann"), (3.0, 4.0, "ben")), folder)
    with pytest.warns(UserWarning, match="clips: holds clips that are not of this result .1."):
        cut_clips(recording, annotation((1.0, 2.0, "ann")), folder)
    assert len(list(folder.iterdir())) == 2
