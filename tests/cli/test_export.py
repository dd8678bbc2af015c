from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest

from diarize.cli import run_command


def test_it_writes_both_graphs(tiny_weights: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "graphs"
    assert run_command(["export", "--onnx", str(out), "--model", str(tiny_weights)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["f.onnx", "g.onnx"]
    session = onnxruntime.InferenceSession(out / "f.onnx")
    assert session.get_inputs()[0].shape == ["batch", "frames", 32]
    before = (out / "f.onnx").read_bytes()
    assert run_command(["export", "--onnx", str(out), "--model", str(tiny_weights)]) == 0
    assert (out / "f.onnx").read_bytes() == before


@pytest.mark.parametrize(
    ("out", "model", "reason"),
    [("file", None, "a folder is needed"), ("graphs", "missing", "missing: no such model")],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    out: str,
    model: str | None,
    reason: str,
    tiny_weights: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").write_text("")
    command = ["export", "--onnx", str(tmp_path / out), "--model", model or str(tiny_weights)]
    assert run_command(command) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and reason in message
    assert not (tmp_path / "graphs").exists()
