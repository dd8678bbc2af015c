"""What hears in a stream, against what hears a whole recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from diarize.activity import NetworkActivity, SileroActivity, whole
from diarize.activity.counts import INSTANT
from diarize.activity.level import CHUNK, as_chunks, measure_gain
from diarize.audio import SAMPLE_RATE, open_recording
from diarize.errors import InputError
from diarize.streaming.hearing import MOST_AHEAD, Counted, LiveCounter, LiveSilero, hear_live

HOP = 7 * CHUNK
ACTIVITIES = [NetworkActivity(), SileroActivity()]


def hear(activity: LiveCounter | LiveSilero, samples: np.ndarray, hop: int = HOP) -> Counted:
    """All counts; it is finished then."""
    parts = [
        activity.push(as_chunks(samples[first : first + hop]))
        for first in range(0, len(samples), hop)
    ]
    parts.append(activity.finish(len(samples) / SAMPLE_RATE))
    return Counted(*map(np.concatenate, zip(*parts, strict=True)))


@pytest.fixture(scope="module")
def conversation(repo_root: Path) -> np.ndarray:
    """Half a minute of the conversation that ships, people at once included."""
    recording = open_recording(repo_root / "egs" / "conversation.ogg", end=30.0)
    return np.concatenate(list(recording.blocks()))


@pytest.mark.parametrize(("ahead", "differing"), [(MOST_AHEAD, 0.05), (1, 0.09)])
def test_counts_are_those_of_a_recording_but_for_the_look_ahead(
    conversation: np.ndarray, ahead: int, differing: float
) -> None:
    recording = open_recording((conversation, SAMPLE_RATE))
    gain = np.float32(measure_gain(recording))
    heard = NetworkActivity()(recording)
    assert heard.counts is not None
    live = LiveCounter(NetworkActivity(), ahead)
    live._level = lambda chunks: chunks * gain  # type: ignore[assignment]
    counts, again = hear(live, conversation)
    expected = heard.counts.probabilities
    assert again.shape == expected.shape
    assert np.abs(again - expected).mean() < 0.02
    assert (again.argmax(axis=1) != expected.argmax(axis=1)).mean() < 0.02
    assert counts.shape == expected.shape
    assert np.abs(counts - expected).mean() < differing
    assert (counts.argmax(axis=1) != expected.argmax(axis=1)).mean() < differing
    speech, spoken = counts[:, 0] <= 0.5, expected[:, 0] <= 0.5
    assert (speech != spoken).mean() < differing / 2


def test_regions_are_those_of_a_recording_with_these_counts() -> None:
    """However the counts come; speech goes on below the probability with which it begins."""
    options, rng = NetworkActivity(threshold=0.6), np.random.default_rng(0)
    for _ in range(20):
        silent = np.repeat(rng.uniform(size=40), rng.integers(1, 12, 40)).astype(np.float32)
        counts = np.stack([silent, 1 - silent, 0 * silent, 0 * silent], axis=1)
        live, seconds = LiveCounter(options, 0), len(counts) * INSTANT
        for part in np.split(counts, np.sort(rng.integers(0, len(counts), 9))):
            live._follow(part)
        live.regions.finish(seconds)
        found = np.array([(region.start, region.end) for region in live.regions.found])
        expected = options.heard(0.0, counts, seconds).regions
        assert found.reshape(-1, 2) == pytest.approx(expected)


def test_with_all_that_follows_counts_are_those_of_a_recording(talk: Path) -> None:
    """Half of the conversation fits into what is heard before, and nothing is answered early."""
    samples = soundfile.read(talk, dtype="float32")[0][: 3 * SAMPLE_RATE]
    recording = open_recording((samples, SAMPLE_RATE))
    gain = np.float32(measure_gain(recording))
    heard = NetworkActivity()(recording)
    live = LiveCounter(NetworkActivity(), ahead=100)
    live._level = lambda chunks: chunks * gain  # type: ignore[assignment]
    counts = hear(live, samples).now
    assert heard.counts is not None
    # The last chunk is filled up with silence, which the network hears.
    assert np.allclose(counts[:-25], heard.counts.probabilities[:-25], atol=0.02)
    found = np.array([(region.start, region.end) for region in live.regions.found])
    assert found == pytest.approx(heard.regions, abs=0.041)


@pytest.mark.parametrize(("hop", "ahead"), [(1, 0), (1, MOST_AHEAD), (3, 5), (16, MOST_AHEAD)])
def test_what_is_sure_is_so_slow_at_most(hop: int, ahead: int) -> None:
    """Also where there is speech all the time."""
    rng = np.random.default_rng(0)
    for options in (NetworkActivity(), NetworkActivity(threshold=1e-9)):
        live = LiveCounter(options, ahead)
        for n in range(hop, 81, hop):
            live.push(rng.normal(0, 0.01, (hop, CHUNK)).astype(np.float32))
            assert n * CHUNK / SAMPLE_RATE - live.regions.sure <= live.slowness + 1e-9


def test_it_looks_ahead_as_far_as_there_is_time() -> None:
    options = NetworkActivity()
    for spare, ahead in ((5.0, MOST_AHEAD), (0.6, 6), (0.4, 1), (0.1, 0), (-1.0, 0)):
        live = hear_live(options, spare, spare)
        assert isinstance(live, LiveCounter)
        assert live._ahead == ahead
        assert live.slowness <= max(spare, 0.13)
    assert isinstance(hear_live(SileroActivity(), 0.1, 0.1), LiveSilero)
    with pytest.raises(InputError, match="a stream cannot hear with function"):
        hear_live(whole, 1.0, 1.0)


def test_where_time_is_short_shorter_speech_is_believed() -> None:
    for most, slowness in ((1.0, 0.36), (0.3, 0.3), (0.2, 0.2), (0.0, 0.12)):
        live = hear_live(NetworkActivity(), 0.0, most)
        assert live.slowness == pytest.approx(slowness, abs=0.01)


@pytest.mark.parametrize("options", ACTIVITIES, ids=["network", "silero"])
def test_silence_holds_nothing(options: NetworkActivity | SileroActivity) -> None:
    live = hear_live(options, 1.0, 1.0)
    counts, again = hear(live, np.zeros(20 * SAMPLE_RATE, np.float32))
    assert live.regions.found == []
    assert len(counts) == len(again) == (1000 if isinstance(options, NetworkActivity) else 0)


def seconds_of_speech(
    options: NetworkActivity | SileroActivity, samples: np.ndarray, begin: float, end: float
) -> float:
    live = hear_live(options, 1.0, 1.0)
    hear(live, samples, 16 * CHUNK)
    spoken = [(max(r.start, begin), min(r.end or 0.0, end)) for r in live.regions.found]
    return sum(max(0.0, e - b) for b, e in spoken)


@pytest.mark.parametrize("options", ACTIVITIES, ids=["network", "silero"])
def test_minutes_of_noise_hold_no_speech(
    talk: Path, options: NetworkActivity | SileroActivity
) -> None:
    noise = np.random.default_rng(0).normal(0, 10 ** (-60 / 20), 60 * 16_000).astype(np.float32)
    speech = soundfile.read(talk, dtype="float32")[0]
    alone = seconds_of_speech(options, speech, 0, 12)
    both = np.concatenate([noise, speech])
    # At silero-vad's low threshold, more of the pauses is speech where the room is quieter.
    assert seconds_of_speech(options, both, 60, 72) == pytest.approx(alone, abs=1.0)
    assert seconds_of_speech(options, both, 0, 60) == 0


# One level from beginning to end, as in a recording: what is 40 dB quieter is followed in minutes.
@pytest.mark.parametrize("decibels", [-20.0, 20.0])
@pytest.mark.parametrize("options", ACTIVITIES, ids=["network", "silero"])
def test_speech_is_heard_after_a_jump_in_level(
    talk: Path, options: NetworkActivity | SileroActivity, decibels: float
) -> None:
    speech = soundfile.read(talk, dtype="float32")[0]
    after = speech * np.float32(10 ** (decibels / 20))
    samples = np.concatenate([speech, speech, after, after])
    before = seconds_of_speech(options, samples, 12, 24)
    assert seconds_of_speech(options, samples, 36, 48) > 0.9 * before
