"""docs/scoring.md: every figure in it is what the scorer that it names says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from diarize.cli import run_command
from diarize.formats import read_rttm, read_uem

from .md_eval import MD_EVAL, NEEDS_MD_EVAL, md_eval

PAGE = Path(__file__).parents[2] / "docs" / "scoring.md"
FILES = {"reference": "ref.rttm", "hypothesis": "sys.rttm", "uem": "all.uem"}
SECTIONS = [
    part for part in re.split(r"^#+ ", PAGE.read_text("utf-8"), flags=re.M) if "|---" in part
]


def rows(section: str) -> list[tuple[str, str, float]]:
    """Scorer, call and DER in percent of each line of the table."""
    found = re.findall(r"^\| ([\w.-]+) \| `([^`]+)` \| ([0-9.]+) \|$", section, flags=re.M)
    return [(scorer, call, float(der)) for scorer, call, der in found]


CASES = [
    pytest.param(section, *row, id=f"{section.splitlines()[0]}-{row[1]}")
    for section in SECTIONS
    for row in rows(section)
]


def test_the_page_is_read() -> None:
    assert len(SECTIONS) >= 8 and len(CASES) >= 24


@pytest.mark.filterwarnings("ignore:'uem' was approximated")
@pytest.mark.parametrize(("section", "scorer", "call", "der"), CASES)
def test_figures(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    section: str,
    scorer: str,
    call: str,
    der: float,
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = dict(re.findall(r"^```(\w+)\n(.*?)^```$", section, flags=re.M | re.S))
    for name, text in texts.items():
        Path(FILES[name]).write_text(text)
    arguments = shlex.split(call)[1:]
    if scorer == "diarize":
        assert run_command([*arguments, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["total"]["der"]
    elif scorer == "md-eval":
        if MD_EVAL is None:
            pytest.skip(NEEDS_MD_EVAL)
        if "-u" not in arguments:
            Path("all.uem").unlink(missing_ok=True)
        options = [
            option for option in arguments if option not in ("-r", "-s", "-u", *FILES.values())
        ]
        found = md_eval(tmp_path, *options)["talk"]["der"]
    else:
        found = pyannote_der(call)
    assert 100 * found == pytest.approx(der, abs=0.00501)


def pyannote_der(call: str) -> float:
    """What pyannote.metrics says, within the UEM if there is one that the call is about."""
    from pyannote.metrics.diarization import DiarizationErrorRate

    match = re.fullmatch(r"DiarizationErrorRate\((?:(\w+)=([\w.]+))?\)", call)
    assert match, call
    options = {match[1]: json.loads(match[2].lower())} if match[1] else {}
    turns = [read_rttm(name)["talk"] for name in ("ref.rttm", "sys.rttm")]
    uem = read_uem("all.uem")["talk"] if "skip_overlap" in options else None
    return float(DiarizationErrorRate(**options)(*turns, uem=uem))
