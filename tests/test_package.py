from __future__ import annotations

import pytest

import diarize


def test_the_package_offers_the_diarizer() -> None:
    from diarize.pipeline import Diarizer

    assert diarize.Diarizer is Diarizer
    assert set(diarize.__all__) == {"Diarizer", "StreamingDiarizer", "__version__"}


def test_the_package_offers_the_streaming_diarizer() -> None:
    from diarize.streaming import StreamingDiarizer

    assert diarize.StreamingDiarizer is StreamingDiarizer


def test_other_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="Diariser"):
        _ = diarize.Diariser  # type: ignore[attr-defined]
