import errno
import os
import resource
from pathlib import Path

import numpy as np
import pytest

from diarize.errors import InputError, explain
from diarize.mixing.recorded import Recorded
from diarize.mixing.replay import Replay
from diarize.mixing.talk import Talk
from diarize.mixing.voices import Voices
from diarize.training.chunks import (
    LOWEST,
    NATS,
    UNKNOWN,
    Shard,
    ShardFolder,
    Shards,
    Source,
    render_shard,
)
from diarize.training.counting_teacher import CountingTeacher

SECONDS = 1.28


@pytest.fixture(scope="module")
def replay(hums: Voices) -> Replay:
    turns = [(0.6 * i, 0.6 * i + 0.9, "AB"[i % 2]) for i in range(10)]
    rooms = [np.eye(1, 200, 40, dtype=np.float32)]
    return Replay([Talk.of("talk", turns)], hums, rooms, seed=1)


def assert_equal(one: Shard, other: Shard) -> None:
    for name, column in vars(one).items():
        np.testing.assert_array_equal(column, getattr(other, name))


@pytest.fixture
def as_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither moving levels nor still stretches."""
    monkeypatch.setattr("diarize.training.chunks.MOVING", 0.0)
    monkeypatch.setattr("diarize.training.chunks.STILL", 0.0)


@pytest.mark.usefixtures("as_drawn")
def test_chunks_are_what_the_network_hears(replay: Replay) -> None:
    source = Source(replay)
    shard = render_shard(source, 4, 2, SECONDS)
    assert shard.spectra.shape == (2, 64, 256)
    assert shard.speech.shape == (2, 40)
    assert shard.voices.shape == (2, 64)
    assert shard.told.shape == (2, 64, 4) and not shard.told.any()
    assert shard.voices.max() <= 2
    _, active = replay.draw(5, SECONDS)
    np.testing.assert_array_equal(shard.voices[1], active.sum(axis=0)[::2])
    spread = NATS * shard.spectra.astype(float) + LOWEST
    assert -14 <= spread.min() < spread.mean() < spread.max() < 16
    # Chunk 5 is the same, whatever comes before it.
    assert_equal(shard[1:2], render_shard(source, 5, 1, SECONDS))


@pytest.mark.usefixtures("as_drawn")
def test_levels_move(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    samples, voices = Source(replay).draw(0, 5.12)
    monkeypatch.setattr("diarize.training.chunks.MOVING", 1.0)
    moved, same = Source(replay).draw(0, 5.12)
    np.testing.assert_array_equal(same, voices)
    loud = np.abs(samples) > 1e-3
    gain = 20 * np.log10(moved[loud] / samples[loud])
    assert np.ptp(gain) > 1 and np.abs(np.diff(gain)).max() < 0.1
    assert moved.dtype == np.float32


@pytest.mark.usefixtures("as_drawn")
def test_nobody_speaks_for_some_seconds(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [Source(replay).draw(number, 16.0) for number in range(4)]
    monkeypatch.setattr("diarize.training.chunks.STILL", 1.0)
    for number, (samples, voices) in enumerate(drawn):
        stilled, fewer = Source(replay).draw(number, 16.0)
        changed = (stilled != samples).reshape(-1, 320).any(axis=1)
        begin, end = np.flatnonzero(changed)[[0, -1]]
        assert 50 <= end - begin + 1 <= 600 and changed[begin : end + 1].all()
        assert not fewer[changed].any()
        np.testing.assert_array_equal(fewer[~changed], voices[~changed])


def test_shards_are_kept_as_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    shard = Shard(
        *(
            rng.integers(256, size=s, dtype=np.uint8)
            for s in ((3, 8, 256), (3, 5), (3, 8), (3, 8, 4))
        )
    )
    shard.save(tmp_path / "shard.npy")
    assert_equal(Shard.load(tmp_path / "shard.npy"), shard)


def test_what_is_there_is_not_rendered_again(
    replay: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = []

    def render(source: Source, first: int, count: int, seconds: float) -> Shard:
        rendered.append(first)
        frames = np.full((count, 8), first, np.uint8)
        told = np.zeros((count, 8, 4), np.uint8)
        return Shard(np.zeros((count, 8, 256), np.uint8), frames[:, :5], frames, told)

    monkeypatch.setattr("diarize.training.chunks.render_shard", render)
    folder = ShardFolder(Source(replay), tmp_path, 2, SECONDS)
    folder[1]
    shards = Shards(folder, 4, workers=0)
    assert shards[1].voices[0, 0] == 2
    assert shards[2].voices[0, 0] == 4
    assert rendered == [2, 0, 4]  # in order, and none before it is asked for
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"shard_000{n}.npy" for n in range(3)
    ]


@pytest.mark.usefixtures("as_drawn")
def test_of_recordings_the_teacher_alone_says_how_many_speak(
    replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diarize.training.chunks.RECORDED", 0.5)
    sound = np.random.default_rng(0).normal(0, 0.1, 30 * 16_000).astype(np.float32)
    source = Source(replay, Recorded([sound], [], replay), CountingTeacher().eval())
    shard = render_shard(source, 0, 6, 5.12)
    recorded = (shard.voices == UNKNOWN).all(axis=1)
    assert 0 < recorded.sum() < 6
    assert (shard.voices[~recorded] <= 2).all()
    assert np.abs(shard.told.astype(int).sum(axis=2) - 255).max() <= 2
    for name, column in vars(render_shard(source, 3, 1, 5.12)).items():
        np.testing.assert_array_equal(column, getattr(shard[3:4], name))


@pytest.mark.parametrize("workers", [0, 1])
def test_what_cannot_be_rendered_or_written_is_one_plain_line(
    replay: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    folder = ShardFolder(Source(replay), tmp_path, 2, SECONDS)
    reason, before = os.strerror(errno.EFBIG), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))  # as if the disk were full
    try:
        with pytest.raises(OSError, match=reason) as written:
            Shards(folder, 1, workers)[0]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert explain(written.value) == (1, f"{folder.path(0)}: {reason}")

    def refused(*_: object) -> Shard:
        raise InputError("noise.wav: is damaged")

    monkeypatch.setattr("diarize.training.chunks.render_shard", refused)
    with pytest.raises(InputError, match=r"^noise\.wav: is damaged$"):
        Shards(folder, 1, workers)[0]
