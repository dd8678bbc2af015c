from __future__ import annotations

import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from diarize.errors import InputError
from diarize.report.pictures import FORMATS, picture_format, save_figure


def test_the_suffix_says_the_format() -> None:
    assert [picture_format(f"a.b.{suffix}") for suffix in FORMATS] == list(FORMATS)
    assert picture_format(Path("x/y.PNG")) == "png"
    for name in ("a.bmp", "a", ".png"):
        with pytest.raises(InputError, match=r"a picture ends in \.svg, \.png, \.pdf"):
            picture_format(name)


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'diarize-sets\[plot\]'"):
        picture_format("a.svg")


@pytest.mark.parametrize("suffix", FORMATS)
def test_one_figure_gives_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    for path in paths:
        figure = Figure(figsize=(1, 1))
        figure.subplots().plot([1, 2])
        save_figure(figure, path)
    assert paths[0].read_bytes() == paths[1].read_bytes() != b""
    assert sorted(tmp_path.iterdir()) == paths
