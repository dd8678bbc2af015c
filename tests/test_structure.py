"""What holds for the package as a whole: who imports whom, what is tested, what loads when."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation

from diarize.sets import squared_distances

HEAVY = {"librosa", "matplotlib", "numba", "pandas", "pyannote", "scipy", "sklearn", "torch"}


def loaded_by(arguments: list[str], repo_root: Path) -> set[str]:
    """Top-level packages that a new interpreter imports for these arguments."""
    command = [sys.executable, "-X", "importtime", *arguments]
    result = subprocess.run(command, cwd=repo_root, capture_output=True, text=True, check=True)
    lines = [line for line in result.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


def test_imports_keep_to_the_layers(repo_root: Path) -> None:
    # In a process of its own: import-linter reads the sources, and must not meet the import hook.
    command = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run(
        [command, "--no-cache"], cwd=repo_root, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_package_has_tests_of_its_own(repo_root: Path) -> None:
    package, tests = repo_root / "diarize", repo_root / "tests"
    folders = {path.parent.relative_to(package) for path in package.rglob("*.py")}
    missing = [str(one) for one in folders if not list((tests / one).glob("test_*.py"))]
    single = [path.name for path in package.glob("[!_]*.py") if path.name != "errors.py"]
    missing += [name for name in single if not (tests / f"test_{name}").is_file()]
    assert not missing, f"no mirrored tests: {missing}"


def test_start_up_loads_nothing_heavy(repo_root: Path) -> None:
    assert "numpy" in loaded_by(["-c", "import numpy"], repo_root)  # the check itself works
    assert not loaded_by(["-c", "import diarize"], repo_root) & (HEAVY | {"numpy"})
    assert not loaded_by(["-c", "import diarize.cli"], repo_root) & HEAVY
    assert not loaded_by(["-m", "diarize", "--help"], repo_root) & HEAVY


def test_shapes_are_checked_while_tests_run() -> None:
    assert squared_distances(np.zeros((2, 3)), np.zeros((4, 3))).shape == (2, 4)
    for wrong in (np.zeros((4, 5)), np.zeros(3), [[0.0, 0.0, 0.0]]):
        with pytest.raises(BeartypeCallHintViolation):
            squared_distances(np.zeros((2, 3)), wrong)
