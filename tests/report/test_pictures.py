from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from diarize.errors import InputError
from diarize.report.clusters import plot_clusters
from diarize.report.pictures import FORMATS, picture_format
from diarize.report.score import plot_score
from diarize.report.timeline import plot_timeline
from diarize.scoring import score_files
from diarize.sets import SpeakerSets

from ..making import annotation


def test_the_suffix_says_the_format() -> None:
    assert [picture_format(f"a.b.{suffix}") for suffix in FORMATS] == list(FORMATS)
    assert picture_format(Path("x/y.PNG")) == "png"
    for name in ("a.bmp", "a", ".png"):
        with pytest.raises(InputError, match=r"a picture ends in \.svg, \.png, \.pdf"):
            picture_format(name)


MAGIC = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
TALK = {"talk": annotation((0, 4.2, "S0"), (3.1, 8, "S1"))}
SCORES = score_files({"talk": annotation((0, 9, "ann"))}, TALK)
SETS = SpeakerSets.from_lists([[0], [1], [0, 1]])
DRAWINGS: dict[str, Callable[[Path], None]] = {
    "timeline": lambda path: plot_timeline(TALK, path),
    "clusters": lambda path: plot_clusters(np.eye(3), SETS, path),
    "score": lambda path: plot_score(SCORES.files, SCORES.total, path),
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", DRAWINGS)
def test_the_suffix_chooses_the_format_and_bytes_are_the_same_each_time(
    name: str, suffix: str, tmp_path: Path
) -> None:
    paths = [tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix.upper()}"]
    for path in paths:
        DRAWINGS[name](path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].read_bytes().startswith(MAGIC[suffix])
    assert sorted(tmp_path.iterdir()) == paths


@pytest.mark.parametrize("name", DRAWINGS)
def test_what_cannot_be_drawn_leaves_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"a picture ends in"):
        DRAWINGS[name](tmp_path / "talk.bmp")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'diarize-sets\[plot\]'"):
        DRAWINGS[name](tmp_path / "talk.svg")
    assert not list(tmp_path.iterdir())


def test_matplotlib_is_loaded_only_to_draw() -> None:
    modules = ", ".join(f"diarize.report.{name}" for name in DRAWINGS)
    code = f"import sys, {modules}; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
