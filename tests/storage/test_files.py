"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch

from diarize.errors import InputError
from diarize.storage.files import (
    atomic_output,
    atomic_text,
    file_name,
    file_sha256,
    files_in,
    require_folder,
    require_writable,
    write_npz,
    write_weights,
)
from diarize.storage.weights import CHECKSUM, read_weights, require_whole


@pytest.fixture(params=["without a name", "with a name"], autouse=True)
def nameless(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a file has no name while it is written, as on Linux; both must do the same."""
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
        return False
    if not hasattr(os, "O_TMPFILE"):
        pytest.skip("not on this system")
    return True


def test_appears_only_when_complete(tmp_path: Path) -> None:
    target = tmp_path / "out.rttm"
    with atomic_output(target, "w") as stream:
        stream.write("Zoë\n")
        stream.flush()
        assert not target.exists()
    assert target.read_bytes() == "Zoë\n".encode()
    assert os.listdir(tmp_path) == ["out.rttm"]


def test_a_failure_keeps_the_older_file_and_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out.bin"
    target.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), atomic_output(target) as stream:
        stream.write(b"half")
        raise KeyboardInterrupt
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.bin"]


def test_nothing_is_seen_of_it_meanwhile(tmp_path: Path, nameless: bool) -> None:
    with atomic_output(tmp_path / "out"):
        seen = os.listdir(tmp_path)
    assert all(name.startswith(".out.") for name in seen)
    assert len(seen) == (0 if nameless else 1)


def test_where_a_file_without_a_name_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On some file systems."""
    if hasattr(os, "O_TMPFILE"):
        monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY)
    with atomic_output(tmp_path / "out") as stream:
        stream.write(b"x")
        assert len(os.listdir(tmp_path)) == 1
    assert (tmp_path / "out").read_bytes() == b"x"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # not closed
def test_a_signal_at_any_line_leaves_nothing(tmp_path: Path) -> None:
    """Its handler raises, also between the opening of a file and what is done with it."""
    target = tmp_path / "out"
    lines = ends = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.endswith(os.path.join("storage", "files.py")):
            return None
        if event == "line":
            lines -= 1
            if lines == 0:
                raise SystemExit(143)
        return trace

    for at in range(1, 200):
        lines, before = at, sys.gettrace()
        sys.settrace(trace)
        try:
            with atomic_output(target, "w") as stream:
                stream.write("whole")
        except SystemExit:
            ends += 1
        finally:
            sys.settrace(before)
        assert os.listdir(tmp_path) in ([], ["out"])
        if target.exists():
            assert target.read_text() == "whole"
            target.unlink()
    assert 20 < ends < 199


