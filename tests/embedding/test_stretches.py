"""Lists of stretches, and the file of their vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from diarize.audio import open_recording
from diarize.embedding.stretches import (
    Stretch,
    embed_stretches,
    read_stretches,
    write_vectors,
)
from diarize.embedding.weights import load_model
from diarize.embedding.windows import embed_windows
from diarize.errors import InputError
from diarize.storage.files import file_sha256


def test_a_list(tmp_path: Path) -> None:
    path = tmp_path / "list.tsv"
    path.write_text("\ufeffa b.wav\r\n\r\nc.wav\t0.5\t2\r\né.wav\t0\t1e3\n", encoding="utf-8")
    assert read_stretches(path) == [
        Stretch("a b.wav"), Stretch("c.wav", 0.5, 2.0), Stretch("é.wav", 0.0, 1000.0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line", ["a.wav\t1", "a.wav\t1\t2\t3", "a.wav\tx\t2", "a.wav\t2\t2", "a.wav\t-1\t2", "a\t\t"]
)
def test_other_lines_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "list.tsv"
    path.write_text(f"a.wav\n{line}\n")
    with pytest.raises(InputError, match=r"list\.tsv, line 2: "):
        read_stretches(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Is a directory"):
        read_stretches(tmp_path)
    (tmp_path / "list.tsv").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_stretches(tmp_path / "list.tsv")


def test_rows_are_those_of_windows_of_each_file(
    talk: Path, write_tone: Callable[..., Path], tiny_weights: Path
) -> None:
    tone = write_tone("tone.wav", 1.0)
    stretches = [
        Stretch(str(talk), 6.5, 8.5), Stretch(str(tone)), Stretch(str(talk), 1.0, 2.0),
        Stretch(str(tone), 0.0, 1e9),
    ]  # fmt: skip
    told = []
    heard, vectors = embed_stretches(
        stretches, str(tiny_weights), "cpu", lambda *progress: told.append(progress)
    )
    model = load_model(tiny_weights)
    of_talk = embed_windows(model, open_recording(talk), np.array([[6.5, 8.5], [1.0, 2.0]]))
    of_tone = embed_windows(model, open_recording(tone), np.array([[0.0, 1.0]]))
    np.testing.assert_allclose(vectors[[0, 2]], of_talk, atol=1e-6)
    np.testing.assert_allclose(vectors[[1, 3]], np.repeat(of_tone, 2, axis=0), atol=1e-6)
    assert [(one.start, one.end) for one in heard] == [
        (6.5, 8.5), (0.0, None), (1.0, 2.0), (0.0, 1.0)
    ]  # fmt: skip
    assert told == [("embedding", 1, 2), ("embedding", 2, 2)]


def test_a_stretch_behind_the_end_is_refused(
    write_tone: Callable[..., Path], tiny_weights: Path
) -> None:
    late = [Stretch(str(write_tone()), 0.0, 0.5), Stretch(str(write_tone()), 1.0, 2.0)]
    with pytest.raises(InputError, match=r"tone\.wav: ends at 1\.000 s, before the stretch from 1"):
        embed_stretches(late, str(tiny_weights))


def test_a_written_table(tiny_weights: Path, tmp_path: Path) -> None:
    stretches = [Stretch("é.wav"), Stretch("b.wav", 0.5, 2.0)]
    vectors = np.eye(2, 16, dtype=np.float32)
    write_vectors(tmp_path / "out.npz", stretches, vectors, str(tiny_weights))
    with np.load(tmp_path / "out.npz", allow_pickle=False) as arrays:
        content = dict(arrays)
    assert content["embeddings"].dtype == np.float32
    np.testing.assert_array_equal(content["embeddings"], vectors)
    assert content["path"].tolist() == ["é.wav", "b.wav"]
    assert content["start"].tolist() == [0.0, 0.5]
    np.testing.assert_array_equal(content["end"], [np.nan, 2.0])
    assert content["model"] == str(tiny_weights)
    assert content["model_sha256"] == file_sha256(tiny_weights)
