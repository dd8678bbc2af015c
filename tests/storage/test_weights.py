"""The checksum of weights files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save, save_file

from diarize.storage.weights import models_folder, require_whole, sealed

SHIPPED = sorted(models_folder().rglob("*.safetensors"))


@pytest.fixture
def content() -> bytes:
    tensors = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(2, np.float16)}
    return sealed(save(tensors, metadata={"what": json.dumps({"é": 1})}))


def test_a_sealed_file_holds_the_same(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    require_whole(path)
    assert load_file(path)["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert sealed(content) == content


def test_every_byte_counts(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    size = int.from_bytes(content[:8], "little")
    key = content.index(b'"sha256"')
    changed = 0
    for place in range(8, len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        try:
            require_whole(path)
        except ValueError as error:
            assert str(error) == (
                f"{path}: a damaged weights file (it was changed after it had been written)"
            )
            changed += 1
            continue
        # What remains: a header that is none, the key itself, and blanks behind the header.
        try:
            held = load_file(path)
        except Exception:
            continue
        assert place in range(key, key + 9) or content[place : place + 1] == b" ", place
        assert held["a"].tolist() == [[0, 1, 2], [3, 4, 5]] and held["b"].tolist() == [1, 1]
    assert changed > len(content) - size - 8 + 64  # all of the tensors, and the checksum


def test_what_has_no_checksum_passes(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"a": np.zeros(3)}, path)
    require_whole(path)
    for other in (
        b"",
        b"1234",
        b"no weights at all",
        b"\xff" * 40,
        (4).to_bytes(8, "little") + b"[[]]",
    ):
        path.write_bytes(other)
        require_whole(path)


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda path: path.stem)
def test_weights_that_ship_are_whole_and_say_so(shipped: Path, tmp_path: Path) -> None:
    require_whole(shipped)
    assert sealed(shipped.read_bytes()) == shipped.read_bytes()
    damaged = bytearray(shipped.read_bytes())
    damaged[-100:-96] = b"\0\0\x80\x3f"
    path = tmp_path / shipped.name
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="damaged weights file"):
        require_whole(path)


def test_the_folder_holds_the_model() -> None:
    assert (models_folder() / "lstm-compositional.safetensors").is_file()
