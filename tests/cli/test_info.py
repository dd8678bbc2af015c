"""`diarize info`: what is installed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diarize import __version__
from diarize.storage.cache import Cache, cache_key

Cli = Callable[..., Any]  # the fixture `cli`


def test_all_is_in_the_object(cli: Cli, repo_root: Path) -> None:
    found = json.loads(cli("info", "--json").out)
    assert found["diarize"] == __version__
    assert found["packages"]["numpy"] == metadata.version("numpy")
    assert found["devices"][0] == "cpu"
    assert found["threads"] >= 1
    weights = repo_root / "models" / "lstm-compositional.safetensors"
    assert {
        "name": "lstm-compositional",
        "bytes": weights.stat().st_size,
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
    } in found["models"]
    assert found["cache"] is None


def test_a_table_with_the_size_of_a_cache(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cache(tmp_path).kept(cache_key("x"), lambda: np.zeros(250_000, np.float32))
    shown = cli("info", "--cache", tmp_path).out
    assert f"{tmp_path}: 1 files, 1.0 MB" in shown
    assert "lstm-compositional" in shown
    monkeypatch.setenv("DIARIZE_CACHE", str(tmp_path / "none"))
    assert json.loads(cli("info", "--json").out)["cache"]["files"] == 0
