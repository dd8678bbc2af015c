"""ELAN's files: what pympi reads of ours, and what we read of others."""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path

import pytest
from pyannote.core import Annotation, Segment
from pympi.Elan import Eaf

from diarize.errors import InputError
from diarize.formats.eaf import eaf_text, read_eaf
from diarize.formats.turns import Turn


def conversation() -> Annotation:
    annotation = Annotation(uri="talk")
    annotation[Segment(0.5, 2.0), 0] = '<Ann> & "A"'
    annotation[Segment(1.0, 3.25), 1] = "Zoë\x00B\uffff"  # XML has no place for the ends
    annotation[Segment(2.0, 2.5), 2] = '<Ann> & "A"'
    annotation[Segment(3.0, 4.0), 3] = "Zoë\x00B\uffff"
    return annotation


def test_pympi_opens_it(tmp_path: Path) -> None:
    path = tmp_path / "talk.eaf"
    path.write_text(eaf_text(conversation()), encoding="utf-8")
    elan = Eaf(str(path))
    needed = {"AUTHOR", "DATE", "FORMAT", "VERSION", "xmlns:xsi", "xsi:noNamespaceSchemaLocation"}
    assert elan.adocument.keys() == needed  # by ELAN's schema
    assert elan.header == {"MEDIA_FILE": "", "TIME_UNITS": "milliseconds"}
    assert datetime.fromisoformat(elan.adocument["DATE"]).tzinfo is not None
    for name in elan.get_tier_names():  # ELAN opens no tier of a type that is not there
        kind = elan.get_parameters_for_tier(name)["LINGUISTIC_TYPE_REF"]
        assert elan.get_parameters_for_linguistic_type(kind)["TIME_ALIGNABLE"] == "true"
    assert {name: elan.get_annotation_data_for_tier(name) for name in elan.get_tier_names()} == {
        '<Ann> & "A"': [(500, 2000, '<Ann> & "A"'), (2000, 2500, '<Ann> & "A"')],
        "Zoë B": [(1000, 4000, "Zoë B")],
    }


def test_the_recording_is_linked(tmp_path: Path) -> None:
    path = tmp_path / "talk.eaf"
    media = tmp_path / "my täk.wav"
    path.write_text(eaf_text(conversation(), media), encoding="utf-8")
    (linked,) = Eaf(str(path)).media_descriptors
    assert linked == {
        "MEDIA_URL": media.as_uri(),
        "MIME_TYPE": "audio/x-wav",
        "RELATIVE_MEDIA_URL": "./my%20t%C3%A4k.wav",
    }
    assert 'MIME_TYPE="audio/*"' in eaf_text(conversation(), Path("talk.flac"))
    relative = eaf_text(conversation(), Path("talk.flac"))  # ELAN starts anywhere
    assert f'MEDIA_URL="{Path("talk.flac").absolute().as_uri()}"' in relative
    again = read_eaf(io.StringIO(eaf_text(conversation())))
    assert read_eaf(path)["talk"] == again["input"]


def test_what_pympi_writes_is_read(tmp_path: Path) -> None:
    elan = Eaf(author="somebody")
    elan.remove_tier("default")
    elan.add_tier("ann")
    elan.add_annotation("ann", 500, 2000, "hello there")
    elan.add_annotation("ann", 2000, 2500, "")
    elan.add_linguistic_type("words", "Time_Subdivision")
    elan.add_tier("ann-words", "words", parent="ann")
    elan.add_annotation("ann-words", 500, 1000, "hello")
    path = tmp_path / "my talk.eaf"
    elan.to_file(str(path))
    assert read_eaf(path) == {"my_talk": [Turn(0.5, 2.0, "ann"), Turn(2.0, 2.5, "ann")]}


def test_annotations_without_times_are_passed_over() -> None:
    text = eaf_text(conversation()).replace(' TIME_VALUE="2500"', "")
    assert [turn.start for turn in read_eaf(io.StringIO(text))["input"]] == [0.5, 1.0]


def test_a_tier_without_a_name() -> None:
    text = eaf_text(conversation()).replace(' TIER_ID="Zoë B"', "")
    assert {turn.speaker for turn in read_eaf(io.StringIO(text))["input"]} == {
        '<Ann> & "A"',
        "<NA>",
    }


def test_people_can_read_it() -> None:
    lines = eaf_text(conversation()).splitlines()
    assert lines[0] == '<?xml version="1.0" encoding="UTF-8"?>'
    assert all(line.lstrip().startswith("<") for line in lines)
    assert sum("<ANNOTATION_VALUE>" in line for line in lines) == 3


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("</TIME_ORDER>", "", "not XML"),
        ("ANNOTATION_DOCUMENT", "TRANSCRIPT", "not an ELAN file, but <'TRANSCRIPT'>"),
        ('"2000"', '"-3"', "the time '-3' is no count of milliseconds"),
        ('"2000"', '"2e3"', "the time '2e3' is no count of milliseconds"),
        ('"2000"', '"' + 30 * "9" + '"', "the time '9+' is too large"),
        ('"2000"', '"10"', "an annotation of tier '<Ann> & \"A\"' ends before it starts"),
    ],
)
def test_what_is_wrong_is_refused(old: str, new: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"^input: {reason}"):
        read_eaf(io.StringIO(eaf_text(conversation()).replace(old, new)))


def test_the_link_begins_where_the_file_lies(tmp_path: Path) -> None:
    media, home = tmp_path / "in" / ".." / "ä talks" / "a.wav", tmp_path / "out" / "eaf"
    text = eaf_text(conversation(), media, home)
    assert 'RELATIVE_MEDIA_URL="./../../%C3%A4%20talks/a.wav"' in text
    assert f'MEDIA_URL="{(tmp_path / "ä talks" / "a.wav").as_uri()}"' in text
