from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest

Cli = Callable[..., Any]  # the fixture `cli`


def test_it_writes_both_graphs(cli: Cli, tiny_weights: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "graphs"
    assert cli("export", "--onnx", out, "--model", tiny_weights).status == 0
    assert sorted(path.name for path in out.iterdir()) == ["f.onnx", "g.onnx"]
    session = onnxruntime.InferenceSession(out / "f.onnx")
    assert session.get_inputs()[0].shape == ["batch", "frames", 32]
    before = (out / "f.onnx").read_bytes()
    assert cli("export", "--onnx", out, "--model", tiny_weights).status == 0
    assert (out / "f.onnx").read_bytes() == before


@pytest.mark.parametrize(
    ("out", "model", "reason"),
    [("file", None, "a folder is needed"), ("graphs", "missing", "missing: no such model")],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    cli: Cli, out: str, model: str | None, reason: str, tiny_weights: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    command = ["export", "--onnx", str(tmp_path / out), "--model", model or str(tiny_weights)]
    cli(*command).assert_refused(reason)
    assert not (tmp_path / "graphs").exists()
