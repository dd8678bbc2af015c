from __future__ import annotations

import base64
import hashlib
import json
import re
import string
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyannote.core import Annotation, Segment

from diarize.audio import open_recording
from diarize.report.html import _PAGE, _SCRIPTS, _json, page_text, write_page

NASTY = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>&lt;\u2028\u2029'\"`${1}\\",
    "{{script}}",
    "\ud800",
]


class Elements(HTMLParser):
    """All elements with their attributes, and the text of each script and style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}", {}, ""))  # what follows is not its text

    def handle_data(self, data: str) -> None:
        if self.found:
            tag, attrs, text = self.found[-1]
            self.found[-1] = (tag, attrs, text + data)

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attrs, text) for name, attrs, text in self.found if name == tag]


def annotation(*names: str) -> Annotation:
    made = Annotation(uri="talk")
    for i, name in enumerate(names):
        made[Segment(2 * i, 2 * i + 3), i] = name
    return made


@pytest.fixture
def page(talk: Path, tmp_path: Path) -> Elements:
    path = tmp_path / "talk.html"
    found = annotation(*NASTY[:4])
    write_page(path, open_recording(talk), found, reference=annotation(*NASTY[:4]))
    return Elements(path.read_text(encoding="utf-8"))


def test_the_path_may_be_a_string(talk: Path, tmp_path: Path) -> None:
    write_page(str(tmp_path / "x.html"), open_recording(talk, end=1.0), annotation("a"))
    assert [path.name for path in tmp_path.iterdir()] == ["x.html"]


def data_of(page: Elements) -> dict[str, Any]:
    ((_, text),) = [part for part in page.of("script") if part[0].get("id") == "data"]
    return json.loads(text)


def test_names_are_data_and_nothing_else(page: Elements) -> None:
    assert data_of(page)["speakers"] == NASTY[:4]
    assert not page.of("img")
    assert not any(name.startswith("on") for _, attrs, _ in page.found for name in attrs)
    assert len(page.of("script")) == 4


def test_the_policy_lets_in_these_scripts_and_no_network(page: Elements) -> None:
    (policy,) = (
        attrs["content"] or ""
        for attrs, _ in page.of("meta")
        if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy and "http" not in policy and "connect-src" not in rules
    codes = [text for attrs, text in page.of("script") if "type" not in attrs]
    digests = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes]
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]


def test_the_page_refers_to_no_other_file(page: Elements) -> None:
    for _, attrs, _ in page.found:
        for name in ("src", "href"):
            assert (attrs.get(name) or "data:").startswith("data:")


def test_the_licence_of_the_library_is_in_the_page(page: Elements) -> None:
    assert any("BSD 3-Clause" in text for _, text in page.of("script"))


def test_the_truth_brings_errors_and_figures(talk: Path, tmp_path: Path) -> None:
    path = tmp_path / "talk.html"
    found = annotation("S0", "S1")
    write_page(path, open_recording(talk), found)
    assert data_of(Elements(path.read_text()))["truth"] is None
    write_page(path, open_recording(talk), found, reference=annotation("ann", "bob", "eve"))
    truth = data_of(Elements(path.read_text()))["truth"]
    assert truth["partners"] == ["S0", "S1", None]
    assert truth["errors"]["missed"] == [[4.0, 7.0]]  # eve's turn, which begins while bob speaks
    assert truth["scores"]["missed_detection"] == pytest.approx(3 / 9)


def test_how_many_there_may_be(talk: Path, tmp_path: Path) -> None:
    path, recording = tmp_path / "talk.html", open_recording(talk)
    write_page(path, recording, annotation("S0", "S1"), number={1: 0.2, 2: 0.7, 3: 0.1})
    told = data_of(Elements(path.read_text()))
    assert told["number"] == [[1, 0.2], [2, 0.7], [3, 0.1]] and told["possible"] == [1, 2]
    write_page(path, recording, annotation("S0", "S1"))
    told = data_of(Elements(path.read_text()))
    assert told["number"] == [] and told["possible"] == [2, 2]


def test_where_several_were_heard(talk: Path, tmp_path: Path) -> None:
    path = tmp_path / "talk.html"
    write_page(path, open_recording(talk), annotation("S0"), several=np.array([[1.0, 2.00004]]))
    assert data_of(Elements(path.read_text()))["several"] == [[1.0, 2.0]]
    write_page(path, open_recording(talk), annotation("S0"))
    assert data_of(Elements(path.read_text()))["several"] == []


def test_turns_behind_the_end_and_none_at_all(talk: Path, tmp_path: Path) -> None:
    path = tmp_path / "talk.html"
    late = Annotation()
    late[Segment(10, 40), 0] = "S"
    write_page(path, open_recording(talk), late)
    assert data_of(Elements(path.read_text()))["end"] == 40
    write_page(path, open_recording(talk), Annotation())
    assert data_of(Elements(path.read_text()))["turns"] == []


def test_the_same_result_gives_the_same_bytes(talk: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.html" for name in "ab"]
    for path in paths:
        write_page(path, open_recording(talk), annotation("a", "b"))
    assert paths[0].read_bytes() == paths[1].read_bytes()


@given(st.text(st.characters() | st.sampled_from("<>&{}\u2028/!-")) | st.sampled_from(NASTY))
def test_json_cannot_leave_its_element(name: str) -> None:
    text = _json({"name": name})
    assert json.loads(text)["name"] == name
    assert set(text) <= set(string.printable) - set("<>&\n")


def test_parts_are_not_searched_for_places() -> None:
    text = page_text({"uri": "{{script}} {{mp3}}"}, b"x")
    assert text.count("{{script}} {{mp3}}") == 1


def test_scripts_make_no_markup() -> None:
    scripts = "".join((_PAGE / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", scripts)
    for name in ("vendor/wavesurfer.min.js", *_SCRIPTS):
        assert "</script" not in (_PAGE / name).read_text(encoding="utf-8").lower()
    assert sorted(_SCRIPTS) == sorted(path.name for path in _PAGE.glob("*.js"))
