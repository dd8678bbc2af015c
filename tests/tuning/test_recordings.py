"""Tuning on recordings with their turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.audio import open_recording
from diarize.errors import InputError
from diarize.pipeline import Diarizer
from diarize.scoring import score_files
from diarize.timeline import TimelineOptions
from diarize.tuning import Conversation, Outcome, Preset, Tuning, tune_recordings, tuned
from diarize.tuning.presets import PRESETS
from diarize.tuning.recordings import TIMELINE_SPACE, recordings_space

SPACE = {"overlap": (0.05, 0.5), "count_penalty": (1.0, 4.0), "min_turn": (0.2, 1.0)}


@pytest.fixture
def diarizer(tiny_weights: Path) -> Diarizer:
    """With a model that has learned nothing, and without a detector of speech."""
    return Diarizer(backend="gcr", model=tiny_weights, activity=np.array([[0.0, 60.0]]))


@pytest.fixture
def conversations(talk: Path) -> list[Conversation]:
    """Two parts of a conversation, of different lengths, with turns that are made up."""
    found = []
    for end in (4.0, 8.0):
        truth = Annotation()
        truth[Segment(0, 2)] = "a"
        truth[Segment(2, end - 1)] = "b"
        found.append(Conversation(open_recording(talk, end=end), truth))
    return found


def test_the_score_is_the_error_rate_of_all_together(
    diarizer: Diarizer, conversations: list[Conversation]
) -> None:
    found = tune_recordings(diarizer, conversations, space=SPACE)
    assert (found.backend, found.metric, found.n_trials) == ("gcr", "der", 2)
    assert found.n_combinations == len(found.table) == 8
    scores = [outcome.score for outcome in found.table]
    assert scores == sorted(scores)
    for outcome in (found.table[0], found.table[-1]):
        params = dict(outcome.params)
        again = Diarizer(
            backend="gcr",
            model=diarizer.model,
            activity=diarizer.activity,
            params={"count_penalty": params.pop("count_penalty")},
            timeline=TimelineOptions(**params),
        )
        total = score_files(
            {str(n): c.reference for n, c in enumerate(conversations)},
            {str(n): again(c.recording) for n, c in enumerate(conversations)},
        ).total
        assert outcome.score == pytest.approx(total.der)
    assert diarizer.params == {} and diarizer.timeline == TimelineOptions()  # nothing is changed


def test_each_recording_is_embedded_once(
    diarizer: Diarizer, conversations: list[Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: dict[str, int] = {"embed": 0, "cluster": 0}

    def counted(name: str) -> Any:
        method = getattr(Diarizer, name)

        def call(self: Diarizer, *arguments: Any) -> Any:
            calls[name] += 1
            return method(self, *arguments)

        return call

    for name in calls:
        monkeypatch.setattr(Diarizer, name, counted(name))
    tune_recordings(diarizer, conversations, space=SPACE)
    assert calls == {"embed": 2, "cluster": 2 * 8}


def test_turns_outside_of_the_part_do_not_count(
    diarizer: Diarizer, conversations: list[Conversation]
) -> None:
    inside = Conversation(conversations[0].recording, conversations[0].reference.copy())
    expected = tune_recordings(diarizer, [inside], space=SPACE).table
    inside.reference[Segment(4, 40)] = "a"
    assert tune_recordings(diarizer, [inside], space=SPACE).table == expected


def test_declared_candidates_are_the_space(diarizer: Diarizer) -> None:
    space = recordings_space(diarizer)
    assert space.keys() == {"threshold", *TIMELINE_SPACE}  # numbers are not for all
    assert {name: TIMELINE_SPACE[name][0] for name in TIMELINE_SPACE}.items() <= vars(
        TimelineOptions()
    ).items()


def test_progress(diarizer: Diarizer, conversations: list[Conversation]) -> None:
    calls: list[tuple[str, float, float]] = []
    tune_recordings(
        diarizer, conversations, budget=2, seed=1, hook=lambda *call: calls.append(call)
    )
    assert list(dict.fromkeys(step for step, _, _ in calls)) == ["embedding", "tuning"]
    for stage, total in (("embedding", 2), ("tuning", 4)):
        done = [done for step, done, _ in calls if step == stage]
        assert done == sorted(done) and done[-1] == total


def test_a_backend_that_needs_the_truth(
    diarizer: Diarizer, conversations: list[Conversation]
) -> None:
    diarizer.backend = "oracle"
    found = tune_recordings(diarizer, conversations[:1], space={"min_turn": (0.2,)})
    assert found.params == {"min_turn": 0.2}


@pytest.mark.parametrize(
    ("space", "reason"),
    [
        ({"threshhold": (1.0,)}, "did you mean threshold"),
        ({"n_speakers": (2, 3)}, "n_speakers is no option to be tuned on recordings"),
        ({"overlap": ()}, "overlap: no candidate"),
    ],
)
def test_what_cannot_be_tuned_is_refused(
    diarizer: Diarizer, conversations: list[Conversation], space: Any, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        tune_recordings(diarizer, conversations, space=space)


def test_recordings_that_cannot_be_used(diarizer: Diarizer, talk: Path) -> None:
    with pytest.raises(InputError, match="there are no recordings"):
        tune_recordings(diarizer, [])
    with pytest.raises(InputError, match=r"talk.wav: the true turns have no speech"):
        Conversation(open_recording(talk), Annotation())
    later = Annotation()
    later[Segment(5, 6)] = "a"
    with pytest.raises(InputError, match=r"talk.wav: no true turn lies in what is read of it$"):
        Conversation(open_recording(talk, end=4), later)


def test_a_diarizer_takes_a_preset() -> None:
    plain = Diarizer(params={"n_restarts": 2}, max_speakers=4, timeline=TimelineOptions(switch=0.1))
    options = {"n_speakers": 5, "max_set_size": 1, "set_penalty": 0.1, "overlap": 0.2}
    other = tuned(plain, Preset("p", "ckm", options))
    assert (other.backend, other.n_speakers, other.max_set_size) == ("ckm", 5, 1)
    assert other.params == {"n_restarts": 2, "set_penalty": 0.1}
    assert other.timeline == TimelineOptions(switch=0.1, overlap=0.2)
    assert (plain.n_speakers, plain.max_speakers, other.max_speakers) == (None, 4, 4)
    assert tuned(Diarizer(), PRESETS["gcr-librispeech-d2"]).backend == "gcr"
    assert tuned(Diarizer(backend="gcr"), PRESETS["turns"]).backend == "gcr"  # of the timeline
    found = Tuning("gcr", "der", (Outcome({"threshold": 0.4}, 1.0, 0.0),), 1, 1)
    assert tuned(plain, found).params == {"n_restarts": 2, "threshold": 0.4}
