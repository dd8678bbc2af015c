"""`diarize run`: what it writes, where, and what its help says."""

from __future__ import annotations

import inspect
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
import soundfile
import typer

import diarize.cli.run as module
from diarize.activity import SileroActivity
from diarize.cli import run_command
from diarize.clustering.base import MAX_SPEAKERS
from diarize.formats import read_rttm
from diarize.pipeline import STEPS, WINDOWS, Diarizer
from diarize.timeline import TimelineOptions

RATE = 16_000
Run = Callable[..., Any]  # the fixture `run`
TALK = """\
SPEAKER talk 1 1.000 4.590 <NA> <NA> anna <NA> <NA>
SPEAKER talk 1 6.259 5.700 <NA> <NA> ben <NA> <NA>
SPEAKER talk 1 11.159 0.800 <NA> <NA> carl <NA> <NA>
"""


def test_a_result_on_standard_output_and_all_else_on_standard_error(run: Run, talk: Path) -> None:
    result = run(talk)
    assert result.status == 0
    assert set(read_rttm(io.StringIO(result.out))) == {"talk"}
    assert "SPEAKER_00" in result.err
    assert "real-time factor" in result.err
    assert result.err.rstrip().endswith("on cpu")


def test_one_seed_gives_the_same_bytes(run: Run, repo_root: Path, tmp_path: Path) -> None:
    example = repo_root / "egs" / "conversation.ogg"
    for name in ("once", "again"):
        options = ["--end", 20, "--seed", 3, "--format", "rttm", "--format", "json"]
        result = run(example, *options, "--out", tmp_path / name, model="lstm-compositional")
        assert result.status == 0
    for suffix in ("rttm", "json"):
        once, again = (tmp_path / f / f"conversation.{suffix}" for f in ("once", "again"))
        assert once.read_bytes() == again.read_bytes()
        assert len(once.read_bytes()) > 100


