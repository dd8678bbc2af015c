"""Stretches of recordings without labels: long ones, joined short ones, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from diarize.errors import InputError
from diarize.mixing.recorded import Recorded
from diarize.mixing.replay import Replay
from diarize.mixing.talk import Talk
from diarize.mixing.voices import Voices


@pytest.fixture(scope="module")
def replay() -> Replay:
    times = np.arange(2 * 16_000) / 16_000
    hums = [(1600 * np.sign(np.sin(2 * np.pi * f * times))).astype(np.int16) for f in (90, 140)]
    voices = Voices.of(hums, np.array(["a", "b"]), np.array(["c", "c"]))
    rooms = [np.eye(1, 200, 40, dtype=np.float32)]
    return Replay([Talk.of("talk", [(0.0, 2.0, "A"), (1.0, 3.0, "B")])], voices, rooms, seed=1)


def test_a_stretch_depends_on_seed_and_number_alone(replay: Replay, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    soundfile.write(tmp_path / "long.wav", rng.normal(0, 0.1, 21 * 16_000), 16_000)
    soundfile.write(tmp_path / "short.wav", rng.normal(0, 0.1, 16_000), 16_000)
    recorded = Recorded.of([tmp_path], replay)
    assert (len(recorded.long), len(recorded.short)) == (1, 1)
    drawn = [recorded.draw(number, 2.0) for number in range(20)]
    for number, samples in enumerate(drawn):
        assert samples.shape == (32_000,) and samples.dtype == np.float32
        assert np.isfinite(samples).all() and samples.any()
        np.testing.assert_array_equal(samples, recorded.draw(number, 2.0))
    assert not np.array_equal(drawn[0], drawn[1])


def test_a_folder_without_recordings_is_refused(replay: Replay, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no recordings in"):
        Recorded.of([tmp_path], replay)
    (tmp_path / "here").mkdir()
    soundfile.write(tmp_path / "here" / "short.wav", np.full(16_000, 0.1), 16_000)
    with pytest.raises(InputError, match=r"misspelt: no such folder$"):
        Recorded.of([tmp_path / "here", tmp_path / "misspelt"], replay)
