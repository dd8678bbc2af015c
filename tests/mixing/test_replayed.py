import numpy as np
import pytest

from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.mixing.corpus import write_conversations
from diarize.mixing.replay import Replay
from diarize.mixing.replayed import PEAKS, ReplayedConversations, reference
from diarize.mixing.talk import Talk
from diarize.mixing.voices import Voices

TALK = Talk.of("talk", [(0.9 * i, 0.9 * i + 1.2, "ABC"[i % 3]) for i in range(30)])
SHORT = Talk.of("short", [(0.0, 1.0, "A"), (1.0, 2.5, "B")])


@pytest.fixture(scope="module")
def voices():
    time = np.arange(2 * SAMPLE_RATE) / SAMPLE_RATE
    hums = [np.sign(np.sin(2 * np.pi * (90 + 20 * i) * time)) for i in range(4)]
    names = np.array([f"s{i}" for i in range(4)])
    stretches = [(1600 * hum).astype(np.int16) for hum in hums]
    return Voices.of(stretches, names, np.array(["c"] * 4))


def replay(voices, *talks, seed=0):
    return Replay(list(talks), voices, [np.eye(1, 200, 40, dtype=np.float32)], seed=seed)


def test_recordings_with_their_truth(voices):
    drawn = ReplayedConversations(replay(voices, TALK, SHORT), (3, 3), 6.0)
    for number, (samples, truth) in enumerate(map(drawn.draw, range(2))):
        assert truth.uri == f"replay_{number:03d}"
        assert samples.shape == (6 * SAMPLE_RATE,)
        assert samples.dtype == np.float32
        loud = np.percentile(np.abs(samples), 99.9)
        assert PEAKS[0] * 0.9 < loud < PEAKS[1] * 1.1
        assert len(truth.labels()) == 3
        assert set(truth.labels()) <= {"s0", "s1", "s2", "s3"}
        # Each turn is followed by the next 0.9 s after its begin: a third of it is shared.
        assert truth.get_overlap().duration() == pytest.approx(6.0 * 0.3 / 0.9, abs=0.4)


def test_a_recording_depends_on_seed_and_number_alone(voices):
    first, second = (
        ReplayedConversations(replay(voices, TALK, seed=2), (2, 3), 5.0) for _ in range(2)
    )
    first.draw(0)
    one, other = first.draw(1), second.draw(1)
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1] == other[1]


def test_of_short_talk_all_is_taken(voices):
    samples, _ = ReplayedConversations(replay(voices, SHORT), (2, 2), 60.0).draw(0)
    assert len(samples) == 2.5 * SAMPLE_RATE


def test_frames_become_turns():
    active = np.zeros((2, 100), bool)
    active[0, 10:30] = active[0, 70:] = active[1, 20:40] = True
    found = reference(active, ["b", "a"], "uri")
    tracks = list(found.itertracks(yield_label=True))
    assert [name for *_, name in tracks] == ["b", "a", "b"]
    times = [(segment.start, segment.end) for segment, *_ in tracks]
    np.testing.assert_allclose(times, [(0.1, 0.3), (0.2, 0.4), (0.7, 1.0)])


def test_they_are_written_as_others_are(voices, tmp_path):
    drawn = ReplayedConversations(replay(voices, TALK), (2, 3), 5.0)
    ((path, seconds),) = write_conversations([drawn.draw(0)], tmp_path)
    assert (path.name, seconds) == ("replay_000.flac", 5.0)
    assert path.with_suffix(".rttm").is_file()


@pytest.mark.parametrize(
    ("speakers", "reason"),
    [
        ((3, 2), "speakers 3-2: not a range of positive numbers"),
        ((2, 5), "only 4 speakers, but 5 may be asked for"),
        ((4, 4), "no stretch of 5 s in which 4 to 4 people talk was found"),
    ],
)
def test_what_there_is_not_is_refused(voices, speakers, reason):
    with pytest.raises(InputError, match=reason):
        ReplayedConversations(replay(voices, TALK), speakers, 5.0)