def test_permissions_follow_the_umask_and_the_older_file(tmp_path: Path) -> None:
    umask = os.umask(0o027)
    try:
        with atomic_output(tmp_path / "new"):
            pass
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o604)
    with atomic_output(tmp_path / "new"):
        pass
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o604


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_output(tmp_path / "link") as stream:
        stream.write(b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"


def test_a_device_stays_a_device() -> None:
    with atomic_output("/dev/null") as stream:
        stream.write(b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    require_writable("/dev/null")


def test_a_long_name(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 255)
    with atomic_output(target) as stream:
        stream.write(b"x")
    assert target.read_bytes() == b"x"


@pytest.mark.parametrize(
    "attempt", [require_writable, lambda path: atomic_output(path).__enter__()]
)
def test_an_unusable_path_is_bad_input(tmp_path: Path, attempt) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "missing" / "x", tmp_path, tmp_path / "file" / "x"):
        with pytest.raises(InputError, match=f"^cannot write {path}: [^\n]*$"):
            attempt(path)
    assert os.listdir(tmp_path) == ["file"]


def test_standard_output_is_no_file() -> None:
    with pytest.raises(InputError, match=r"^cannot write to standard output: a file is needed$"):
        require_writable("-")


def test_require_writable_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    require_writable(tmp_path / "old")
    require_writable(tmp_path / "new")
    assert os.listdir(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"


def test_a_full_disk_names_the_target(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(OSError) as caught, atomic_output(target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as write() raises it
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(target)
    assert not os.listdir(tmp_path)


def test_a_folder_that_takes_no_further_name_names_the_target(
    tmp_path: Path, nameless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: object, target: object, **_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(target))

    monkeypatch.setattr(os, "link" if nameless else "replace", full)
    target = tmp_path / "out"
    with pytest.raises(OSError) as caught, atomic_output(target):
        pass
    assert caught.value.filename == str(target)
    assert not os.listdir(tmp_path)


def test_an_error_about_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, atomic_output(tmp_path / "out"):
        (tmp_path / "other").read_bytes()
    assert caught.value.filename == str(tmp_path / "other")


def test_a_text_is_written_as_it_is(tmp_path: Path) -> None:
    atomic_text(tmp_path / "x", "Zoë\n")
    assert (tmp_path / "x").read_bytes() == b"Zo\xc3\xab\n"
    assert os.listdir(tmp_path) == ["x"]


def test_arrays_are_written_whole_and_without_pickle(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    write_npz(path, {"a": np.arange(3), "name": np.array(["Zoë"])})
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["a"].tolist() == [0, 1, 2] and arrays["name"].tolist() == ["Zoë"]
    assert os.listdir(tmp_path) == ["x.npz"]


def test_weights_are_written_whole_and_sealed(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    tensors = {"a": torch.arange(6.0).reshape(2, 3).T, "b": np.float16(2)}
    write_weights(path, tensors, {"what": "é"})
    require_whole(path)
    header, found = read_weights(path)
    assert found["a"].tolist() == [[0, 3], [1, 4], [2, 5]] and found["b"].shape == ()
    assert header["what"] == "é" and CHECKSUM in header
    assert os.listdir(tmp_path) == ["x.safetensors"]


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("SPEAKER_00", "SPEAKER_00"), ("Zoë B.", "Zoë B_"), ("Dr. B", "Dr. B"), ("a ..", "a_"),
        ("NUL", "_NUL"), ("com1.x", "_com1.x"), ("console", "console"), ("C:\\x", "C__x"),
        ("../../etc/x", "_._.._etc_x"),
        ("..", "__"), ("a\\b:c\n", "a_b_c_"), ("", "_"), ("ë" * 200, "ë" * 75), ("\udce9", "?"),
    ],
)  # fmt: skip
def test_names_of_files_stay_in_their_folder(tmp_path: Path, name: str, clean: str) -> None:
    assert file_name(name) == clean
    (tmp_path / f"{file_name(name)}_0012.340-0015.120.wav").touch()
    assert len(os.listdir(tmp_path)) == 1


def test_a_folder_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(*_: object, **__: object) -> None:  # to root nothing is forbidden
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("diarize.storage.files._create", deny)
    for folder, asked in ((tmp_path, tmp_path), (tmp_path / "a/b", tmp_path / "a")):
        with pytest.raises(InputError, match=f"^cannot write {asked}: Permission denied$"):
            require_folder(folder)


def test_a_folder_may_hold_anything(tmp_path: Path) -> None:
    (tmp_path / ".diarize").mkdir()
    require_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".diarize"]


def test_a_file_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert file_sha256(tmp_path / "x") == hashlib.sha256(b"abc").hexdigest()
    assert file_sha256(tmp_path / "none") == file_sha256(tmp_path) == ""


def test_a_file_that_stays_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    monkeypatch.setattr("diarize.storage.files.RECENT", -1.0)
    first = file_sha256(tmp_path / "x")
    with monkeypatch.context() as context:
        context.setattr(hashlib, "file_digest", None)
        assert file_sha256(tmp_path / "x") == first
    (tmp_path / "x").write_bytes(b"abcd")
    assert file_sha256(tmp_path / "x") == hashlib.sha256(b"abcd").hexdigest()


def test_a_folder_that_cannot_be_entered_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "a.wav").touch()
    scandir = os.scandir

    def guarded(path: Any) -> Any:
        if os.fspath(path).endswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    assert files_in(tmp_path, ".wav") == [tmp_path / "a.wav"]
    with pytest.raises(InputError, match=r"locked: cannot be entered \(Permission denied\)"):
        files_in(tmp_path, ".wav", below=True)
