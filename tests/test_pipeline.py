"""The stages joined."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pyannote.core import Annotation, Segment

from diarize import clustering
from diarize.activity import SileroActivity, whole
from diarize.audio import open_recording
from diarize.embedding import Knowledge, load_model, save_model
from diarize.errors import InputError
from diarize.pipeline import Diarizer
from diarize.scatter import Likeness
from diarize.storage.cache import Cache
from diarize.voices.vectors import Voiceprints

from .making import turns_of

QUICK = {"dpgmm": {"n_chains": 1}}  # what some backends are given to take less time


@pytest.fixture
def diarizer(tiny_weights: Path) -> Diarizer:
    return Diarizer(model=tiny_weights, activity=whole, device="cpu")


def test_any_source(diarizer: Diarizer, write_tone: Callable[..., Path]) -> None:
    diarizer.n_speakers = 1
    path = write_tone("tone.wav", 1.0)
    samples = np.sin(np.arange(16_000) / 10)
    sources = {
        "tone": [path, str(path), open_recording(path)],
        "audio": [io.BytesIO(path.read_bytes()), (samples, 16_000)],
    }
    for uri, of_that_name in sources.items():
        for source in of_that_name:
            annotation = diarizer(source)
            assert annotation.uri == uri
            assert turns_of(annotation) == [(0.0, 1.0, "SPEAKER_00")]


@pytest.mark.parametrize(
    "backend", [name for name in clustering.BACKENDS if not clustering.make(name).needs_truth]
)
def test_the_number_of_speakers_can_be_bound(diarizer: Diarizer, talk: Path, backend: str) -> None:
    diarizer.backend, diarizer.params = backend, QUICK.get(backend, {})
    recording = open_recording(talk)
    for bounds, allowed in (
        ({"n_speakers": 4}, {4}),
        ({"min_speakers": 3}, set(range(3, 21))),
        ({"max_speakers": 2}, {1, 2}),
    ):
        for name in ("n_speakers", "min_speakers", "max_speakers"):
            setattr(diarizer, name, bounds.get(name))
        labels = diarizer(recording).labels()
        assert len(labels) in allowed
        assert labels == [f"SPEAKER_{n:02d}" for n in range(len(labels))]


@pytest.mark.parametrize(
    "backend", [name for name in clustering.BACKENDS if not clustering.make(name).needs_truth]
)
def test_each_backend_says_how_sure_the_number_is(
    diarizer: Diarizer, talk: Path, backend: str
) -> None:
    diarizer.backend, diarizer.params = backend, QUICK.get(backend, {})
    found = diarizer.diarize(talk)
    assert sum(found.number.values()) == pytest.approx(1.0)
    low, high = found.possible
    assert low <= len(found.annotation.labels()) <= high
    diarizer.min_speakers = diarizer.max_speakers = 3
    assert diarizer.diarize(talk).number == {3: 1.0}


def test_a_number_that_was_told_is_certain(diarizer: Diarizer, talk: Path) -> None:
    diarizer.n_speakers = 3
    assert diarizer.diarize(talk).number == {3: 1.0}
    diarizer.n_speakers, diarizer.activity = None, np.zeros((0, 2))
    assert diarizer.diarize(talk).number == {0: 1.0}
    truth = Annotation()
    truth[Segment(1, 3), "a"] = "a"
    diarizer.activity, diarizer.backend = whole, "oracle"
    assert diarizer.diarize(talk, reference=truth).number == {1: 1.0}


def test_speakers_are_named_in_order_of_appearance(diarizer: Diarizer, talk: Path) -> None:
    diarizer.n_speakers = 3
    found = turns_of(diarizer(talk))
    first = {label: begin for begin, _, label in reversed(found)}
    assert sorted(first, key=first.__getitem__) == sorted(first)


def test_speech_may_be_regions(diarizer: Diarizer, talk: Path) -> None:
    diarizer.activity = np.array([[1.0, 2.0], [6.5, 8.0], [11.0, 99.0]])
    found = diarizer.diarize(open_recording(talk, start=1.5))
    speech = found.annotation.get_timeline().support()
    assert [(s.start, s.end) for s in speech] == [(1.5, 2.0), (6.5, 8.0), (11.0, 12.0)]
    np.testing.assert_array_equal(found.speech, [[1.5, 2.0], [6.5, 8.0], [11.0, 12.0]])
    assert found.duration == 10.5
    assert found.device == "cpu"
    assert found.notes == ()
    assert diarizer != replace(diarizer) and len({diarizer, replace(diarizer)}) == 2


def test_speech_is_detected_by_default(tiny_weights: Path, talk: Path) -> None:
    speech = Diarizer(model=tiny_weights).diarize(open_recording(talk, end=7.0)).speech
    # anna from 1.00 to 5.59, ben from 6.259
    assert speech[0, 0] == pytest.approx(1.0, abs=0.15)
    assert speech[-1, 1] == 7.0


def test_no_speech(diarizer: Diarizer, talk: Path) -> None:
    for backend in clustering.BACKENDS:
        diarizer.backend, diarizer.n_speakers = backend, 2
        diarizer.activity = np.zeros((0, 2))
        found = diarizer.diarize(talk, reference=Annotation())
        assert (turns_of(found.annotation), found.windows) == ([], 0)
        assert found.notes == ("no speech found",)


def test_what_was_not_heard_is_told(tiny_weights: Path) -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, 16_000 * 5)
    found = Diarizer(model=tiny_weights).diarize((np.stack([noise, -noise], axis=1), 16_000))
    first, second = found.notes
    assert first == "no speech found"
    assert "2 channels cancel each other out" in second and "--channels separate" in second
    found = Diarizer(model=tiny_weights).diarize((noise, 16_000))
    assert found.notes[1].startswith("of 5.0 s in which sound is heard (loud parts at -40 dBFS), 0")


def test_more_speakers_than_windows(diarizer: Diarizer, write_tone: Callable[..., Path]) -> None:
    diarizer.n_speakers, diarizer.min_speakers = 5, 4
    found = diarizer.diarize(write_tone("tone.wav", 0.9))
    assert found.windows == 2
    assert found.notes == ("too short for 5 speakers: its 2 windows of speech hold at most 2",)
    assert diarizer.n_speakers == 5


def test_more_speakers_than_windows_that_are_decoded(
    diarizer: Diarizer, write_tone: Callable[..., Path]
) -> None:
    diarizer.n_speakers, diarizer.step = 8, 0.05
    found = diarizer.diarize(write_tone("tone.wav", 0.9))
    assert found.windows > 8
    few = len(found.annotation.labels())
    assert found.notes[0].startswith(f"too short for 8 speakers: no more than {few} in its ")
    assert len(found.notes) == 1


def test_that_more_may_speak_than_are_looked_for_is_told(
    diarizer: Diarizer, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = len(diarizer.diarize(talk).annotation.labels())
    assert few > 0
    monkeypatch.setattr("diarize.clustering.base.MAX_SPEAKERS", few)
    told = f"no more than {few} speakers are looked for; --max-speakers says how many"
    assert diarizer.diarize(talk).notes == (told,)
    diarizer.max_speakers = few
    assert diarizer.diarize(talk).notes == ()


def test_who_cannot_be_told_apart_is_named(diarizer: Diarizer, talk: Path) -> None:
    diarizer.n_speakers = 4
    found = diarizer.diarize(talk)
    assert len(found.annotation.labels()) == 4
    (note,) = found.notes
    assert note.endswith("there since so many were told, and likely one of the others")


def test_a_sample_is_told(diarizer: Diarizer, talk: Path) -> None:
    diarizer.params = {"sample_size": 10}
    (note,) = diarizer.diarize(talk).notes
    assert note == "clustered 10 of 24 windows; the others went to the nearest set"


def test_progress(diarizer: Diarizer, talk: Path) -> None:
    told: list[tuple[str, float, float]] = []
    diarizer.activity = None
    diarizer(open_recording(talk, end=3.0), lambda *progress: told.append(progress))
    stages = list(dict.fromkeys(step for step, _, _ in told))
    assert stages == ["activity", "embedding", "clustering"]
    for stage in stages:
        done = [(done, total) for step, done, total in told if step == stage]
        assert done == sorted(done)
        assert done[-1][0] == pytest.approx(done[-1][1])


def test_each_stage_can_be_looked_at(diarizer: Diarizer, talk: Path) -> None:
    seen: dict[str, Any] = {}
    diarizer.activity = np.array([[1.0, 6.0], [7.0, 9.0]])
    found = diarizer.diarize(talk, look=seen.__setitem__)
    assert list(seen) == ["activity", "embedding", "clustering", "timeline"]
    np.testing.assert_array_equal(seen["activity"].regions, diarizer.activity)
    assert len(seen["embedding"].windows) == len(seen["clustering"].sets_) == found.windows
    decoded = seen["timeline"]
    assert len(decoded.sets) == len(decoded.trellis.cells) == len(seen["embedding"].fine)
    assert decoded.annotation("talk") == found.annotation == diarizer(talk)


def test_the_oracle(diarizer: Diarizer, talk: Path) -> None:
    reference = Annotation()
    reference[Segment(1, 6)] = "x"
    reference[Segment(5, 9)] = "y"
    diarizer.backend = "oracle"
    assert diarizer.needs_reference
    diarizer.activity = np.array([[1.0, 9.0]])
    assert turns_of(diarizer(talk, reference=reference)) == [
        (1.0, 6.0, "SPEAKER_00"), (5.0, 9.0, "SPEAKER_01")
    ]  # fmt: skip
    with pytest.raises(InputError, match="needs the true turns: give a reference"):
        diarizer(talk)


def test_every_turn_has_a_confidence(diarizer: Diarizer, talk: Path) -> None:
    reference = Annotation()
    reference[Segment(1, 6)] = "x"
    reference[Segment(5, 9)] = "y"
    recording = open_recording(talk, end=9.0)
    for backend in clustering.BACKENDS:
        diarizer.backend = backend
        found = diarizer.diarize(recording, reference=reference)
        assert set(found.confidence) == set(found.annotation.itertracks())
        assert all(0 < p < 1 for p in found.confidence.values())
        renamed = found.renamed({"SPEAKER_00": "anna"})
        assert set(renamed.confidence) == set(renamed.annotation.itertracks())
        assert renamed.voices.names[0] == "anna"


def test_every_speaker_has_a_voice(diarizer: Diarizer, talk: Path) -> None:
    diarizer.n_speakers = 3
    found = diarizer.diarize(talk)
    assert found.voices.names == tuple(found.annotation.labels())
    assert found.voices.centroids.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found.voices.centroids, axis=1), 1, atol=1e-6)


def test_a_reference_changes_nothing_elsewhere(diarizer: Diarizer, talk: Path) -> None:
    reference = Annotation()
    reference[Segment(1, 6)] = "x"
    assert not diarizer.needs_reference
    assert turns_of(diarizer(talk, reference=reference)) == turns_of(diarizer(talk))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"backend": "kmeans"}, "there is no backend 'kmeans'"),
        ({"min_speakers": 3, "max_speakers": 2}, "min_speakers=3 is more than max_speakers=2"),
        ({"n_speakers": 0}, "n_speakers must be"),
        ({"max_set_size": 0}, "max_set_size must be"),
        ({"params": {"restarts": 3}}, "has no option 'restarts'"),
        ({"window": 0.1}, "window lies between 0.5 and 5.0 s, not at 0.1"),
        ({"step": float("nan")}, "step lies between 0.05 and 2.0 s, not at nan"),
        ({"device": "tpu"}, "device tpu: not one of auto, cpu, cuda"),
        ({"model": "gmm"}, "gmm: no such model"),
    ],
)
def test_options_are_checked_before_audio_is_read(
    diarizer: Diarizer, options: dict[str, Any], reason: str
) -> None:
    for name, value in options.items():
        setattr(diarizer, name, value)
    with pytest.raises(ValueError, match=reason):
        diarizer("missing.wav")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("backend", "nobody", "there is no backend 'nobody'"),
        ("backend", None, "there is no backend None"),
        ("n_speakers", 0, "n_speakers must be"),
        ("params", {"restarts": 3}, "has no option 'restarts'"),
        ("params", {"n_speakers": 2}, "has no option 'n_speakers'; params has count_penalty"),
        ("params", None, "params is a mapping from names to values, not NoneType"),
        ("seed", -1, "must be a seed or a generator, got -1"),
        ("window", "2", "window lies between 0.5 and 5.0 s, not at '2'"),
        ("known_threshold", 1.5, "known_threshold lies between 0 and 1, not at 1.5"),
        ("model", None, "model is a name or a path, not NoneType"),
        ("timeline", {}, "timeline is a TimelineOptions, not dict"),
        ("cache", 3, "cache is a folder, a Cache or None, not int"),
        ("activity", "silero", "activity is a detector, .* not 'silero'"),
        ("activity", SileroActivity, "activity is a detector, .*SileroActivity'>"),
        ("activity", np.zeros((2, 3)), "regions of speech are pairs"),
    ],
)
def test_all_options_are_checked_beforehand(
    diarizer: Diarizer, name: str, value: object, reason: str
) -> None:
    setattr(diarizer, name, value)
    with pytest.raises(InputError, match=reason):
        diarizer.prepare()


def test_windows_and_what_is_sure_are_those_of_the_model(
    diarizer: Diarizer, talk: Path, tmp_path: Path
) -> None:
    diarizer.n_speakers = 1  # of whom nothing is in doubt
    usual, usual_cells = diarizer.diarize(talk), len(diarizer.embed(talk).cells)
    assert usual.windows == 24
    model = load_model(diarizer.model)
    model.knowledge = Knowledge(step=1.0, fine_step=0.4, slope=0.0, offset=0.0)
    path = tmp_path / "other.safetensors"
    save_model(model, path)
    other = replace(diarizer, model=path, counts=False)  # no network hears turns
    found = other.diarize(talk)
    assert found.windows == 12
    assert len(other.embed(talk).cells) == usual_cells / 2
    assert set(found.confidence.values()) == {0.5} != set(usual.confidence.values())
    assert replace(other, step=0.25).diarize(talk).windows == 48  # what is asked for rules


def test_voices_are_known_at_the_threshold_of_the_model(
    diarizer: Diarizer, talk: Path, tmp_path: Path
) -> None:
    heard = diarizer.diarize(talk).voices
    known = Voiceprints(tuple(f"n{i}" for i in range(len(heard.names))), heard.centroids)
    assert set(diarizer.diarize(talk, known=known).voices.names) == set(known.names)
    model = load_model(diarizer.model)
    model.knowledge = Knowledge(likeness=Likeness(known=0.9999999))
    save_model(model, tmp_path / "other.safetensors")
    strict = replace(diarizer, model=tmp_path / "other.safetensors")
    assert strict.diarize(talk, known=known).voices.names == heard.names


def test_corrections_mean_the_numbers_that_there_are_without_known_voices(
    diarizer: Diarizer, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diarizer.n_speakers, called = 3, {"SPEAKER_01": "anna"}
    heard = diarizer.diarize(talk)
    known = Voiceprints(("anna",), heard.voices.centroids[1:2])
    monkeypatch.setattr("diarize.timeline.decoding.identify", lambda *_: called)
    found = diarizer.diarize(talk, known=known)
    assert turns_of(found.annotation) == turns_of(heard.renamed(called).annotation)
    told = Annotation(uri="talk")
    told[Segment(1, 2), "a"] = "!SPEAKER_00"
    told[Segment(1, 2), "b"] = "SPEAKER_01"
    told[Segment(3, 4), "c"] = "ONLY:SPEAKER_02"
    without = diarizer.diarize(talk, corrections=told)
    corrected = diarizer.diarize(talk, corrections=told, known=known)
    assert turns_of(corrected.annotation) == turns_of(without.renamed(called).annotation)
    same = [(match.speaker, match.voice) for match in corrected.matches if match.same]
    assert same == [("anna", "anna")]


def test_who_is_known_is_told_of_the_corrected_result(diarizer: Diarizer, talk: Path) -> None:
    diarizer.n_speakers = 1
    known = Voiceprints(("anna",), diarizer.diarize(talk).voices.centroids)
    (match,) = diarizer.diarize(talk, known=known).matches
    assert (match.speaker, match.same) == ("anna", True)
    told = Annotation(uri="talk")
    told[Segment(0, 12), "a"] = "ONLY:carl"
    corrected = diarizer.diarize(talk, corrections=told, known=known)
    assert corrected.voices.names == ("carl",)
    assert corrected.matches == ()


def test_the_model_is_loaded_once(diarizer: Diarizer, talk: Path) -> None:
    loaded = diarizer.knowledge
    diarizer.seed = 1
    diarizer(open_recording(talk, end=2.0))
    assert diarizer.knowledge is loaded
    diarizer.model = "lstm-compositional"
    diarizer.prepare()
    assert diarizer.knowledge is not loaded


def test_weights_that_replace_others_are_loaded(
    diarizer: Diarizer, tiny_weights: Path, talk: Path, tmp_path: Path
) -> None:
    diarizer.model = tmp_path / "model.safetensors"
    diarizer.model.write_bytes(tiny_weights.read_bytes())
    diarizer.cache = Cache(tmp_path / "cache")
    diarizer.prepare()
    other = load_model(tiny_weights)
    for parameter in other.encode.parameters():
        parameter.neg_()
    save_model(other, diarizer.model)
    fresh = replace(diarizer, cache=None)
    recording = open_recording(talk, end=3.0)
    assert np.array_equal(diarizer.embed(recording).coarse, fresh.embed(recording).coarse)


@pytest.mark.parametrize(
    "modes", [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16)]
)
def test_what_the_caller_has_made_of_torch_changes_nothing(
    tiny_weights: Path, talk: Path, modes: Callable[[], Any]
) -> None:
    recording = open_recording(talk, end=6.0)
    with modes():
        found = Diarizer(model=tiny_weights, device="cpu")(recording)
    assert turns_of(found) == turns_of(Diarizer(model=tiny_weights, device="cpu")(recording))


def test_a_cache_saves_the_front_end_and_changes_nothing(
    tiny_weights: Path, talk: Path, tmp_path: Path
) -> None:
    plain = Diarizer(model=tiny_weights, device="cpu")
    kept = replace(plain, cache=Cache(tmp_path))
    whole_file = open_recording(talk, end=6.0)
    expected = turns_of(plain(whole_file))

    def embeds(diarizer: Diarizer, audio: Any) -> bool:
        steps: list[str] = []
        found = turns_of(diarizer(audio, lambda step, done, total: steps.append(step)))
        if audio is whole_file and diarizer.backend == "ckm" and diarizer.step is None:
            assert found == expected
        return "embedding" in steps

    assert embeds(kept, whole_file) and not embeds(kept, whole_file)
    for same in (tmp_path, str(tmp_path)):
        assert not embeds(replace(kept, cache=same), whole_file)
    other = replace(kept, backend="ac")
    assert turns_of(other(whole_file)) == turns_of(replace(plain, backend="ac")(whole_file))
    assert not embeds(other, whole_file)
    # Another part, another step, other sound or another model is another matter.
    assert embeds(kept, open_recording(talk, end=5.0))
    assert embeds(replace(kept, step=0.4), whole_file)
    assert embeds(kept, (np.sin(np.arange(32_000) ** 1.5), 16_000))
    weights = tmp_path / "other.safetensors"
    weights.write_bytes(tiny_weights.read_bytes())
    assert not embeds(replace(kept, model=weights), whole_file)  # another name, the same weights


@pytest.mark.needs_speech
def test_two_who_telephone_are_two_whatever_the_backend(shared_dir: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for name in ("auto_repairs_40", "transcript_connector"):
        path = shared_dir / "meetings" / "calls" / f"{name}.flac"
        for backend in ("ckm", "gcr", "cap", "links", "ac", "ap", "fcm", "gmm", "ca", "forest"):
            diarizer = Diarizer(backend=backend, cache=cache)
            assert len(diarizer(path).labels()) == 2, backend
        assert len(Diarizer(backend="dpgmm", cache=cache)(path).labels()) in (2, 3)
