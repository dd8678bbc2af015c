"""Sets of speakers as JSON: what is read, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diarize.errors import InputError
from diarize.formats.sets import read_sets, sets_text
from diarize.sets import SpeakerSets


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    sets = SpeakerSets.from_lists([[0], [0, 2], [], [1]])
    path = tmp_path / "x.json"
    path.write_text(sets_text(sets, "ckm"))
    assert json.loads(path.read_text()) == {
        "backend": "ckm",
        "n_speakers": 3,
        "sets": [[0], [0, 2], [], [1]],
    }
    assert read_sets(path) == sets


def test_the_largest_index(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"sets": [[9999]]}')
    assert read_sets(tmp_path / "x.json").to_lists() == [[9999]]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "not JSON"),
        ("[[0]]", "no list 'sets'"),
        ('{"sets": {}}', "no list 'sets'"),
        ('{"sets": [[0], 1]}', "entry 1 of 'sets' is no list of speaker indices"),
        ('{"sets": [[0.5]]}', "entry 0 of 'sets' is no list of speaker indices"),
        ('{"sets": [[true]]}', "entry 0 of 'sets' is no list of speaker indices"),
        ('{"sets": [[0], [3, 10000]]}', "entry 1 of 'sets' has an index of 10000 or more"),
        ('{"sets": [[-1]]}', "a speaker index cannot be negative"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_sets(path)
    assert str(caught.value).startswith(f"{path}: {reason}")
    with pytest.raises(InputError, match=r"^cannot read"):
        read_sets(tmp_path / "missing")
