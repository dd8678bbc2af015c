"""What is finished in a folder of results."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from diarize.batch.manifest import NAME, Fingerprint, Manifest

PRINT = Fingerprint("a" * 64, "b" * 64, "c" * 64, "1.0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which `one/a` is finished, with a clip elsewhere."""
    out = tmp_path / "out"
    (out / "one").mkdir(parents=True)
    (out / "one" / "a.rttm").write_text("turns\n")
    (tmp_path / "clip.wav").write_bytes(b"sound")
    Manifest(out).add("one/a", PRINT, [out / "one" / "a.rttm", tmp_path / "clip.wav"])
    return out


def test_a_line_for_each_input(folder: Path) -> None:
    (line,) = (folder / NAME).read_text().splitlines()
    assert json.loads(line) == {
        "name": "one/a",
        "input": PRINT.input,
        "options": PRINT.options,
        "model": PRINT.model,
        "version": "1.0",
        "outputs": {
            "one/a.rttm": hashlib.sha256(b"turns\n").hexdigest(),
            "../clip.wav": hashlib.sha256(b"sound").hexdigest(),
        },
    }


def test_what_is_finished_stays_so_as_long_as_nothing_changes(folder: Path) -> None:
    manifest = Manifest(folder)
    assert manifest.knows("one/a") and manifest.holds("one/a", PRINT)
    assert not manifest.holds("one/b", PRINT)
    for part in ("input", "options", "model", "version"):
        assert not manifest.holds("one/a", replace(PRINT, **{part: "x"}))
    clip = folder.parent / "clip.wav"
    clip.write_bytes(b"other")
    assert not manifest.holds("one/a", PRINT)
    clip.write_bytes(b"sound")
    assert manifest.holds("one/a", PRINT)
    (folder / "one" / "a.rttm").unlink()
    assert not manifest.holds("one/a", PRINT)


def test_the_last_line_counts(folder: Path) -> None:
    later = replace(PRINT, options="d" * 64)
    Manifest(folder).add("one/a", later, [])
    assert Manifest(folder).holds("one/a", later)
    assert not Manifest(folder).holds("one/a", PRINT)


@pytest.mark.parametrize("length", [1, 40, -1])
def test_a_torn_line_says_nothing(folder: Path, length: int) -> None:
    path = folder / NAME
    line = path.read_bytes()
    path.write_bytes(line + line.replace(b"one/a", b"two/b")[:length].rstrip(b"\n"))
    Manifest(folder).add("c", PRINT, [])
    names = [name for name in ("one/a", "two/b", "c") if Manifest(folder).knows(name)]
    assert names == (["one/a", "c"] if length > 0 else ["one/a", "two/b", "c"])


@pytest.mark.parametrize("line", ["[]", "7", '{"name": "x"}', '{"name": 1, "outputs": {}}', "\xff"])
def test_other_lines_say_nothing(folder: Path, line: str) -> None:
    with open(folder / NAME, "a", encoding="latin-1") as file:
        file.write(line + "\n")
    assert Manifest(folder).holds("one/a", PRINT)


def test_a_name_of_any_bytes(tmp_path: Path) -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    Manifest(tmp_path).add(name, PRINT, [])
    assert Manifest(tmp_path).holds(name, PRINT)
