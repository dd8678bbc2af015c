"""Where what ships lies."""

from __future__ import annotations

from diarize.shipped import models_folder


def test_the_folder_holds_the_model() -> None:
    assert (models_folder() / "lstm-compositional.safetensors").is_file()
