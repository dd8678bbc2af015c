"""What all tests share: checked shapes, places, small sounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from jaxtyping import install_import_hook

# Before anything imports the package: from here on every annotated shape is checked at each call.
install_import_hook("diarize", "beartype.beartype")

REPO_ROOT = Path(__file__).resolve().parents[1]
SHARED = REPO_ROOT.parent / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the speech corpora where they are absent, and say so."""
    if (SHARED / "speech" / "speakers.tsv").is_file():
        return
    skip = pytest.mark.skip(reason="needs the speech corpora, and ../shared/speech is absent")
    for item in items:
        if item.get_closest_marker("needs_speech"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The folder of `pyproject.toml`."""
    return REPO_ROOT


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of the corpora; only for tests marked `needs_speech`."""
    return SHARED


@pytest.fixture
def write_tone(tmp_path: Path) -> Callable[..., Path]:
    """Write a sine of 220 Hz at half scale, one octave higher per channel; returns its path."""

    def write(
        name: str = "tone.wav", seconds: float = 1.0, rate: int = 16_000, channels: int = 1
    ) -> Path:
        import soundfile

        path = tmp_path / name
        time = np.arange(round(seconds * rate))[:, None] / rate
        octaves = 2.0 ** np.arange(channels)
        soundfile.write(path, 0.5 * np.sin(2 * np.pi * 220 * octaves * time), rate)
        return path

    return write
