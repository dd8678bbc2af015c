"""Who is one person under several names, and folders in which nobody is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import soundfile

from diarize.mixing.speech import find_utterances


@pytest.fixture
def people(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("steps/people.py")


def write_table(folder: Path, *rows: tuple[str, str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = ("path\tspeaker\tsplit", *("\t".join(row) for row in rows))
    (folder / "speakers.tsv").write_text("\n".join(lines) + "\n")


def test_nobody_is_two_speakers_nor_in_two_splits(people: ModuleType, tmp_path: Path) -> None:
    first, second, elsewhere = "R_4QJpbtn4T8z4ixS", "R_4ezaMzei6ssNagt", "R_4M4K1OEOS6Dy9xr"
    write_table(
        tmp_path / "data" / "speech",
        ("a.flac", f"alnum-{first}", "train"),
        ("b.flac", f"alnum-{second}", "train"),
        ("c.flac", f"alnum-{elsewhere}", "dev-b"),
        ("d.flac", "somebody", "dev-b"),
    )
    (tmp_path / "data" / "noise").mkdir()
    people.view(tmp_path / "data", tmp_path / "out")
    found = {
        (u.path, u.speaker)
        for split in ("train", "dev-b")
        for u in find_utterances(tmp_path / "out" / "speech", split)
    }
    names = {"a": f"alnum-{first}", "b": f"alnum-{first}", "d": "somebody"}
    speech = tmp_path / "data" / "speech"
    assert found == {(speech / f"{name}.flac", who) for name, who in names.items()}
    (tmp_path / "data" / "rooms").mkdir()
    people.view(tmp_path / "data", tmp_path / "out")  # adds what has come
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["noise", "rooms", "speech"]


def test_whoever_has_a_name_of_his_own_sounds_like_nobody_else(
    people: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    time = np.arange(6 * 16_000) / 16_000
    rng = np.random.default_rng(0)
    for name, pitch in (("one", 110.0), ("again", 110.0), ("other", 230.0)):
        hum = sum(np.sin(2 * np.pi * k * pitch * time) / k for k in range(1, 20, 1 + (pitch > 200)))
        (tmp_path / name).mkdir()
        noise = rng.standard_normal(len(time))
        soundfile.write(tmp_path / name / "a.wav", 0.05 * hum + 0.003 * noise, 16_000)
    people.find([tmp_path], ["lstm-compositional"])
    printed = capsys.readouterr().out
    assert "| again | one | 0.9" in printed or "| again | one | 1.0" in printed
    assert "| other |" not in printed
