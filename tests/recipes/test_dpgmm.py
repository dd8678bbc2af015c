"""The recipe of the Dirichlet-process mixtures, on sets of a few rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_smoke_run(repo_root: Path, tmp_path: Path) -> None:
    script = repo_root / "recipes" / "dpgmm" / "run.sh"
    assert os.access(script, os.X_OK)
    here = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{here}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", str(script), "--smoke", "--work", str(tmp_path)],
        capture_output=True, text=True, check=False, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "| mixtures, D = 2, K = 3 | SubC-kmeans | 2 |" in done.stdout
    assert "| digits, D = 20, K = 10 | EM-GMM, true K | 2 |" in done.stdout
    assert "kmeans - random" in done.stdout
    for plot in ("mixtures-2d.svg", "convergence.svg"):
        assert (tmp_path / plot).stat().st_size > 1000
    lines = (tmp_path / "scores.tsv").read_text().splitlines()
    again = subprocess.run(
        ["bash", str(script), "--smoke", "--work", str(tmp_path), "--stop-stage", "0"],
        capture_output=True, text=True, check=True, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert again.stdout == ""  # all was there
    assert (tmp_path / "scores.tsv").read_text().splitlines() == lines
