"""A training that was saved goes on as if it had not been."""

from __future__ import annotations

from pathlib import Path

import pytest

from diarize.errors import InputError
from diarize.storage.weights import read_weights


@pytest.mark.parametrize("content", [b"", b"nothing", b"\xff" * 200])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"c\.safetensors: a damaged checkpoint"):
        read_weights(path, "checkpoint")
