"""`diarize backends`: every name of the table, and what it can do."""

from __future__ import annotations

import pytest

from diarize import clustering
from diarize.cli import run_command
from diarize.tuning.presets import PRESETS


def test_every_backend_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["backends"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines if line.strip()}
    for name in clustering.BACKENDS:
        assert rows[name].rstrip().endswith(clustering.describe(name))
    assert rows["oracle"].split()[2] == "yes"
    assert rows["ckm"].split()[1:3] == ["yes", "no"]


def test_every_shipped_preset_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["backends"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for preset in PRESETS.values():
        (line,) = (line for line in lines if line.split()[:2] == [preset.name, preset.backend])
        assert line.rstrip().endswith(preset.source)
