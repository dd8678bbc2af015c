"""Regions of speech while they grow, against those of a whole recording."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diarize.activity import NetworkActivity, SileroActivity
from diarize.activity.counts import INSTANT
from diarize.activity.silero import CHUNK_SECONDS, LATE_END, LATENCY
from diarize.streaming.speech import Region, SpeechRegions

Options = SileroActivity | NetworkActivity


def made(options: Options) -> tuple[SpeechRegions, float]:
    """As `diarize.streaming.hearing` makes them, and the seconds of an answer."""
    if isinstance(options, NetworkActivity):
        return SpeechRegions(INSTANT, options.min_speech, options.min_silence), INSTANT
    late = {"late": LATENCY, "late_end": LATE_END}
    return SpeechRegions(
        CHUNK_SECONDS, options.min_speech, options.min_silence, **late
    ), CHUNK_SECONDS


def hear(regions: SpeechRegions, answers: list[bool]) -> list[tuple[float, list[Any]]]:
    """Feed answer by answer; after each, `sure` and the regions so far."""
    seen = []
    for on in answers:
        regions.push([on])
        seen.append((regions.sure, [(r.start, r.end) for r in regions.found]))
    return seen


shortest = st.sampled_from([0.0, 0.1, 0.25])
options = st.one_of(
    st.builds(NetworkActivity, min_speech=shortest, min_silence=st.sampled_from([0.0, 0.1, 0.2])),
    st.builds(
        SileroActivity,
        min_speech=shortest,
        min_silence=st.sampled_from([0.0, 0.1, 0.2]),
    ),
)
streams = st.lists(st.booleans(), min_size=1, max_size=80)


@given(options, streams)
def test_the_regions_are_those_of_a_whole_recording(options: Options, answers: list[bool]) -> None:
    regions, unit = made(options)
    hear(regions, answers)
    duration = len(answers) * unit
    regions.finish(duration)
    speech = np.array(answers, np.float32)
    if isinstance(options, NetworkActivity):
        counts = np.stack([1 - speech, speech, 0 * speech, 0 * speech], axis=1)
        expected = options.heard(0.0, counts, duration).regions
    else:
        expected = options.regions(speech, round(duration * 16_000))
    found = np.array([(r.start, r.end) for r in regions.found]).reshape(-1, 2)
    found = found[found[:, 1] > found[:, 0]]
    assert found.shape == expected.shape
    assert np.allclose(found, expected)


@given(options, streams)
def test_what_is_sure_stays_as_it_is(options: Options, answers: list[bool]) -> None:
    regions, unit = made(options)
    seen = hear(regions, answers)
    regions.finish(len(answers) * unit)
    final = [(r.start, r.end) for r in regions.found]

    def speech(regions: list[Any], time: float) -> bool:
        return any(b <= time and (e is None or time < e) for b, e in regions)

    for n, (sure, found) in enumerate(seen, start=1):
        assert n * unit - sure <= regions.slowness + 1e-9
        for time in np.arange(0.001, sure, 0.01):
            assert speech(found, time) == speech(final, time), (n, time)


def test_silence_leaves_nothing_behind() -> None:
    regions, _ = made(SileroActivity())
    regions.push([False] * 320)
    assert regions.found == []
    assert 320 * CHUNK_SECONDS - regions.sure <= LATENCY + 1e-9


def test_a_region_is_itself_and_no_other() -> None:
    assert Region(1.0) != Region(1.0)
