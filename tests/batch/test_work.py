"""What is done with one input, and what its results depend on."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diarize.activity import NetworkActivity, SileroActivity, whole
from diarize.batch.annotations import Turns
from diarize.batch.jobs import Job
from diarize.batch.manifest import Fingerprint
from diarize.batch.work import Work
from diarize.errors import InputError
from diarize.storage import cache
from diarize.storage.cache import Cache
from diarize.timeline import TimelineOptions, resegmenter
from diarize.voices.vectors import Voiceprints

A = "SPEAKER a 1 0 1 <NA> <NA> x <NA> <NA>\n"
B = "SPEAKER b 1 2 1 <NA> <NA> y <NA> <NA>\n"


def test_an_input_is_heard_and_its_result_written(
    work: Work, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    job = Job(str(write_tone("a.wav")), "sub")
    steps: list[tuple[str, str]] = []
    done = work.perform(job, lambda _, name, step, *__: steps.append((name, step)))
    assert done.problem is None
    assert done.outputs == [tmp_path / "out" / "sub" / "a.rttm"]
    assert done.outputs[0].read_text() == "SPEAKER a 1 0.000 1.000 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
    assert len(done.input_sha256) == 64
    assert {("a", "embedding"), ("a", "clustering")} <= set(steps)
    assert pickle.loads(pickle.dumps(done)).results[0].found.annotation.uri == "a"


def test_each_channel_has_a_result(work: Work, write_tone: Callable[..., Path]) -> None:
    job = Job(str(write_tone("a.wav", channels=2)))
    done = replace(work, channels="separate").perform(job)
    assert [path.name for path in done.outputs] == ["a_channel1.rttm", "a_channel2.rttm"]


def test_linked_results_wait(work: Work, write_tone: Callable[..., Path]) -> None:
    done = replace(work, linked=True).perform(Job(str(write_tone("a.wav"))))
    assert (len(done.results), done.outputs) == (1, [])


def test_a_problem_is_told(work: Work) -> None:
    done = work.perform(Job("missing.wav"))
    assert isinstance(done.problem, InputError)
    assert (done.results, done.outputs, done.input_sha256) == ([], [], "")


def turns(path: Path, text: str) -> Turns:
    path.write_text(text)
    return Turns.read(path, ["a.wav", "b.wav"])


def test_a_fingerprint_changes_with_all_that_a_result_depends_on(
    work: Work, tiny_weights: Path, tmp_path: Path
) -> None:
    diarizer, targets = work.diarizer, work.targets
    ears = np.eye(2, dtype=np.float32)

    def told(**changed: Any) -> Work:
        return replace(work, diarizer=replace(diarizer, **changed))

    variants = [
        work,
        told(backend="gcr"),
        told(n_speakers=2),
        told(seed=1),
        told(params={"n_restarts": 3}),
        told(timeline=TimelineOptions(switch=0.2)),
        told(activity=SileroActivity()),
        told(activity=SileroActivity(threshold=0.5)),
        told(activity=turns(tmp_path / "vad.rttm", A + B).speech),
        replace(work, targets=replace(targets, formats=["rttm", "json"])),
        replace(work, targets=replace(targets, clips=tmp_path / "clips")),
        replace(work, channels="separate"),
        replace(work, start=1.0),
        replace(work, end=1.0),
        replace(work, exclusive=True),
        replace(work, truth=turns(tmp_path / "truth.rttm", A + B)),
        replace(work, corrections=turns(tmp_path / "said.rttm", A + B)),
        replace(work, known=Voiceprints(("anna", "ben"), ears)),
        replace(work, known=Voiceprints(("anna", "ben"), ears[::-1])),
        replace(work, known=Voiceprints(("ben", "anna"), ears)),
    ]
    prints = [variant.fingerprint(Job("a.wav"), "sound") for variant in variants]
    assert len(set(prints)) == len(variants)
    assert {one.model for one in prints} == {prints[0].model}
    assert work.fingerprint(Job("a.wav"), "sound") == prints[0]
    # Where results lie, and what is loaded, says nothing of them.
    elsewhere = replace(targets, folder=tmp_path / "elsewhere")
    assert replace(work, targets=elsewhere).fingerprint(Job("a.wav"), "sound") == prints[0]
    other = tmp_path / "other.safetensors"
    other.write_bytes(tiny_weights.read_bytes() + b" ")
    assert told(model=other).fingerprint(Job("a.wav"), "sound").model != prints[0].model


def test_a_result_tells_of_all_options_that_are_not_the_usual_ones(
    work: Work, tmp_path: Path
) -> None:
    plain = replace(work.diarizer, n_speakers=None, activity=NetworkActivity())
    usual = {"backend", "model", "seed", "max_set_size", *plain.params}
    assert replace(work, diarizer=plain).options.keys() == usual
    said = turns(tmp_path / "said.rttm", A + B)
    voices = Voiceprints(("anna", "ben"), np.eye(2, dtype=np.float32))
    of_diarizer = {
        "n_speakers": 2, "min_speakers": 1, "max_speakers": 3, "counts": False, "window": 1.0,
        "step": 0.25, "known_threshold": 0.5,
    }  # fmt: skip
    of_work = {
        "channels": "separate", "start": 1.0, "end": 2.0, "linked": True, "same_person": 0.5,
        "exclusive": True,
    }  # fmt: skip
    told = replace(
        work,
        diarizer=replace(plain, timeline=TimelineOptions(switch=0.2), **of_diarizer),
        truth=said,
        corrections=said,
        known=voices,
        **of_work,
    )
    more = {"switch": 0.2, "corrections": str(said.path), "known": ["anna", "ben"]}
    added = {name: value for name, value in told.options.items() if name not in usual}
    assert added == {**of_diarizer, **of_work, **more}
    oracle = replace(told, diarizer=replace(plain, backend="oracle"))
    assert oracle.options["truth"] == str(said.path)
    for activity, name in (
        (SileroActivity(min_speech=1), "SileroActivity(threshold=0.1, min_speech=1, min_silence="),
        (whole, "whole"),
        (said.speech, str(said.path)),
        (np.array([[0.0, 1.5]]), "[[0.0, 1.5]]"),
    ):
        options = replace(work, diarizer=replace(plain, activity=activity)).options
        assert str(options["activity"]).startswith(name)


def test_a_fingerprint_changes_with_the_network_that_hears_turns(
    work: Work, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def named(heard: bool) -> Fingerprint:
        told = replace(work, diarizer=replace(work.diarizer, counts=heard))
        return told.fingerprint(Job("a.wav"), "sound")

    before = [named(heard) for heard in (True, False)]
    other = tmp_path / "other.safetensors"
    other.write_bytes(b"others")
    monkeypatch.setattr(resegmenter, "shipped_resegmenter", lambda: other)
    assert [named(heard) == one for heard, one in zip((True, False), before, strict=True)] == [
        False,
        True,  # where nobody listens for how many speak, no network hears turns
    ]


def test_a_fingerprint_changes_with_the_detector(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = work.fingerprint(Job("a.wav"), "sound")
    monkeypatch.setattr(cache, "version", lambda distribution: "99")
    assert work.fingerprint(Job("a.wav"), "sound") != before


def test_a_cache_changes_no_result(work: Work, tmp_path: Path) -> None:
    cached = replace(work, diarizer=replace(work.diarizer, cache=Cache(tmp_path)))
    assert cached.fingerprint(Job("a.wav"), "x") == work.fingerprint(Job("a.wav"), "x")


def test_what_is_said_of_others_changes_nothing(work: Work, tmp_path: Path) -> None:
    def printed(text: str, source: str) -> object:
        told = replace(work, corrections=turns(tmp_path / "said.rttm", text))
        return told.fingerprint(Job(source), "sound")

    assert printed(A + B, "a.wav") == printed(A, "a.wav")
    assert printed(A + B, "b.wav") != printed(A, "b.wav")
    channel = A.replace(" a ", " a_channel1 ", 1)
    assert printed(channel + B, "a.wav") != printed(B, "a.wav")


def test_channels_are_one_of_those_that_are_known(work: Work) -> None:
    with pytest.raises(InputError, match=r"^channels seperate: not one of mix, separate, per-sp"):
        replace(work, channels="seperate")
    regions = replace(work.diarizer, activity=np.zeros((0, 2)))
    with pytest.raises(InputError, match=r"^channels per-speaker: what finds speech in each is"):
        replace(work, diarizer=regions, channels="per-speaker")


def test_channels_of_speakers_are_heard_by_the_network_unless_told(
    work: Work, write_tone: Callable[..., Path]
) -> None:
    told = replace(work, diarizer=replace(work.diarizer, activity=None), channels="per-speaker")
    done = told.perform(Job(str(write_tone("a.wav", channels=2))))
    assert (done.problem, len(done.outputs)) == (None, 1)


def test_what_a_function_does_is_not_known(work: Work) -> None:
    assert work.finished_in is not None
    by_hand = replace(work.diarizer, activity=lambda recording, hook=None: np.zeros((0, 2)))
    assert replace(work, diarizer=by_hand).finished_in is None
