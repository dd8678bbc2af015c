"""The table of formats: every one gives back what it was given, as far as it can hold it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyannote.core import Annotation, Segment

from diarize.errors import InputError
from diarize.formats import FORMATS, format_of, load_annotations, read_turns, require_format
from diarize.formats.lines import name_line, token
from diarize.formats.table import turns_format
from diarize.formats.turns import Turn, annotated, written_tiers, written_turns

READ = [name for name, format in FORMATS.items() if format.read is not None]
TIERS = {"textgrid", "eaf"}  # a speaker's turns do not overlap in them
# Names that would end a field, a line, a tag, a cue or a text too early.
NAMES = st.one_of(
    st.sampled_from(
        ["SPEAKER_00", "a,b", 'say "x"', "a\tb", "a\nb", "<v ann>", "a --> b", "&amp;", "[x]: y"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
TURNS = st.lists(st.tuples(st.integers(0, 400_000_000), st.integers(1, 100_000), NAMES), max_size=8)


def annotate(milliseconds: list[tuple[int, int, str]]) -> Annotation:
    annotation = Annotation(uri="talk")
    for track, (start, duration, name) in enumerate(milliseconds):
        annotation[Segment(start / 1000, (start + duration) / 1000), track] = name
    return annotation


def of_srt(name: str) -> str:
    return name_line(name_line(name).translate(str.maketrans("[]", "()")).replace("-->", "->"))


HELD: dict[str, Callable[[str], str]] = {"rttm": token, "srt": of_srt}
HELD |= dict.fromkeys(["csv", "tsv"], lambda name: re.sub("\r\n?", "\n", name)) | {"json": str}
HELD |= dict.fromkeys(["textgrid", "eaf", "audacity", "vtt"], name_line)
"""What becomes of a name in a format."""


def held(name: str, annotation: Annotation) -> list[Turn]:
    """The turns that a format can hold."""
    turns = written_turns(annotation)
    if name in TIERS:
        turns = [turn for tier in written_tiers(annotation).values() for turn in tier]
    return sorted(turn._replace(speaker=HELD[name](turn.speaker)) for turn in turns)


def milliseconds(turns: list[Turn]) -> list[tuple[int, int, str]]:
    return sorted((round(t.start * 1000), round(t.end * 1000), t.speaker) for t in turns)


@pytest.mark.parametrize("name", READ)
@settings(max_examples=40)
@given(milliseconds_given=TURNS)
def test_what_is_written_is_read_again(
    name: str, milliseconds_given: list[tuple[int, int, str]]
) -> None:
    annotation = annotate(milliseconds_given)
    text = FORMATS[name].write(annotation, {}, None)
    (again,) = read_turns(io.BytesIO(text.encode("utf-8")), name).values()
    assert milliseconds(again) == milliseconds(held(name, annotation))


@pytest.mark.parametrize("name", READ)
@settings(max_examples=40)
@given(
    turns=st.lists(
        st.tuples(st.floats(0, 1000), st.floats(0, 3), st.sampled_from("ab")), max_size=8
    )
)
def test_a_second_round_changes_nothing(name: str, turns: list[tuple[float, float, str]]) -> None:
    annotation = Annotation(uri="input")
    for track, (start, duration, speaker) in enumerate(turns):
        annotation[Segment(start, start + duration), track] = speaker
    text = FORMATS[name].write(annotation, {}, None)
    (again,) = read_turns(io.StringIO(text), name).values()
    assert all(turn.end > turn.start for turn in again)
    assert FORMATS[name].write(annotated(again, "input")[0], {}, None) == text


def test_uem_has_the_regions_in_which_somebody_speaks() -> None:
    text = FORMATS["uem"].write(annotate([(0, 2000, "a"), (1000, 2000, "b")]), {}, None)
    assert text == "talk 1 0.000 3.000\n"
    with pytest.raises(InputError, match=r"^format uem: does not say who speaks$"):
        read_turns(io.StringIO(text), "uem")


@pytest.mark.parametrize("name", READ)
def test_files_without_speech(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"quiet one.{FORMATS[name].suffix}"
    path.write_text(FORMATS[name].write(Annotation(uri="quiet_one"), {}, None), encoding="utf-8")
    assert read_turns(path, name) == {"quiet_one": []}


@pytest.mark.parametrize("name", READ)
def test_what_is_no_such_file_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    for content in (b"hello", b'{"a": [1}', b"<a><b></a>", b"\xff\xfeh", b"\xe9", b'ooTextFile"'):
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            read_turns(path, name)
        assert str(caught.value).startswith(f"{path}")
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"^cannot read .*missing: No such file"):
        read_turns(tmp_path / "missing", name)


def test_names_of_odd_files_can_be_written() -> None:
    annotation = Annotation(uri="caf\udce9")  # as the system hands out a name in Latin-1
    annotation[Segment(0, 1), 0] = "b\udce9n"
    for format in FORMATS.values():
        format.write(annotation, {"model": "caf\udce9"}, None).encode("utf-8")


def test_the_ending_says_the_format() -> None:
    for name, format in FORMATS.items():
        said = format_of(f"a.b.{format.suffix}")
        assert said == (None if name == "audacity" else name)
    for ending in ("rttm", "json", "csv", "tsv", "eaf", "srt", "vtt", "uem"):
        assert format_of(f"talk.{ending}") == ending
    assert format_of("talk.TEXTGRID") == "textgrid"
    assert format_of("talk.RTTM") == "rttm"
    assert format_of("talk") is format_of("talk.txt") is format_of("-") is None


def test_formats_that_are_not_there() -> None:
    with pytest.raises(InputError, match=r"^format doc: not one of rttm, json, csv, "):
        require_format("doc")
    with pytest.raises(InputError, match=r"^talk.doc: its ending says no format"):
        read_turns("talk.doc")
    with pytest.raises(InputError, match=r"^input: its ending says no format"):
        read_turns(io.StringIO(""))


def test_labels_of_audacity_are_known_by_their_first_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text("0.5\t2.0\tann\n")
    assert turns_format(path) == "audacity"
    ((uri, annotation),) = load_annotations(path).items()
    assert (uri, annotation.labels()) == ("talk", ["ann"])
    path.write_text("\nSPEAKER talk 1 0.5 1.5 <NA> <NA> ben <NA> <NA>\n")
    assert turns_format(path) == "rttm"
    assert load_annotations(path)["talk"].labels() == ["ben"]
    assert turns_format(tmp_path / "missing.txt") == turns_format("-") == "rttm"
