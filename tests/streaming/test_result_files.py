"""What a server keeps of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import NonCallableMock

from diarize import StreamingDiarizer
from diarize.formats import read_rttm
from diarize.streaming.result_files import ResultFiles
from diarize.streaming.turns import Turn, annotation_of


def heard(*settled: tuple[float, float, str]) -> Any:
    """What a files asks of a diarizer."""
    turns = [Turn(begin, end, (name,), True) for begin, end, name in settled]
    whole = annotation_of([(0.0, 9.0, ("SPEAKER_00",))], "talk")
    diarizer = NonCallableMock(StreamingDiarizer, uri="talk", seconds=9.0, settled=turns)
    diarizer.final.return_value = annotation_of((turn[:3] for turn in turns), "talk")
    diarizer.finish.return_value = whole
    return diarizer


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_settled_is_kept_until_all_is(tmp_path: Path) -> None:
    files, folder = ResultFiles(tmp_path / "kept"), tmp_path / "kept"
    files.write_settled(heard())
    assert not folder.exists()
    for settled in ([(0.0, 1.0, "a")], [(0.0, 1.0, "a"), (2.0, 3.0, "b")]):
        files.write_settled(heard(*settled))
        assert names(folder) == ["talk.settled.rttm"]
        (kept,) = read_rttm(folder / "talk.settled.rttm").values()
        assert kept.labels() == [name for _, _, name in settled]
    files.write(heard())
    assert names(folder) == ["talk.rttm"]


def test_it_is_written_only_where_there_is_more(tmp_path: Path) -> None:
    files = ResultFiles(tmp_path)
    files.write_settled(heard((0.0, 1.0, "a")))
    (path,) = tmp_path.iterdir()
    path.unlink()
    files.write_settled(heard((0.0, 1.0, "a")))
    assert names(tmp_path) == []


def test_of_no_sound_nothing_is_kept(tmp_path: Path) -> None:
    silent = heard()
    silent.seconds = 0.0
    ResultFiles(tmp_path).write(silent)
    ResultFiles(None).write(heard())
    assert names(tmp_path) == []
