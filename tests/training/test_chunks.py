from pathlib import Path

import numpy as np
import pytest

from diarize.mixing.replay import Replay
from diarize.mixing.talk import Talk
from diarize.mixing.voices import Voices
from diarize.training.chunks import LOWEST, NATS, Shard, ShardFolder, Shards, render_shard

SECONDS = 1.28


@pytest.fixture(scope="module")
def replay(hums: Voices) -> Replay:
    turns = [(0.6 * i, 0.6 * i + 0.9, "AB"[i % 2]) for i in range(10)]
    rooms = [np.eye(1, 200, 40, dtype=np.float32)]
    return Replay([Talk.of("talk", turns)], hums, rooms, seed=1)


def assert_equal(one: Shard, other: Shard) -> None:
    for name, column in vars(one).items():
        np.testing.assert_array_equal(column, getattr(other, name))


def test_chunks_are_what_the_network_hears(replay: Replay) -> None:
    shard = render_shard(replay, 4, 2, SECONDS)
    assert shard.mel.shape == (2, 128, 64)
    assert shard.speech.shape == (2, 40)
    assert shard.voices.shape == (2, 128)
    assert shard.voices.max() <= 2
    _, active = replay.draw(5, SECONDS)
    np.testing.assert_array_equal(shard.voices[1], active.sum(axis=0))
    spread = NATS * shard.mel.astype(float) + LOWEST
    assert -14 <= spread.min() < spread.mean() < spread.max() < 8
    # Chunk 5 is the same, whatever comes before it.
    assert_equal(shard[1:2], render_shard(replay, 5, 1, SECONDS))


def test_shards_are_kept_as_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    shard = Shard(
        *(rng.integers(256, size=s, dtype=np.uint8) for s in ((3, 8, 64), (3, 5), (3, 8)))
    )
    shard.save(tmp_path / "shard.npy")
    assert_equal(Shard.load(tmp_path / "shard.npy"), shard)


def test_what_is_there_is_not_rendered_again(
    replay: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = []

    def render(replay: Replay, first: int, count: int, seconds: float) -> Shard:
        rendered.append(first)
        frames = np.full((count, 8), first, np.uint8)
        return Shard(np.zeros((count, 8, 64), np.uint8), frames[:, :5], frames)

    monkeypatch.setattr("diarize.training.chunks.render_shard", render)
    folder = ShardFolder(replay, tmp_path, 2, SECONDS)
    folder[1]
    shards = Shards(folder, 4, workers=0)
    assert shards[1].voices[0, 0] == 2
    assert shards[2].voices[0, 0] == 4
    assert rendered == [2, 0, 4]  # in order, and none before it is asked for
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"shard_000{n}.npy" for n in range(3)
    ]
