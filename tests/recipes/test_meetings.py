"""The recipe for real meetings, on the bundled conversation laid out as the corpora are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import soundfile

from diarize.errors import InputError

from .conftest import run_script

MINUTE = 60  # seconds


@pytest.fixture(scope="module")
def folder(repo_root: Path) -> Path:
    return repo_root / "recipes" / "meetings"


@pytest.fixture(scope="module")
def pairing(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("meetings/pair.py")


def lay_out(repo_root: Path, data: Path, audio: str, references: str, uem: bool) -> None:
    """Lay out a minute of the bundled conversation as the only recording of a corpus, `m1`."""
    samples, rate = soundfile.read(repo_root / "egs" / "conversation.ogg", dtype="float32")
    samples = samples[: MINUTE * rate]
    (data / audio).parent.mkdir(parents=True)
    soundfile.write(data / audio, samples, rate)
    (data / references).mkdir(parents=True)
    turns = (repo_root / "egs" / "conversation.rttm").read_text().replace(" conversation ", " m1 ")
    heard = [line for line in turns.splitlines(True) if float(line.split()[3]) < MINUTE - 5]
    (data / references / "m1.rttm").write_text("".join(heard))
    if "only_words" in references:
        other = data / "word_and_vocalsounds" / "rttms" / "test"
        other.mkdir(parents=True)
        (other / "m1.rttm").write_text("SPEAKER m1 1 0 1 <NA> <NA> laughter <NA> <NA>\n")
    if uem:
        (data / "uems" / "test").mkdir(parents=True)
        (data / "uems" / "test" / "m1.uem").write_text("m1 1 0.0 60.0\n")


@pytest.mark.parametrize(
    ("corpus", "audio", "references", "published"),
    [
        ("ami-headsets", "amicorpus/m1/audio/m1.Mix-Headset.wav", "only_words/rttms/test", "18.8"),
        ("ami-distant", "m1.Array1-01.wav", "only_words/rttms/test", "22.7"),
        ("voxconverse", "voxconverse_test_wav/m1.wav", "voxconverse-master/test", "11.2"),
    ],
)
def test_a_corpus_as_published(
    repo_root: Path, folder: Path, tmp_path: Path,
    corpus: str, audio: str, references: str, published: str,
) -> None:  # fmt: skip
    lay_out(repo_root, tmp_path / "data", audio, references, uem=corpus != "voxconverse")
    done = run_script(
        folder / "run.sh", "--data", tmp_path / "data", "--corpus", corpus,
        "--work", tmp_path / "work", "--backends", "ac",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    ours = next(line for line in lines if line.startswith("| `ac` |")).split("|")
    full, fair, forgiving = (float(cell) for cell in ours[2:5])
    assert full > fair > forgiving >= 0
    assert "laughter" not in (tmp_path / "work" / "audio" / "all.rttm").read_text()
    assert any("pyannote.audio 3.1" in line and published in line for line in lines)
    assert (tmp_path / "work" / "audio" / "all.uem").exists() == (corpus != "voxconverse")


def test_what_is_missing_is_named(pairing: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no RTTM files in a folder test"):
        pairing.pair(tmp_path, "test", tmp_path / "out")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "m1.rttm").write_text("")
    with pytest.raises(InputError, match=r"no recording m1.Mix-Headset.wav \(1 missing\)"):
        pairing.pair(tmp_path, "test", tmp_path / "out", "Mix-Headset")
    assert not (tmp_path / "out").exists()


def test_the_corpus_must_be_known(folder: Path) -> None:
    done = run_script(folder / "run.sh", "--data", "x", "--corpus", "callhome")
    assert done.returncode == 2 and "--corpus is ami-headsets" in done.stderr
