"""ONNX files: what they say of themselves, and what is no such file."""

from __future__ import annotations

from pathlib import Path

import pytest

from diarize.errors import InputError
from diarize.storage.onnx_network import MOST_BYTES, OnnxNetwork, axes_text

from ..networks import SAMPLES, write


def test_metadata_and_the_file_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path / "f.onnx", SAMPLES, {"framework": "samples", "sample_rate": 8000})
    (tmp_path / "f.toml").write_text("sample_rate = 16000\nnormalize_samples = true\n")
    network = OnnxNetwork(path)
    assert network.metadata == {
        "framework": "samples", "sample_rate": "16000", "normalize_samples": "1",
    }  # fmt: skip
    assert axes_text(network.inputs[0].axes) == "(any, any)"
    assert axes_text(network.outputs[0].axes) == "(any, 16)"


def test_what_is_no_network_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "f.onnx"
    with pytest.raises(InputError, match="no such file"):
        OnnxNetwork(path)
    for content in (b"", b"RIFF....WAVE", b"\x08\x07" + bytes(range(200))):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"^[^\n]*f\.onnx: no") as caught:
            OnnxNetwork(path)
        assert "\n" not in str(caught.value)


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "f.onnx").touch()
    with pytest.raises(InputError, match=r"f\.onnx: nothing is in it"):
        OnnxNetwork(tmp_path / "f.onnx")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "f.onnx"
    with path.open("wb") as file:
        file.truncate(2 * MOST_BYTES)
    with pytest.raises(InputError, match=r"f\.onnx: 4\.0 GB, and no ONNX file has more than 2"):
        OnnxNetwork(path)


@pytest.mark.parametrize("text", ["framework = ", "framework = [1]"])
def test_a_file_beside_it_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "f.onnx", SAMPLES)
    (tmp_path / "f.toml").write_text(text)
    with pytest.raises(InputError, match=r"f\.toml: "):
        OnnxNetwork(path)
