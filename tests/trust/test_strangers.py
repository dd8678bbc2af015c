"""Files from strangers that try more than to be wrong: code, places elsewhere, absurd names."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from diarize.cli import run_command
from diarize.clustering.dpgmm.splitnet import load_splitnet
from diarize.embedding import load_model
from diarize.formats.embeddings import read_embeddings
from diarize.storage.weights import read_weights

NAMES = (
    "../../escape", "/tmp/escape", "..", ".", "a/b\\c", "nul", "COM1.txt", "x" * 4000,
    "-rf", "~", "$(touch escape)", "`touch escape`", "a\u202eb", "Zoë\u200b",
)  # fmt: skip


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (str(self.path), "w")


def pickles(mark: Path) -> dict[str, bytes]:
    """Ways in which a pickle is dressed up as weights or vectors."""
    plain = pickle.dumps(Evil(mark))
    header = json.dumps({"__metadata__": {"diarize.embedding": plain.decode("latin-1")}}).encode()
    array = np.empty(1, dtype=object)
    array[0] = Evil(mark)
    packed = mark.with_suffix(".npz")
    np.savez(packed, embeddings=array, allow_pickle=True)
    return {
        "plain": plain,
        "in the header": struct.pack("<Q", len(header)) + header,
        "behind a header": struct.pack("<Q", 2) + b"{}" + plain,
        "in an archive": packed.read_bytes(),
    }


KINDS = ("plain", "in the header", "behind a header", "in an archive")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "read", [load_model, load_splitnet.__wrapped__, read_weights, read_embeddings]
)
def test_a_pickle_is_never_run(tmp_path: Path, kind: str, read: Callable[[Path], object]) -> None:
    mark = tmp_path / "mark"
    path = tmp_path / "model.safetensors"
    path.write_bytes(pickles(mark)[kind])
    with contextlib.suppress(ValueError):  # a text in a header is a text, whatever it says
        read(path)
    assert not mark.exists()


def test_the_pickle_would_do_harm(tmp_path: Path) -> None:
    pickle.loads(pickles(tmp_path / "mark")["plain"]).close()
    assert (tmp_path / "mark").exists()


def test_speakers_and_recordings_cannot_leave_the_folder(
    tmp_path: Path, talk: Path, tiny_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = ["_".join(name.split()) for name in NAMES]
    work = tmp_path / "deep" / "work"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    turns, odd = work / "talk.rttm", work / "odd.rttm"
    line = "SPEAKER {} 1 {:.1f} 0.7 <NA> <NA> {} <NA> <NA>\n"
    turns.write_text("".join(line.format("talk", 0.8 * n, who) for n, who in enumerate(fields)))
    odd.write_text("".join(line.format(uri, 0, "ann") for uri in fields))
    clips = ["--clips", "out", "--out", "out/", "--format", "rttm", "--format", "srt"]
    options = ["--model", str(tiny_weights), "--backend", "oracle", "--reference", str(turns)]
    before = set(tmp_path.rglob("*"))
    assert run_command(["run", str(talk), "--vad", "none", *options, *clips]) == 0
    for kind in ("srt", "json", "textgrid"):
        assert run_command(["convert", str(odd), "out/", "--to", kind]) == 0
    made = set(tmp_path.rglob("*")) - before
    assert len(made) >= 3 + 4 * len(NAMES)  # the folder, two results, clips and three formats
    assert all(path == work / "out" or path.parent == work / "out" for path in made)
    assert not any("escape" in name for name in os.listdir("/tmp") if not name.startswith("pytest"))


def test_nothing_can_connect(no_network: None) -> None:
    with pytest.raises(AssertionError, match="network"):
        socket.create_connection(("127.0.0.1", 9))
    with pytest.raises(AssertionError, match="network"):
        socket.getaddrinfo("example.org", 80)
