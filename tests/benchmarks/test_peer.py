import runpy
from pathlib import Path

from diarize.scoring.report import Scores


def test_parts_in_percent(repo_root: Path) -> None:
    script = runpy.run_path(str(repo_root / "benchmarks" / "peer.py"))
    scores = Scores(0.25, 0.125, 0.0625, 0.0625, None, 0.9, 10.0, 0.0)
    assert script["percent"](scores) == [25.0, 12.5, 6.25, 6.25, 0.0]
