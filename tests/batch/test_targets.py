"""Where results go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from diarize.batch.jobs import Job
from diarize.batch.targets import Targets
from diarize.errors import InputError


def resolve(
    out: object,
    inputs: Sequence[str] = ("talk.wav",),
    formats: Sequence[str] | None = ("rttm",),
    several: bool = False,
    clips: Path | None = None,
) -> Targets:
    entries = [Job(source) for source in inputs]
    return Targets.resolve(str(out), entries, formats, several=several, clips=clips)


def written(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_standard_output() -> None:
    for targets in (resolve("-"), resolve("-", ["a.wav", "b.wav"], several=True)):
        assert targets.printed
        assert targets.write("talk", {"rttm": "turns\n"}) == []


@pytest.mark.parametrize(
    ("out", "options", "path"),
    [
        ("x.txt", {}, "x.txt"),
        ("there", {}, "there/talk.rttm"),
        ("new/", {}, "new/talk.rttm"),
        ("new/deep", {"several": True}, "new/deep/talk.rttm"),
        ("new.rttm", {"several": True}, "new.rttm/talk.rttm"),
        ("new", {"inputs": ["talk.wav", "b.wav"], "several": True}, "new/talk.rttm"),
    ],
)
def test_a_file_or_a_folder(
    tmp_path: Path, out: str, options: dict[str, object], path: str
) -> None:
    (tmp_path / "there").mkdir()
    targets = resolve(f"{tmp_path}/{out}", **options)
    assert written(tmp_path) == {}  # nothing is made before there is a result
    targets.write("talk", {"rttm": "turns\n"})
    assert written(tmp_path) == {path: "turns\n"}


@pytest.mark.parametrize("name", ["x.pdf", "x.docx", "x.tex", "x.1"])
def test_an_ending_that_nobody_knows_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: no format ends in \..*, but in \.rttm, \.json"):
        resolve(tmp_path / name, formats=None)
    assert resolve(tmp_path / name, formats=["csv"]).formats == ["csv"]  # who says so may
    with pytest.raises(InputError, match=rf"{name}: a web page ends in \.html"):
        Targets.resolve("-", [Job("a.wav")], None, several=False, report=str(tmp_path / name))
    assert written(tmp_path) == {}


def test_several_formats_need_a_folder(tmp_path: Path) -> None:
    targets = resolve(tmp_path / "out", formats=["json", "rttm", "json"])
    assert targets.formats == ["json", "rttm"]
    targets.write("talk", {"json": "{}", "rttm": "turns\n"})
    assert written(tmp_path / "out") == {"talk.json": "{}", "talk.rttm": "turns\n"}
    with pytest.raises(InputError, match=r"^several formats need --out FOLDER$"):
        resolve("-", formats=["json", "rttm"])


def test_several_recordings_follow_each_other_only_where_turns_name_them() -> None:
    for name in ("rttm", "json", "csv", "tsv", "uem"):
        assert resolve("-", formats=[name], several=True).printed
    for name in ("textgrid", "eaf", "audacity", "srt", "vtt"):
        assert resolve("-", formats=[name]).printed
        with pytest.raises(InputError, match=f"^several recordings as {name} need --out FOLDER$"):
            resolve("-", formats=[name], several=True)


def test_an_older_result_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "x.rttm").write_text("old\n")
    resolve(tmp_path / "x.rttm").write("talk", {"rttm": "new\n"})
    assert written(tmp_path) == {"x.rttm": "new\n"}


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(InputError, match=r"no/x.rttm: No such file or directory"):
        resolve(tmp_path / "no" / "x.rttm")
    with pytest.raises(InputError, match=r"file/x.rttm: Not a directory"):
        resolve(file / "x.rttm")
    with pytest.raises(InputError, match=r"file: a file, but a folder is needed"):
        resolve(file, several=True)
    with pytest.raises(InputError, match=r"file/new: Not a directory"):
        resolve(file / "new", several=True)
    assert written(tmp_path) == {"file": "mine"}


def test_the_recording_is_not_replaced(tmp_path: Path) -> None:
    recording = tmp_path / "talk.wav"
    recording.write_bytes(b"sound")
    with pytest.raises(InputError, match=r"is the recording"):
        resolve(tmp_path / "." / "talk.wav", [str(recording)])
    assert recording.read_bytes() == b"sound"


@pytest.mark.parametrize(
    "inputs", [["a/talk.wav", "b/talk.flac"], ["a b.wav", "a_b.wav"], ["-", "-"]]
)
def test_two_inputs_of_one_name_are_refused(inputs: list[str]) -> None:
    with pytest.raises(InputError, match=r"^two inputs are named (talk|a_b|stdin), \S.* and "):
        resolve("-", inputs, several=True)


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(InputError, match=r"^format doc: not one of rttm, json, "):
        resolve("-", formats=["doc"])


def test_the_ending_of_a_file_says_the_format(tmp_path: Path) -> None:
    (tmp_path / "folder.srt").mkdir()
    for out, several, formats in (
        ("x.json", False, ["json"]),
        ("x.TextGrid", False, ["textgrid"]),
        ("x.txt", False, ["audacity"]),
        ("x", False, ["rttm"]),
        ("folder.srt", False, ["rttm"]),
        ("x.json", True, ["rttm"]),
    ):
        assert resolve(tmp_path / out, formats=None, several=several).formats == formats
    assert resolve(tmp_path / "x.json", formats=["srt"]).formats == ["srt"]
    assert resolve("-", formats=None).formats == ["rttm"]


def test_files_have_the_suffix_of_their_format(tmp_path: Path) -> None:
    targets = resolve(tmp_path, formats=["textgrid", "audacity"])
    targets.write("talk", {"textgrid": "a\n", "audacity": "b\n"})
    assert written(tmp_path) == {"talk.TextGrid": "a\n", "talk.txt": "b\n"}


def test_clips_of_several_recordings_have_a_folder_each(tmp_path: Path) -> None:
    assert resolve("-").clips_of("talk") is None
    assert resolve("-", clips=tmp_path / "c").clips_of("talk") == tmp_path / "c"
    assert resolve("-", several=True, clips=tmp_path).clips_of("talk") == tmp_path / "talk"
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file: a file, but a folder is needed"):
        resolve("-", clips=tmp_path / "file")


def test_what_is_made_by_hand_is_checked() -> None:
    targets = Targets(folder="out", formats="json", clips="c", pages="p")
    assert targets.home("sub/talk") == Path("out/sub")
    assert (targets.clips_of("talk"), targets.page_of("a/b")) == (Path("c"), Path("p/a/b.html"))
    assert (list(targets.formats), Targets(page="x.html").page_of("")) == (["json"], Path("x.html"))
    for wrong, reason in (
        ({"formats": ["mp3"]}, "format mp3: not one of rttm, json, "),
        ({"formats": []}, "formats: at least one is needed"),
        ({"file": "x", "folder": "y"}, "x: is one file, but results are for a folder as well"),
        ({"file": "x", "formats": ["rttm", "csv"]}, "x: is one file, but results are for several"),
    ):
        with pytest.raises(InputError, match=f"^{reason}"):
            Targets(**wrong)
    assert Targets(file="x", formats="csv").write("talk", {}) == []


@pytest.mark.parametrize("place", ["file", "page", "clips"])
def test_a_place_for_one_recording_holds_no_more(place: str) -> None:
    targets = Targets(**{place: "x"})
    targets.require_space(False)
    with pytest.raises(InputError, match=r"^x: is for one recording, but there are several$"):
        targets.require_space(True)
    Targets(folder="x", clips="c", pages="p", several=True).require_space(True)
