from __future__ import annotations

import pytest

import diarize


def test_the_package_offers_the_diarizer() -> None:
    from diarize.pipeline import Diarizer

    assert diarize.Diarizer is Diarizer
    assert set(diarize.__all__) == {"Diarizer", "__version__"}


def test_other_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="Diariser"):
        _ = diarize.Diariser  # type: ignore[attr-defined]
