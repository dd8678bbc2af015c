"""Files, folders, lists and patterns as inputs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from diarize.audio import open_recording
from diarize.batch.jobs import (
    Job,
    find_jobs,
    name_of,
    open_recordings,
    require_distinct,
    require_files,
)
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


def places(entries: Iterable[Job]) -> list[str]:
    return [entry.place for entry in entries]


def test_a_folder_is_every_recording_below_it(tree: Path) -> None:
    entries = find_jobs(["in"])
    assert places(entries) == ["a", "b", "one/a", "one/deep/c", "two/x_y"]
    assert [Path(entry.source) for entry in entries][2] == Path("in/one/a.wav")
    assert places(find_jobs(["in/one/", "in/b.FLAC"])) == ["a", "deep/c", "b"]


def test_a_single_argument_and_paths_are_taken(tree: Path) -> None:
    assert places(find_jobs("in/one")) == places(find_jobs(Path("in/one"))) == ["a", "deep/c"]
    paths = (Path("in", name) for name in ("a.wav", "one"))
    assert find_jobs(paths, besides="in/one/deep") == [Job("in/a.wav"), Job("in/one/a.wav")]


def test_paths_are_told_as_they_were_asked_for(tree: Path) -> None:
    for asked, source in (
        ("./in/two", "./in/two/x y.ogg"),
        ("in/two/", "in/two/x y.ogg"),
        ("in//two", "in//two/x y.ogg"),
        ("in/one/../two", "in/one/../two/x y.ogg"),
    ):
        assert [job.source for job in find_jobs([asked])] == [source]


def test_what_is_no_file_is_passed_over(tree: Path) -> None:
    (tree / "in" / "two" / "take.wav").mkdir()
    os.mkfifo(tree / "in" / "two" / "pipe.wav")
    (tree / "in" / "two" / "gone.wav").symlink_to(tree / "nowhere")  # is told when it is opened
    assert places(find_jobs(["in/two"])) == ["gone", "x_y"]


def test_folders_that_are_linked_are_looked_into_once(tree: Path) -> None:
    (tree / "other" / "deep").mkdir(parents=True)
    (tree / "other" / "deep" / "c.wav").write_bytes(b"")
    (tree / "in" / "link").symlink_to(tree / "other")
    (tree / "other" / "back").symlink_to(tree / "in")
    (tree / "in" / "again").symlink_to(tree / "in" / "two")  # whose files are found there
    without = places(find_jobs(["in"], besides=tree / "other"))
    assert sorted(places(find_jobs(["in"]))) == sorted([*without, "link/deep/c"])


def test_what_the_run_writes_is_no_input(tree: Path) -> None:
    assert places(find_jobs(["in"], besides=tree / "in" / "one")) == ["a", "b", "two/x_y"]


def test_a_folder_without_recordings_is_refused(tree: Path) -> None:
    (tree / "none").mkdir()
    with pytest.raises(InputError, match=r"^none: is a folder without recordings"):
        find_jobs(["none"])


def test_one_of_several_that_stands_for_nothing_stops_no_others(tree: Path) -> None:
    (tree / "none").mkdir()
    (tree / "in" / "one.none").mkdir()
    (tree / "x.lst").touch()
    entries = find_jobs(["in/a.wav", "none", "no*.wav", "x.lst", "in/b.FLAC", "in/o*"])
    problems = {entry.source: entry.problem for entry in entries if entry.problem}
    assert list(problems) == ["none", "no*.wav", "x.lst", "in/one.none"]
    assert problems["none"].startswith("none: is a folder without recordings")
    assert problems["no*.wav"] == "no*.wav: nothing matches this pattern"
    assert places(entry for entry in entries if not entry.problem) == ["a", "b", "a", "deep/c"]
    require_distinct([Job("a", problem="a: is empty"), Job("a.wav")], "they would be one")


def test_patterns_that_the_shell_left_alone(tree: Path) -> None:
    assert places(find_jobs(["in/*.wav"])) == ["a"]
    assert places(find_jobs(["in/**/?.mp3", "in/[ab].*"])) == ["c", "a", "b"]
    assert places(find_jobs(["in/o*"])) == ["a", "deep/c"]  # as if the shell had expanded it
    with pytest.raises(InputError, match=r"^in/\*\.aac: nothing matches"):
        find_jobs(["in/*.aac"])
    (tree / "in" / "[ab].wav").touch()
    assert places(find_jobs(["in/[ab].wav"])) == ["[ab]"]


def test_a_list(tree: Path) -> None:
    path = tree / "in" / "some.lst"
    path.write_text(f"# of two\n\none/a.wav  # good\n x#1.wav \n../in/a.wav\n{tree}/q.wav\n")
    entries = find_jobs(["in/some.lst"])
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
        find_jobs(["x.txt"])


def test_files_are_taken_as_they_are() -> None:
    assert find_jobs(["-", "missing.wav", "talk.unknown"]) == [
        Job("-"),
        Job("missing.wav"),
        Job("talk.unknown"),
    ]


def test_recordings_of_one_name() -> None:
    entries = [Job("in/a.wav"), Job("in/one/a.wav", "one")]
    require_distinct(entries, "too many", by_place=True)
    with pytest.raises(InputError, match=r"^two inputs are named a, in/a\.wav and \S+: too many$"):
        require_distinct(entries, "too many")
    with pytest.raises(InputError, match=r"^two inputs are named one/a, .*: too many$"):
        require_distinct([*entries, Job("one/a.flac", "one")], "too many", by_place=True)


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


def test_processes_need_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^standard input: with -j or --dask all inputs"):
        require_files([Job("a.wav"), Job("-")])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"pipe: with -j or --dask all inputs must be files"):
        require_files([Job(str(tmp_path / "pipe"))])
    require_files([Job(str(tmp_path)), Job("missing.wav")])


def test_what_is_named_twice_is_heard_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.wav", "b.wav"):
        Path(name).touch()
    assert [job.source for job in find_jobs(["*.wav", "a.wav"])] == ["a.wav", "b.wav"]
