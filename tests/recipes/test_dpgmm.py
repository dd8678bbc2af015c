"""The recipe of the Dirichlet-process mixtures, on sets of a few rows."""

from __future__ import annotations

from pathlib import Path

from .conftest import run_script


def test_the_smoke_run(repo_root: Path, tmp_path: Path) -> None:
    script = repo_root / "recipes" / "dpgmm" / "run.sh"
    done = run_script(script, "--smoke", "--work", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| mixtures, D = 2, K = 3 | SubC-kmeans | 2 |" in done.stdout
    assert "| digits, D = 20, K = 10 | EM-GMM, true K | 2 |" in done.stdout
    assert "kmeans - random" in done.stdout
    for plot in ("mixtures-2d.svg", "convergence.svg"):
        assert (tmp_path / "smoke" / plot).stat().st_size > 1000
    lines = (tmp_path / "smoke" / "scores.tsv").read_text().splitlines()
    again = run_script(script, "--smoke", "--work", tmp_path, "--stop-stage", 0)
    assert again.stdout == ""  # all was there
    assert (tmp_path / "smoke" / "scores.tsv").read_text().splitlines() == lines
