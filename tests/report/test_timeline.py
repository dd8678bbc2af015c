from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from diarize.errors import InputError
from diarize.report.pictures import COLOURS
from diarize.report.timeline import plot_timeline

from ..making import annotation

TRUTH = annotation((0, 4, "ann"), (3, 8, "bob"), (8, 9, "ann"))
FOUND = annotation((0, 4.2, "S0"), (3.1, 8, "S1"), (5, 6, "S2"))


def test_every_turn_is_drawn_in_the_colour_of_its_partner(tmp_path: Path) -> None:
    path = tmp_path / "talk.svg"
    plot_timeline({"talk": FOUND}, path, reference={"talk": TRUTH})
    fills = [
        element.get("style", "").lower()
        for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}path")
    ]
    counts = [sum(colour.lower() in fill for fill in fills) for colour in COLOURS[:3]]
    assert counts == [3, 2, 1]  # ann twice and S0; bob and S1; S2, whom the truth does not know


def test_many_speakers_empty_recordings_and_several_at_once(tmp_path: Path) -> None:
    crowd = annotation(*((i, i + 1.5, f"S{i:02}") for i in range(30)))
    path = tmp_path / "all.png"
    plot_timeline({"crowd": crowd, "silence": annotation()}, path, reference={"silence": TRUTH})
    assert path.stat().st_size > 0


def test_nothing_to_draw_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no recording"):
        plot_timeline({}, tmp_path / "talk.svg")


def test_a_name_may_look_like_a_formula(tmp_path: Path) -> None:
    path = tmp_path / "talk.svg"
    plot_timeline({"$x^$ $": annotation((0, 1, "a$_$b"))}, path)
    assert path.stat().st_size > 1000
