"""Options as help shows them, beside the library that they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from diarize import clustering
from diarize.activity.detectors import DETECTORS
from diarize.cli import run_command
from diarize.cli.options import OWN_OPTIONS, require_one_source
from diarize.cli.run_options import RunOptions
from diarize.clustering import BACKENDS
from diarize.clustering.base import MAX_SPEAKERS
from diarize.errors import InputError
from diarize.formats.table import FORMATS
from diarize.pipeline import STEPS, WINDOWS
from diarize.timeline.trellis import TimelineOptions

from .conftest import options_of


def test_the_own_options_are_options_of_the_commands() -> None:
    for command in ("run", "stream"):
        spelled = {"--" + name.replace("_", "-") for name in options_of(command)}
        assert set(OWN_OPTIONS.values()) <= spelled


def test_the_own_options_are_known_to_every_backend() -> None:
    for name in BACKENDS:
        assert OWN_OPTIONS.keys() <= clustering.make(name).get_params().keys()


def test_standard_input_holds_one_thing() -> None:
    require_one_source("A or B, not both", "-", Path("b"), None)
    with pytest.raises(InputError, match=r"^standard input: holds A or B, not both$"):
        require_one_source("A or B, not both", "-", Path("-"), None)


def test_ranges_are_those_of_the_library() -> None:
    for option, limits in ((RunOptions.window, WINDOWS), (RunOptions.step, STEPS)):
        assert (option.min, option.max) == limits
    assert RunOptions.max_speakers.show_default == str(MAX_SPEAKERS)


def test_help_names_the_formats_and_the_detectors() -> None:
    def named(command: str, option: str) -> list[str]:
        return str(options_of(command)[option].metavar).split("|")

    read = [name for name, one in FORMATS.items() if one.read is not None]
    assert named("run", "format") == named("convert", "target_format") == list(FORMATS)
    assert named("convert", "source_format") == read
    assert named("run", "vad")[: len(DETECTORS)] == named("stream", "vad") == list(DETECTORS)


def test_help_gives_every_default(capsys: pytest.CaptureFixture[str]) -> None:
    for name, option in options_of("run").items():
        if name not in {"audio", "param", "preset", "reference", "help"}:
            assert option.default is not None or isinstance(option.show_default, str), name
    assert run_command(["run", "--help"]) == 0
    # Its layout depends on the version of Typer.
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    switch = f"default: {TimelineOptions().switch}"
    for text in ("0.5<=x<=5.0", switch, "0.05<=x<=2.0", "(inferred)"):
        assert text in shown
    assert "that of the model, 2.0" in shown
    assert "0.0<=x<=1.0" not in shown  # no end of it can be given
