"""Every script of `egs/` does what it says."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def said(repo_root: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    def say(name: str) -> str:
        runpy.run_path(str(repo_root / "egs" / name), run_name="__main__")
        return capsys.readouterr().out

    return say


def speakers(text: str) -> set[str]:
    return set(re.findall(r"^ *\d+\.\d\d +\d+\.\d\d  (\w+)", text, re.MULTILINE))


def error_rate(text: str) -> float:
    (percent,) = re.findall(r"DER (\d+\.\d)%", text)
    return float(percent)


def test_a_meeting(said: Callable[[str], str]) -> None:
    text = said("meeting.py")
    assert len(speakers(text)) == 4
    assert error_rate(text) < 10
    assert re.search(r"number of speakers: \{.*4: .[5-9]", text)


def test_an_interview_with_known_voices(said: Callable[[str], str]) -> None:
    text = said("interview.py")
    assert speakers(text) >= {"anna", "ben"}
    assert re.search(r"^ben sounds like ben: (0\.9|1)", text, re.MULTILINE)
    # They are called by their names where they speak: ben, and later anna, for five seconds each.
    assert re.search(r"^ +24\.\d\d +29\.\d\d  ben$", text, re.MULTILINE)
    assert re.search(r"^ +47\.\d\d +53\.\d\d  anna$", text, re.MULTILINE)


def test_a_phone_call(said: Callable[[str], str]) -> None:
    text = said("call.py")
    assert speakers(text) == {"SPEAKER_00", "SPEAKER_01"}
    assert error_rate(text) < 20


def test_a_stream(said: Callable[[str], str]) -> None:
    live, _, settled = said("stream.py").partition("Settled:")
    assert {"LIVE_00", "LIVE_01"} <= speakers(live)
    assert len(speakers(settled)) >= 3
    assert "live names: {'LIVE_00': 'SPEAKER_00'" in settled


def test_vectors_of_ones_own(said: Callable[[str], str]) -> None:
    assert said("vectors.py") == "Counter({(0,): 20, (1,): 20, (0, 1): 20})\n"


def test_every_script_is_listed_and_tested(repo_root: Path) -> None:
    page = (repo_root / "egs" / "README.md").read_text(encoding="utf-8")
    tested = Path(__file__).read_text(encoding="utf-8")
    for path in (repo_root / "egs").glob("*.py"):
        assert f"`{path.name}`" in page
        assert f'said("{path.name}")' in tested or path.name == "make_conversation.py"
