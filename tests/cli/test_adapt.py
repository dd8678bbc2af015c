"""`diarize adapt`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from diarize.audio import Recording
from diarize.embedding import Knowledge, load_model, save_model
from diarize.training import adaptation
from diarize.training.single_speaker import SingleSpeakerSpeech, read_spans

Cli = Callable[..., Any]


@pytest.fixture(autouse=True)
def _two_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a model that has learned nothing cannot find: who speaks in the first 12 seconds."""

    def alone(recording: Recording, *_: Any) -> SingleSpeakerSpeech:
        spans = [[(1.0, 3.0), (3.0, 5.0)], [(6.5, 8.5), (9.0, 11.0)]]
        return SingleSpeakerSpeech(recording.uri, tuple(map(tuple, read_spans(recording, spans))))

    monkeypatch.setattr(adaptation, "single_speaker_speech", alone)


@pytest.fixture
def tiny_weights(tiny_weights: Path, tmp_path: Path) -> Path:
    """Weights of which something is known."""
    model = load_model(tiny_weights)
    model.knowledge = Knowledge(slope=5.0)
    save_model(model, tmp_path / "tiny.safetensors")
    return tmp_path / "tiny.safetensors"


def adapt(cli: Cli, talk: Path, model: Path, out: Path, *more: object) -> Any:
    options = ["--backend", "ac", "--model", model, "--out", out]
    return cli("adapt", talk, *options, *more)


def test_an_adapted_model_that_run_takes(
    cli: Cli, talk: Path, tiny_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adaptation, "surely_better", lambda before, after: False)
    out = tmp_path / "mine.safetensors"
    result = adapt(cli, talk, tiny_weights, out)
    assert result.status == 0, result.err
    assert result.out == ""
    assert "aligned: the sound was moved by" in result.err
    assert "of 2 speakers, 0.1 minutes" in result.err
    assert "expected: " in result.err
    assert f"the adapted model is in {out}" in result.err
    assert load_model(out).config == load_model(tiny_weights).config
    assert load_model(out).knowledge == load_model(tiny_weights).knowledge != Knowledge()
    begin, end = (load_model(path).state_dict() for path in (tiny_weights, out))
    changed = [name for name, value in begin.items() if not torch.equal(value, end[name])]
    assert changed == ["encode.lstm.weight_ih_l0"]
    assert cli("run", talk, "--backend", "ac", "--model", out).status == 0
    again = tmp_path / "again.safetensors"
    assert adapt(cli, talk, tiny_weights, again).status == 0
    assert out.read_bytes() == again.read_bytes()


def test_a_recording_of_one_person_teaches_nothing(
    cli: Cli, talk: Path, tiny_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        adaptation, "single_speaker_speech", lambda *_: SingleSpeakerSpeech("talk", ())
    )
    result = adapt(cli, talk, tiny_weights, tmp_path / "same.safetensors")
    assert result.status == 0
    assert "no recording in which two speakers surely speak alone" in result.err
    assert "the adapted model is in" in result.err  # to which the sound was aligned
    monkeypatch.setattr(adaptation, "covariance_of", lambda _: None)
    result = adapt(cli, talk, tiny_weights, tmp_path / "same.safetensors")
    assert "note: not aligned: there is no second of speech to measure\n" in result.err
    assert "the unchanged model is in" in result.err


def test_an_alignment_that_does_not_help_is_told_so(
    cli: Cli, talk: Path, tiny_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the model that one began with were better than the aligned one.
    monkeypatch.setattr(adaptation, "surely_better", lambda before, after: True)
    result = adapt(cli, talk, tiny_weights, tmp_path / "same.safetensors")
    assert "note: not aligned: by the first pass, windows were told apart worse after it\n" in (
        result.err
    )


def test_a_folder_stands_for_its_recordings(
    cli: Cli, talk: Path, tiny_weights: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "recordings"
    folder.mkdir()
    (folder / "talk.wav").hardlink_to(talk)
    out = tmp_path / "mine.safetensors"
    assert "of 2 speakers, 0.1 minutes" in adapt(cli, folder, tiny_weights, out).err
    empty = tmp_path / "empty"
    empty.mkdir()
    adapt(cli, empty, tiny_weights, out).assert_refused("without recordings")
    adapt(cli, empty, tiny_weights, out, talk).assert_refused("without recordings")


def test_what_cannot_be_used_is_refused(
    cli: Cli, talk: Path, tiny_weights: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.safetensors"
    adapt(cli, tmp_path / "no.wav", tiny_weights, out).assert_refused("no.wav")
    adapt(cli, talk, tmp_path / "no.model", out).assert_refused("no.model")
    adapt(cli, talk, tiny_weights, tmp_path / "no" / "out").assert_refused("no/out")
    adapt(cli, talk, tiny_weights, talk).assert_refused("is the recording")
    adapt(cli, talk, tiny_weights, tmp_path / "m.onnx").assert_refused("ends in .safetensors")
    adapt(cli, talk, tiny_weights, out, "--backend", "oracle").assert_refused("true turns")
    assert not out.exists()
