"""Where the files lie that ship with the package: weights and what belongs to them."""

from __future__ import annotations

from pathlib import Path


def models_folder() -> Path:
    """Find the shipped weights: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"
