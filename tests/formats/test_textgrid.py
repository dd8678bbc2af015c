"""TextGrid: what Praat and praatio read of ours, and what we read of theirs."""

from __future__ import annotations

import io
import tempfile
from itertools import pairwise
from pathlib import Path

import parselmouth
import pytest
from hypothesis import given
from hypothesis import strategies as st
from praatio import textgrid
from pyannote.core import Annotation, Segment

from diarize.errors import InputError
from diarize.formats.textgrid import read_textgrid, textgrid_text
from diarize.formats.turns import Turn

SHORT = '''File type = "ooTextFile"
Object class = "TextGrid"

0
3
<exists>
3
"IntervalTier"
"ann"
0
3
2
0
1.5
"she said ""hello"""
1.5
3
" "
"TextTier"
"bells"
0
3
1
2.5
"ding"
"IntervalTier"
"ben" ! who came late
0
3
1
0
3
"yes"
'''


CONTENT = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2.000
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "a""b"
        xmin = 0
        xmax = 2.000
        intervals: size = 2
        intervals [1]:
            xmin = 0.000
            xmax = 0.500
            text = ""
        intervals [2]:
            xmin = 0.500
            xmax = 2.000
            text = "a""b"
    item [2]:
        class = "IntervalTier"
        name = "c"
        xmin = 0
        xmax = 2.000
        intervals: size = 3
        intervals [1]:
            xmin = 0.000
            xmax = 1.500
            text = ""
        intervals [2]:
            xmin = 1.500
            xmax = 1.750
            text = "c"
        intervals [3]:
            xmin = 1.750
            xmax = 2.000
            text = ""
"""


def conversation() -> Annotation:
    annotation = Annotation(uri="talk")
    annotation[Segment(0.5, 2.0), 0] = 'Ann "A" !'
    annotation[Segment(1.0, 3.25), 1] = "Zoë"
    annotation[Segment(2.0, 2.5), 2] = 'Ann "A" !'  # touches her turn before
    annotation[Segment(3.0, 4.0), 3] = "Zoë"  # overlaps his own
    return annotation


def test_content() -> None:
    annotation = Annotation(uri="talk")
    annotation[Segment(0.5, 2.0)] = 'a"b'
    annotation[Segment(1.5, 1.75)] = "c"
    assert textgrid_text(annotation) == CONTENT


def test_praat_opens_it(tmp_path: Path) -> None:
    path = tmp_path / "talk.TextGrid"
    path.write_text(textgrid_text(conversation()), encoding="utf-8")
    call, grid = parselmouth.praat.call, parselmouth.read(str(path))
    assert call(grid, "Get number of tiers") == 2
    assert [call(grid, "Get tier name", tier) for tier in (1, 2)] == ['Ann "A" !', "Zoë"]
    assert call(grid, "Get number of intervals", 1) == 4
    assert call(grid, "Get label of interval", 1, 3) == 'Ann "A" !'
    assert call(grid, "Get start time of interval", 2, 2) == 1.0
    assert call(grid, "Get end time of interval", 2, 2) == 4.0


def test_the_grid_ends_with_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "talk.TextGrid"
    path.write_text(textgrid_text(conversation(), 10.25), encoding="utf-8")
    call, grid = parselmouth.praat.call, parselmouth.read(str(path))
    assert call(grid, "Get end time") == 10.25
    assert call(grid, "Get end time of interval", 2, 2) == 4.0
    assert call(grid, "Get label of interval", 2, 3) == ""
    assert call(grid, "Get end time of interval", 2, 3) == 10.25
    # A turn that a header's estimate leaves no room for is not cut.
    assert textgrid_text(conversation(), 3.9) == textgrid_text(conversation())
    empty = parse_with_praatio(textgrid_text(Annotation(uri="quiet"), 7.5))
    assert empty.maxTimestamp == 7.5


def test_what_praat_saves_is_read(tmp_path: Path) -> None:
    path = tmp_path / "talk.TextGrid"
    path.write_text(textgrid_text(conversation()), encoding="utf-8")
    grid, turns = parselmouth.read(str(path)), read_textgrid(path)
    for kind in ("text", "short text"):
        parselmouth.praat.call(grid, f"Save as {kind} file", str(path))
        assert read_textgrid(path) == turns


@given(
    st.lists(
        st.tuples(st.integers(0, 9000), st.integers(1, 3000), st.sampled_from("abc")),
        min_size=1,
        max_size=8,
    )
)
def test_praatio_finds_whole_tiers(milliseconds: list[tuple[int, int, str]]) -> None:
    annotation = Annotation(uri="talk")
    for track, (start, duration, name) in enumerate(milliseconds):
        annotation[Segment(start / 1000, (start + duration) / 1000), track] = name
    grid = parse_with_praatio(textgrid_text(annotation))
    assert grid.minTimestamp == 0
    found = []
    for name in grid.tierNames:
        entries = grid.getTier(name).entries
        assert entries[0].start == 0 and entries[-1].end == grid.maxTimestamp
        assert all(a.end == b.start for a, b in pairwise(entries))
        assert all(entry.end > entry.start for entry in entries)
        found += [(e.start, e.end, name) for e in entries if e.label]
    ours = read_textgrid(io.StringIO(textgrid_text(annotation)))["input"]
    assert sorted(found) == sorted(turn[:3] for turn in ours)


def parse_with_praatio(text: str) -> textgrid.textgrid.Textgrid:
    with tempfile.NamedTemporaryFile("w", suffix=".TextGrid", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return textgrid.openTextgrid(file.name, includeEmptyIntervals=True)


def test_the_short_format_with_points_and_comments() -> None:
    expected = {"input": [Turn(0.0, 1.5, "ann"), Turn(0.0, 3.0, "ben")]}
    assert read_textgrid(io.StringIO(SHORT)) == expected
    assert read_textgrid(io.BytesIO(SHORT.encode("utf-16"))) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SHORT[:200], "is cut off$"),
        (SHORT.replace('Object class = "TextGrid"', '"Sound"'), "not a TextGrid in Praat's text"),
        (SHORT.replace("0\n1.5", "2\n1.5"), "not a readable TextGrid: the end 1.5 is before"),
        (SHORT.replace("0\n1.5", '"x"\n1.5'), "not a readable TextGrid: the start 'x' is not a"),
    ],
)
def test_what_cannot_be_read(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"^input: {reason}"):
        read_textgrid(io.StringIO(text))
