"""Recipes are scripts in folders, not a package: a test loads one by its path."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
for folder in (".", "learning_through_clustering", "dpgmm", "conversations", "embedding"):
    sys.path.append(str(RECIPES / folder))  # as if a script of that folder ran


commands = Path(sys.executable).parent
"""The folder of the `python` and `diarize` of this environment; while tests run, of their forks."""


@pytest.fixture(scope="session", autouse=True)
def _forked_commands(forked: Path) -> Iterator[None]:
    global commands
    own, commands = commands, forked
    yield
    commands = own


def run_script(script: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """Run a script of bash or Python with the `python` and `diarize` of this environment."""
    environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    program = str(commands / "python") if script.suffix == ".py" else "bash"
    command = [program, str(script), *map(str, options)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def recipe_module(repo_root: Path) -> Callable[[str], ModuleType]:
    """Load a script, named as `conversations/table.py`, as a module."""

    def load(script: str) -> ModuleType:
        name = script.removesuffix(".py").replace("/", "_")
        spec = importlib.util.spec_from_file_location(name, repo_root / "recipes" / script)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return load
