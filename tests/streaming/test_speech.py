from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from diarize.activity import SileroActivity
from diarize.activity.silero import CHUNK_SECONDS
from diarize.streaming.speech import LiveActivity, Region


def hear(activity: LiveActivity, probabilities: list[float]) -> list[tuple[float, list[Any]]]:
    """Feed probabilities chunk by chunk; after each, `sure` and the regions so far."""
    seen = []
    for probability in probabilities:
        activity._network = lambda chunks, p=probability: np.array([p], np.float32)  # type: ignore
        activity.push(np.zeros((1, 512), np.float32))
        seen.append((activity.sure, [(r.start, r.end) for r in activity.regions]))
    return seen


options = st.builds(
    SileroActivity,
    min_speech=st.sampled_from([0.0, 0.1, 0.25]),
    min_silence=st.sampled_from([0.0, 0.1, 0.2]),
    pad=st.sampled_from([0.0, 0.03]),
).filter(lambda options: options.min_silence >= 2 * options.pad)  # else it is raised to that
streams = st.lists(st.sampled_from([0.0, 0.3, 0.9]), min_size=1, max_size=80)


@given(options, streams)
def test_the_regions_are_those_of_a_whole_recording(
    options: SileroActivity, probabilities: list[float]
) -> None:
    activity = LiveActivity(options)
    hear(activity, probabilities)
    duration = len(probabilities) * CHUNK_SECONDS
    activity.finish(duration)
    expected = options.regions(np.array(probabilities, np.float32), round(duration * 16_000))
    found = np.array([(r.start, r.end) for r in activity.regions]).reshape(-1, 2)
    found = found[found[:, 1] > found[:, 0]]
    assert found.shape == expected.shape
    assert np.allclose(found, expected)


@given(options, streams)
def test_what_is_sure_stays_as_it_is(options: SileroActivity, probabilities: list[float]) -> None:
    activity = LiveActivity(options)
    seen = hear(activity, probabilities)
    activity.finish(len(probabilities) * CHUNK_SECONDS)
    final = [(r.start, r.end) for r in activity.regions]

    def speech(regions: list[Any], time: float) -> bool:
        return any(b <= time and (e is None or time < e) for b, e in regions)

    for n, (sure, regions) in enumerate(seen, start=1):
        assert n * CHUNK_SECONDS - sure <= activity.slowness + CHUNK_SECONDS + 1e-9
        for time in np.arange(0.001, sure, 0.01):
            assert speech(regions, time) == speech(final, time), (n, time)


def test_silence_leaves_nothing_behind() -> None:
    activity = LiveActivity(SileroActivity())
    for _ in range(20):
        activity.push(np.zeros((16, 512), np.float32))
    assert activity.regions == []
    assert activity.sure == pytest.approx(320 * CHUNK_SECONDS - 0.032)


def test_a_region_is_itself_and_no_other() -> None:
    assert Region(1.0) != Region(1.0)


def seconds_of_speech(samples: np.ndarray, begin: float, end: float) -> float:
    activity, hop = LiveActivity(SileroActivity()), 8 * 512
    whole = len(samples) // hop * hop
    for first in range(0, whole, hop):
        activity.push(samples[first : first + hop].reshape(-1, 512))
    activity.finish(whole / 16_000)
    spoken = [(max(r.start, begin), min(r.end or 0.0, end)) for r in activity.regions]
    return sum(max(0.0, e - b) for b, e in spoken)


def test_minutes_of_noise_hold_no_speech(talk: Path) -> None:
    noise = np.random.default_rng(0).normal(0, 10 ** (-60 / 20), 120 * 16_000).astype(np.float32)
    assert seconds_of_speech(noise, 0, 120) == 0
    speech = soundfile.read(talk, dtype="float32")[0]
    alone = seconds_of_speech(speech, 0, 12)
    after = seconds_of_speech(np.concatenate([noise, speech]), 120, 132)
    assert after == pytest.approx(alone, abs=0.5)


@pytest.mark.parametrize("decibels", [-40.0, -20.0, 20.0])
def test_speech_is_heard_after_a_jump_in_level(talk: Path, decibels: float) -> None:
    speech = soundfile.read(talk, dtype="float32")[0]
    after = speech * np.float32(10 ** (decibels / 20))
    samples = np.concatenate([speech, speech, after, after])
    before = seconds_of_speech(samples, 12, 24)
    assert seconds_of_speech(samples, 36, 48) > 0.9 * before
