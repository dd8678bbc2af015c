"""The numpy archive of speakers: what is written, read and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diarize.errors import InputError
from diarize.formats.embeddings import Embeddings
from diarize.formats.speakers import SpeakerArchive, read_speakers, write_speakers


def speakers(k: int = 3) -> SpeakerArchive:
    vectors = np.eye(4, dtype=np.float32)[:k]
    return SpeakerArchive(
        Embeddings(vectors, "lstm", "0" * 64),
        ("anna", "SPEAKER_00", "Ζωή")[:k],
        ("a", "a", "b")[:k],
        np.array([1.5, 2.0, 30.25])[:k],
        True,
        np.array([True, True, False])[:k],
    )


@pytest.mark.parametrize("k", [3, 0])
def test_what_is_written_is_read(tmp_path: Path, k: int) -> None:
    path = tmp_path / "x.npz"
    write_speakers(path, speakers(k))
    found = read_speakers(path)
    assert (found.names, found.uris, found.linked) == (
        speakers(k).names,
        speakers(k).uris,
        True,
    )
    np.testing.assert_array_equal(found.seconds, speakers(k).seconds)
    np.testing.assert_array_equal(found.narrow, speakers(k).narrow)
    np.testing.assert_array_equal(found.voices.embeddings, speakers(k).voices.embeddings)
    assert (found.voices.model, found.voices.model_sha256) == ("lstm", "0" * 64)
    first = path.read_bytes()
    write_speakers(path, speakers(k))
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": None}, "no speakers in this file (no 'name' of 3 rows)"),
        ({"name": np.array(["a", "b"])}, "no speakers in this file (no 'name' of 3 rows)"),
        ({"name": np.arange(3)}, "no speakers in this file (no 'name' of 3 rows)"),
        ({"seconds": np.array(1.0)}, "no speakers in this file (no 'seconds' of 3 rows)"),
        ({"narrow": np.arange(3)}, "no speakers in this file (no 'narrow' of 3 rows)"),
        ({"linked": None}, "no speakers in this file (no truth value 'linked')"),
        ({"linked": np.array("yes")}, "no speakers in this file (no truth value 'linked')"),
        ({"embeddings": np.zeros((3, 4))}, "row 0 of 'embeddings' is zero, which is no voice"),
        ({"embeddings": None}, "no array 'embeddings'"),
    ],
)
def test_what_cannot_be_used_is_refused(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "x.npz"
    write_speakers(path, speakers())
    with np.load(path) as archive:
        arrays = {**archive, **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(InputError) as caught:
        read_speakers(path)
    assert str(caught.value).startswith(f"{path}: {reason}")
