from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from diarize.cli import run_command

VAD = ["--vad", "none", "--num-speakers", "1", "--backend", "ac"]


@pytest.fixture
def rttm(tmp_path: Path) -> Path:
    path = tmp_path / "found.rttm"
    path.write_text("SPEAKER talk 1 1.000 3.000 <NA> <NA> S0 <NA> <NA>\n")
    return path


def test_it_makes_a_page_of_a_result(talk: Path, rttm: Path, tmp_path: Path) -> None:
    page = tmp_path / "talk.html"
    command = ["report", str(talk), str(rttm), "--out", str(page)]
    assert run_command(command) == 0
    alone = page.read_text(encoding="utf-8")
    assert '"truth":null' in alone
    assert run_command([*command, "--reference", str(rttm)]) == 0
    assert '"der":0.0' in page.read_text(encoding="utf-8")


def test_json_says_how_sure_a_turn_is(talk: Path, tmp_path: Path) -> None:
    turns, page = tmp_path / "talk.json", tmp_path / "talk.html"
    turns.write_text('{"turns": [{"start": 1, "end": 2, "speaker": "S0", "confidence": 0.625}]}')
    assert run_command(["report", str(talk), str(turns), "--out", str(page)]) == 0
    assert '"turns":[[1.0,2.0,0,0.625]]' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "out", "reason"),
    [
        ("SPEAKER a 1 0 1 <NA> <NA> S <NA> <NA>\nSPEAKER b 1 0 1 <NA> <NA> S <NA> <NA>\n",
         "x.html", "no turns of talk"),
        ("SPEAKER\n", "x.html", "found.rttm, line 1"),
        ("", "no/x.html", "cannot write"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_line(
    talk: Path,
    rttm: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    out: str,
    reason: str,
) -> None:
    rttm.write_text(text)
    assert run_command(["report", str(talk), str(rttm), "--out", str(tmp_path / out)]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert reason in message
    assert not list(tmp_path.rglob("*.html"))


def test_the_recording_is_not_overwritten(
    talk: Path, rttm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = talk.read_bytes()
    assert run_command(["report", str(talk), str(rttm), "--out", str(talk)]) == 2
    assert "is the recording" in capsys.readouterr().err
    assert talk.read_bytes() == before


def test_run_makes_a_page(
    talk: Path, rttm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "talk.html"
    command = ["run", str(talk), *VAD, "--report", str(page), "--reference", str(rttm)]
    assert run_command(command) == 0
    text = page.read_text(encoding="utf-8")
    assert '"speakers":["SPEAKER_00"]' in text
    assert '"errors":{"missed"' in text
    assert "no use for --reference" not in capsys.readouterr().err


def test_several_recordings_have_a_folder_of_pages(
    talk: Path, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    pages = tmp_path / "pages"
    command = ["run", str(talk), str(write_tone()), *VAD, "--out", str(tmp_path / "out")]
    assert run_command([*command, "--report", str(pages)]) == 0
    assert sorted(path.name for path in pages.iterdir()) == ["talk.html", "tone.html"]


@pytest.mark.parametrize(
    ("report", "reason"), [("no/x.html", "cannot write"), ("talk.wav", "is the recording")]
)
def test_a_page_that_cannot_be_written_is_refused_before_work(
    talk: Path, report: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tmp_path / "talk.wav"
    recording.write_bytes(talk.read_bytes())
    assert run_command(["run", str(recording), "--report", str(tmp_path / report)]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and reason in message
    assert recording.read_bytes() == talk.read_bytes()
