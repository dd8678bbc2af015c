"""Who is asked where there is speech, and of how many; what is kept of the answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diarize.activity import Heard, NetworkActivity, VoiceCounts, whole
from diarize.activity.hearing import hear
from diarize.audio import open_recording
from diarize.storage import cache
from diarize.storage.cache import Cache

REGIONS = np.array([[0.5, 2.0], [2.5, 9.0]])


def test_regions_are_cut_off_at_the_ends(talk: Path) -> None:
    heard = hear(open_recording(talk, start=1.0, end=3.0), REGIONS, counts=False)
    np.testing.assert_array_equal(heard.regions, [[1.0, 2.0], [2.5, 3.0]])
    assert heard.counts is None


def test_whoever_finds_speech_our_network_says_how_many(talk: Path) -> None:
    recording = open_recording(talk, end=3.0)
    network = hear(recording, NetworkActivity(), counts=True)
    assert network.counts is not None
    for activity in (REGIONS, whole):
        voices = hear(recording, activity, counts=True).counts
        assert voices is not None
        np.testing.assert_array_equal(voices.probabilities, network.counts.probabilities)
    own = VoiceCounts(0.0, np.eye(4, dtype=np.float32))
    assert hear(recording, lambda *_: Heard(REGIONS, own), counts=True).counts is own
    assert hear(recording, NetworkActivity(), counts=False).counts is None


def test_what_another_version_found_is_not_taken(
    talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording, steps = open_recording(talk, end=3.0), list[str]()
    for version, asked in (("6.0", True), ("6.0", False), ("7.0", True), ("6.0", False)):
        monkeypatch.setattr(cache, "version", lambda distribution, at=version: at)
        steps.clear()
        kept = Cache(tmp_path)
        hear(recording, NetworkActivity(), True, kept, lambda step, *_: steps.append(step))
        assert bool(steps) == asked
