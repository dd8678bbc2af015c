"""The turns and corrections that files give for recordings."""

from __future__ import annotations

from pathlib import Path

import pytest

from diarize.batch.annotations import Turns, read_corrections
from diarize.errors import InputError

A = "SPEAKER a 1 0 1 <NA> <NA> x <NA> <NA>\n"
B = "SPEAKER b 1 2 1 <NA> <NA> y <NA> <NA>\n"


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


def test_another_name_is_told_and_a_channel_is_no_other_name(tmp_path: Path) -> None:
    path, notes = tmp_path / "one.rttm", list[str]()
    path.write_text(A)
    for source in ("a.wav", "-", "other.wav"):
        Turns.read(path, [source], notes.append)
    assert notes == [f"{path}: speaks of a alone, which is taken for other"]
    path.write_text(A.replace(" a ", " a_channel1 "))
    turns = Turns.read(path, ["a.wav"], notes.append)
    assert turns.find("a_channel1") is not None and turns.find("a_channel2") is None
    assert len(notes) == 1


def test_a_folder_of_turns(tmp_path: Path) -> None:
    for name, text in (("a", A), ("b", B), ("quiet", "")):
        (tmp_path / f"{name}.rttm").write_text(text)
    turns = Turns.read(tmp_path, ["a.wav", "quiet.wav"])
    assert [turns.of(name).labels() for name in ("a", "b", "quiet")] == [["x"], ["y"], []]


def write(path: Path, *lines: tuple[str, float, float, str]) -> Path:
    path.write_text(
        "".join(f"SPEAKER {u} 1 {b} {e - b} <NA> <NA> {s} <NA> <NA>\n" for u, b, e, s in lines)
    )
    return path


def test_corrections_are_of_the_recordings_they_name(tmp_path: Path) -> None:
    def read(path: Path, *inputs: str) -> Turns:
        return read_corrections(path, inputs, linked=False, note=notes.append)

    notes: list[str] = []
    told = write(tmp_path / "t.rttm", ("a", 1, 3, "anna"), ("b_channel2", 2, 4, "ben"))
    said = read(told, "x/a.wav", "b.wav", "c.wav")
    assert said.find("a").labels() == ["anna"]
    assert said.find("b_channel2").labels() == ["ben"]
    assert said.find("c") is None
    assert notes == []
    assert read(told, "a.wav", "d.wav").find("d") is None
    assert notes == [f"{told}: no input is called b_channel2"]
    with pytest.raises(InputError, match="corrections of a, b_channel2, none of d"):
        read(told, "d.wav")
    single = write(tmp_path / "s.rttm", ("a", 1, 3, "anna"))
    assert read(single, "other.wav").find("other") is not None


def test_numbers_mean_nobody_before_recordings_are_linked(tmp_path: Path) -> None:
    told = write(tmp_path / "t.rttm", ("a", 1, 3, "!SPEAKER_01"))
    with pytest.raises(InputError, match="with --link-speakers nobody has a number"):
        read_corrections(told, ["a.wav", "b.wav"], linked=True, note=print)
