"""What the benchmark compares is drawn and counted as it says."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest


def test_one_run_in_small(
    repo_root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = repo_root / "benchmarks" / "dpgmm.py"
    script = runpy.run_path(str(path))
    x, truth = script["mixture"](400, 3)
    assert x.shape == (400, 3) and np.isfinite(x).all()
    assert 1 < len(np.unique(truth)) <= 20
    monkeypatch.setitem(script["compare"].__globals__, "ROWS", 300)
    monkeypatch.setitem(script["compare"].__globals__, "ITERATIONS", 4)
    monkeypatch.setitem(script["compare"].__globals__, "BOUNDS", (5,))
    monkeypatch.setitem(script["compare"].__globals__, "LIMITS", {5: 1})
    script["compare"](2, 2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == ["SubC-kmeans", "SubC-splitnet", "BGM,"]
    assert script["grow"](200) > 0
    monkeypatch.setattr(sys, "argv", [str(path), "--grow", "100"])
    script["main"]()
    assert 0 < float(capsys.readouterr().out) < 10
