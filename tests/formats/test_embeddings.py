"""The numpy archive of embeddings: what is read, what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from diarize.errors import InputError
from diarize.formats.embeddings import read_embeddings

VECTORS = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, embeddings=VECTORS, path=["ö.wav"] * 3, model="lstm", model_sha256="0" * 64)
    content = read_embeddings(path)
    assert (content.model, content.model_sha256) == ("lstm", "0" * 64)
    assert content.embeddings.dtype == np.float32
    assert np.array_equal(content.embeddings, VECTORS)


def test_vectors_alone_will_do_in_any_type(tmp_path: Path) -> None:
    for dtype in (np.float16, np.float64, np.int64):
        np.savez(tmp_path / "x.npz", embeddings=VECTORS.astype(dtype))
        content = read_embeddings(tmp_path / "x.npz")
        assert content.embeddings.dtype == np.float64
        assert np.array_equal(content.embeddings, VECTORS)
        assert content.model is content.model_sha256 is None


def archive(**arrays: object) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def plain() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, VECTORS)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a readable numpy archive"),
        (b"just text\n", "not a readable numpy archive"),
        (archive(embeddings=VECTORS)[:150], "not a readable numpy archive"),
        (plain(), "a single array, not a numpy archive"),
        (archive(x=VECTORS), "no array 'embeddings'"),
        (archive(embeddings=VECTORS[0]), "'embeddings' is no table of numbers"),
        (archive(embeddings=VECTORS.astype(str)), "'embeddings' is no table of numbers"),
        (
            archive(embeddings=np.array([[1.0, 2.0], [3.0, np.nan]])),
            "row 1 of 'embeddings' holds values",
        ),
        (archive(embeddings=VECTORS, model=np.zeros(2)), "'model' is no text"),
        (archive(embeddings=VECTORS, model=3), "'model' is no text"),
        (archive(embeddings=VECTORS, model_sha256=["a", "b"]), "'model_sha256' is no text"),
        (archive(embeddings=np.array([[None]], dtype=object)), "not a readable numpy archive"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_embeddings(path)
    assert str(caught.value).startswith(f"{path}: {reason}")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot read .*missing: No such file"):
        read_embeddings(tmp_path / "missing")
    with pytest.raises(InputError, match=r"^cannot read .*: Is a directory"):
        read_embeddings(tmp_path)
