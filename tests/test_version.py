from __future__ import annotations

from importlib.metadata import version

import diarize


def test_the_version_is_that_of_the_distribution() -> None:
    assert version("diarize-sets") == diarize.__version__
