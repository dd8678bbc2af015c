"""Files, folders, lists and patterns as inputs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from diarize.cli.gather import Entry, gather, require_distinct
from diarize.errors import InputError

FILES = (
    "a.wav", "b.FLAC", "notes.pdf", ".hidden.wav", "one/a.wav", "one/deep/c.mp3", ".git/d.wav",
    "two/x y.ogg",
)  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in FILES:
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def places(entries: Iterable[Entry]) -> list[str]:
    return [entry.place for entry in entries]


def test_a_folder_is_every_recording_below_it(tree: Path) -> None:
    entries = gather(["in"])
    assert places(entries) == ["a", "b", "one/a", "one/deep/c", "two/x_y"]
    assert [Path(entry.source) for entry in entries][2] == Path("in/one/a.wav")
    assert places(gather(["in/one/", "in/b.FLAC"])) == ["a", "deep/c", "b"]


def test_what_the_run_writes_is_no_input(tree: Path) -> None:
    assert places(gather(["in"], besides=tree / "in" / "one")) == ["a", "b", "two/x_y"]


def test_a_folder_without_recordings_is_refused(tree: Path) -> None:
    (tree / "none").mkdir()
    with pytest.raises(InputError, match=r"^none: is a folder without recordings"):
        gather(["none"])


def test_one_of_several_that_stands_for_nothing_stops_no_others(tree: Path) -> None:
    (tree / "none").mkdir()
    (tree / "in" / "one.none").mkdir()
    (tree / "x.lst").touch()
    entries = gather(["in/a.wav", "none", "no*.wav", "x.lst", "in/b.FLAC", "in/o*"])
    problems = {entry.source: entry.problem for entry in entries if entry.problem}
    assert list(problems) == ["none", "no*.wav", "x.lst", "in/one.none"]
    assert problems["none"].startswith("none: is a folder without recordings")
    assert problems["no*.wav"] == "no*.wav: nothing matches this pattern"
    assert places(entry for entry in entries if not entry.problem) == ["a", "b", "a", "deep/c"]
    require_distinct([Entry("a", problem="a: is empty"), Entry("a.wav")], "they would be one")


def test_patterns_that_the_shell_left_alone(tree: Path) -> None:
    assert places(gather(["in/*.wav"])) == ["a"]
    assert places(gather(["in/**/?.mp3", "in/[ab].*"])) == ["c", "a", "b"]
    assert places(gather(["in/o*"])) == ["a", "deep/c"]  # as if the shell had expanded it
    with pytest.raises(InputError, match=r"^in/\*\.aac: nothing matches"):
        gather(["in/*.aac"])
    (tree / "in" / "[ab].wav").touch()
    assert places(gather(["in/[ab].wav"])) == ["[ab]"]


def test_a_list(tree: Path) -> None:
    path = tree / "in" / "some.lst"
    path.write_text(f"# of two\n\none/a.wav  # good\n x#1.wav \n../in/a.wav\n{tree}/q.wav\n")
    entries = gather(["in/some.lst"])
    assert places(entries) == ["one/a", "x#1", "a", "q"]
    assert entries[0].source == str(Path("in/one/a.wav"))
    assert entries[3].source == f"{tree}/q.wav"


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"# nothing\n", "lists no recording"), (b"\xff\xfe", "not UTF-8"), (None, "no such file")],
)
def test_a_list_that_cannot_be_used(tree: Path, content: bytes | None, reason: str) -> None:
    if content is not None:
        (tree / "x.txt").write_bytes(content)
    with pytest.raises(InputError, match=rf"^x.txt: .*{reason}"):
        gather(["x.txt"])


def test_files_are_taken_as_they_are() -> None:
    assert gather(["-", "missing.wav", "talk.unknown"]) == [
        Entry("-"),
        Entry("missing.wav"),
        Entry("talk.unknown"),
    ]


def test_recordings_of_one_name() -> None:
    entries = [Entry("in/a.wav"), Entry("in/one/a.wav", "one")]
    require_distinct(entries, "too many", by_place=True)
    with pytest.raises(InputError, match=r"^two inputs are named a: too many$"):
        require_distinct(entries, "too many")
    with pytest.raises(InputError, match=r"^two inputs are named one/a: too many$"):
        require_distinct([*entries, Entry("one/a.flac", "one")], "too many", by_place=True)
