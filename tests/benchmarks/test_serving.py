from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest


def test_lines_of_a_client_are_counted(
    repo_root: Path,
    talk: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("websockets")
    monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))  # as if the script ran
    import soundfile

    script = runpy.run_path(str(repo_root / "benchmarks" / "serving.py"))
    samples = soundfile.read(talk, dtype="float32")[0]
    script["measure"](samples[16_000:], 1, 4.0, 1.0, 30.0)
    counted, latest, machine = capsys.readouterr().out.splitlines()
    lines, sending = counted.removeprefix("1 clients: lines ").split("; sending ")
    for part in (lines, sending):
        delays = np.array(part.split(), float)
        assert len(delays) == 4 and (np.diff(delays) >= 0).all()
    assert "the latest one at" in latest and "cores were busy" in machine
