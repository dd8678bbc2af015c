"""Recordings, and the turns that files give for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from diarize.audio import open_recording
from diarize.cli.inputs import Turns, name_of, open_recordings
from diarize.errors import InputError

A = "SPEAKER a 1 0 1 <NA> <NA> x <NA> <NA>\n"
B = "SPEAKER b 1 2 1 <NA> <NA> y <NA> <NA>\n"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("a/b.wav", "b"),
        ("two  words.x.flac", "two__words.x"),
        ("tab\tand é.wav", "tab_and_é"),
        ("-", "stdin"),
    ],
)
def test_names_are_those_of_recordings(
    source: str, name: str, write_tone: Callable[..., Path]
) -> None:
    assert name_of(source) == name
    if source != "-":
        assert open_recording(write_tone(Path(source).name)).uri == name


def test_channels(write_tone: Callable[..., Path]) -> None:
    path = str(write_tone("tone.wav", 1.0, channels=3))
    (mixed,) = open_recordings(path, "mix", 0.5, None)
    assert (mixed.uri, mixed.channel, mixed.duration) == ("tone", None, 0.5)
    separate = list(open_recordings(path, "separate", None, 0.25))
    assert [recording.uri for recording in separate] == [f"tone_channel{n}" for n in (1, 2, 3)]
    assert [recording.channel for recording in separate] == [0, 1, 2]
    assert {recording.duration for recording in separate} == {0.25}


def test_turns_are_found_by_name(tmp_path: Path) -> None:
    path = tmp_path / "both.rttm"
    path.write_text(A + B)
    turns = Turns.read(path, ["a.wav", "b.wav"])
    assert turns.of("a").labels() == ["x"]
    assert turns.of("b_channel2").labels() == ["y"]
    with pytest.raises(InputError, match=r"both.rttm: no turns of c$"):
        turns.of("c")


def test_the_only_turns_are_those_of_the_only_recording(tmp_path: Path) -> None:
    path = tmp_path / "one.rttm"
    path.write_text(A)
    assert Turns.read(path, ["other.wav"]).of("other").labels() == ["x"]
    with pytest.raises(InputError, match=r"no turns of other"):
        Turns.read(path, ["a.wav", "other.wav"]).of("other")
    path.write_text(A + B)
    with pytest.raises(InputError, match=r"no turns of other"):
        Turns.read(path, ["other.wav"]).of("other")


def test_a_folder_of_turns(tmp_path: Path) -> None:
    for name, text in (("a", A), ("b", B), ("quiet", "")):
        (tmp_path / f"{name}.rttm").write_text(text)
    turns = Turns.read(tmp_path, ["a.wav", "quiet.wav"])
    assert [turns.of(name).labels() for name in ("a", "b", "quiet")] == [["x"], ["y"], []]