def test_several_formats_go_into_a_folder(run: Run, talk: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "results"
    result = run(talk, "--format", "rttm", "--format", "json", "--out", out, "-p", "n_restarts=2")
    assert result.status == 0
    assert sorted(path.name for path in out.iterdir()) == ["talk.json", "talk.rttm"]
    content = json.loads((out / "talk.json").read_text())
    assert content["options"]["backend"] == "ckm"
    assert content["options"]["n_restarts"] == 2
    assert len(content["turns"]) == len((out / "talk.rttm").read_text().splitlines())


def test_a_failing_input_does_not_stop_the_others(
    run: Run, talk: Path, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    tone = write_tone("tone.wav")
    out = tmp_path / "out"
    result = run("missing.wav", talk, "text.wav", tone, "--vad", "none", "--out", out)
    assert result.status == 1
    assert result.out == ""
    assert sorted(path.name for path in out.iterdir()) == ["talk.rttm", "tone.rttm"]
    errors = [line for line in result.err.splitlines() if line.startswith("diarize: error: ")]
    assert errors == [
        "diarize: error: missing.wav: no such file",
        "diarize: error: text.wav: no such file",
        "diarize: error: 2 of 4 failed: missing.wav, text.wav",
    ]


def test_whatever_goes_wrong_with_an_input_does_not_stop_the_others(
    run: Run, talk: Path, write_tone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    diarize_one = Diarizer.diarize

    def fail(self: Diarizer, audio: object, *rest: object, **more: object) -> object:
        if audio.uri == "talk":
            raise RuntimeError("out of\nmemory")
        return diarize_one(self, audio, *rest, **more)

    monkeypatch.setattr(Diarizer, "diarize", fail)
    result = run(talk, write_tone("tone.wav"), "--vad", "none")
    assert result.status == 1
    assert "diarize: error: RuntimeError: out of memory\n" in result.err
    assert f"diarize: error: 1 of 2 failed: {talk}\n" in result.err
    assert result.out.startswith("SPEAKER tone 1 ")


def test_a_full_disk(run: Run, talk: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    result = run(talk, "--vad", "none", "--out", "/dev/full")
    assert result.status == 1
    assert result.out == ""
    assert result.err == "diarize: error: /dev/full: No space left on device\n"


def test_the_model_is_loaded_once(
    run: Run, talk: Path, write_tone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import diarize.embedding

    load, loaded = diarize.embedding.load_model, []

    def count(name: object, device: str = "cpu") -> object:
        loaded.append(name)
        return load(name, device)

    monkeypatch.setattr(diarize.embedding, "load_model", count)
    assert run(talk, write_tone(), "--vad", "none").status == 0
    assert len(loaded) == 1


def test_each_channel_as_its_own_recording(run: Run, talk: Path, tmp_path: Path) -> None:
    samples, _ = soundfile.read(talk)
    path = tmp_path / "two ears.wav"
    soundfile.write(path, np.stack([samples, np.zeros_like(samples)], axis=1), RATE)
    result = run(path, "--channels", "separate", "--out", tmp_path / "out")
    assert result.status == 0
    left, right = sorted((tmp_path / "out").iterdir())
    assert (left.name, right.name) == ("two_ears_channel1.rttm", "two_ears_channel2.rttm")
    assert set(read_rttm(left)) == {"two_ears_channel1"}
    assert right.read_bytes() == b""
    assert f"diarize: note: {path}: no speech found" in result.err


def test_standard_input(run: Run, talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(talk.read_bytes())))
    result = run("-", "--vad", "none", "--num-speakers", 1)
    assert result.out == "SPEAKER stdin 1 0.000 12.000 <NA> <NA> SPEAKER_00 <NA> <NA>\n"


def test_a_part_keeps_the_times_of_the_file(run: Run, talk: Path) -> None:
    part = ["--start", 7, "--end", 9.5]
    result = run(talk, "--vad", "none", "--num-speakers", 1, *part)
    assert result.out == "SPEAKER talk 1 7.000 2.500 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
    assert "in 2.5 s" in result.err
    run(talk, "--start", 13).assert_refused(
        talk, "start is 13 s, but the recording ends at 12.000 s"
    )
    run(talk, "--start", 3, "--end", 2).assert_refused(talk, "the part ends at 2 s")


def test_speech_as_a_file_says(run: Run, talk: Path, tmp_path: Path) -> None:
    given = tmp_path / "any.rttm"
    given.write_text("SPEAKER x 1 2.0 3.0 <NA> <NA> a <NA> <NA>\n")
    result = run(talk, "--vad", given, "--num-speakers", 1)  # the only turns there are
    assert result.out == "SPEAKER talk 1 2.000 3.000 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
    given.write_text("")
    result = run(talk, "--vad", given)
    assert (result.status, result.out) == (0, "")
    assert "no speech found" in result.err


def test_speech_of_several_recordings_as_a_file_says(
    run: Run, talk: Path, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    given = tmp_path / "some.rttm"
    given.write_text("SPEAKER tone 1 0.2 0.3 <NA> <NA> a <NA> <NA>\n")
    result = run(talk, write_tone("tone.wav"), "--vad", given, "--num-speakers", 1)
    assert result.status == 1
    assert result.out == "SPEAKER tone 1 0.200 0.300 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
    assert f"diarize: error: {given}: no turns of talk\n" in result.err


def test_the_oracle_gives_the_reference_back(run: Run, talk: Path, tmp_path: Path) -> None:
    reference = tmp_path / "reference.rttm"
    reference.write_text(TALK)
    options = ["--vad", reference, "--backend", "oracle", "--reference", reference]
    result = run(talk, *options)
    assert result.status == 0
    found, truth = read_rttm(io.StringIO(result.out))["talk"], read_rttm(reference)["talk"]
    assert len(found.labels()) == 3
    # A cell of 0.2 s goes to whoever speaks in its middle.
    for label, true_label in zip(found.labels(), truth.labels(), strict=True):
        assert found.label_duration(label) == pytest.approx(
            truth.label_duration(true_label), abs=0.25
        )


def test_a_reference_is_for_the_oracle_only(run: Run, talk: Path, tmp_path: Path) -> None:
    reference = tmp_path / "reference.rttm"
    reference.write_text(TALK)
    plain = run(talk, "--end", 4)
    told = run(talk, "--end", 4, "--reference", reference)
    assert told.out == plain.out
    assert "diarize: note: backend ckm has no use for --reference\n" in told.err


# The defaults and ranges that help shows are those of the library


def options() -> dict[str, typer.models.OptionInfo]:
    hints = get_type_hints(module.run, include_extras=True)
    return {
        name: hint.__metadata__[0]
        for name, hint in hints.items()
        if name not in {"context", "return"}
    }


def test_defaults_are_those_of_the_library() -> None:
    command = {k: v.default for k, v in inspect.signature(module.run).parameters.items()}
    diarizer = Diarizer()
    library = {
        **{
            name: getattr(diarizer, name)
            for name in (
                "backend",
                "min_speakers",
                "max_speakers",
                "max_set_size",
                "model",
                "device",
                "seed",
                "window",
                "step",
            )
        },
        "num_speakers": diarizer.n_speakers,
        **vars(TimelineOptions()),
        "vad_threshold": SileroActivity().threshold,
        "min_speech": SileroActivity().min_speech,
        "min_silence": SileroActivity().min_silence,
    }
    assert {name: command[name] for name in library} == library


def test_ranges_are_those_of_the_library() -> None:
    for name, limits in (("window", WINDOWS), ("step", STEPS)):
        assert (options()[name].min, options()[name].max) == limits
    assert options()["max_speakers"].show_default == str(MAX_SPEAKERS)


def test_help_gives_every_default(capsys: pytest.CaptureFixture[str]) -> None:
    defaults = {k: v.default for k, v in inspect.signature(module.run).parameters.items()}
    for name, option in options().items():
        if name not in {"audio", "param", "preset", "reference"}:
            assert defaults[name] is not None or isinstance(option.show_default, str), name
    assert run_command(["run", "--help"]) == 0
    shown = capsys.readouterr().out  # its layout depends on the version of Typer
    for text in ("default: 2.0", "0.5<=x<=5.0", "default: 0.4", "0.0<=x<=1.0", "(inferred)"):
        assert text in shown
