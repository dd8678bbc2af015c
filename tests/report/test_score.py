from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diarize.errors import InputError
from diarize.report.pictures import COLOURS
from diarize.report.score import MOST_NAMES, plot_score, read_scores
from diarize.scoring import Report, score_files

from ..making import annotation


def report(n: int = 3) -> Report:
    """Recordings r0, r1, ... each of which has a tenth more missed than the one before."""
    truth = {f"r{i}": annotation((0, 10, "ann"), (10, 20, "bob")) for i in range(n)}
    found = {uri: annotation((0, 10 - i % 10, "a"), (10, 21, "b")) for i, uri in enumerate(truth)}
    return score_files(truth, found)


def drawn(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_worst_is_on_top_and_each_kind_has_its_colour(tmp_path: Path) -> None:
    path = tmp_path / "score.svg"
    scores = report()
    plot_score(scores.files, scores.total, path)
    text = drawn(path)
    places = [text.index(f"<!-- {name} -->") for name in ("r2", "r1", "r0", "all")]
    assert places == sorted(places)
    assert "<!-- 15.0% -->" in text  # of r2: 2 s missed, 1 s too much, of 20 s
    assert "<!-- diarization error rate 10.0% over 3 recordings -->" in text
    assert all(COLOURS[i].lower() in text for i in (1, 4))


def test_of_many_recordings_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "score.svg"
    scores = report(MOST_NAMES + 1)
    plot_score(scores.files, scores.total, path)
    assert "<!-- r7 -->" not in drawn(path)
    assert "<!-- all -->" in drawn(path)


def test_a_recording_without_speech_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "score.svg"
    scores = score_files({"a": annotation((0, 1, "x")), "b": annotation()}, {})
    plot_score(scores.files, scores.total, path)
    assert "over 1 recordings, 1 without speech left out" in drawn(path)
    scores = score_files({"b": annotation()}, {})
    with pytest.raises(InputError, match="no error rate"):
        plot_score(scores.files, scores.total, path)


def test_what_score_prints_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    scores = report()
    path.write_text(json.dumps(scores.to_json_dict()))
    assert read_scores(path) == (scores.files, scores.total)


def without(key: str) -> dict[str, Any]:
    content: Any = report().to_json_dict()
    del content["files"]["r1"][key]
    return content


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "no object 'files'"),
        ('{"files": {}}', "scores of total lack"),
        (json.dumps(without("der")), "scores of r1 lack some of der"),
        (json.dumps(report().to_json_dict()).replace("0.05", "true"), "der of r0 is no number"),
        (json.dumps(report().to_json_dict()).replace("0.05", "NaN"), "der of r0 is no number"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_other_files_are_refused(content: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(content)
    with pytest.raises(InputError, match=reason):
        read_scores(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_scores(tmp_path / "scores.json")
