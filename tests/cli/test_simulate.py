"""`diarize simulate`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from diarize.formats import read_rttm

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three people with a folder each; hums with pauses."""
    folder = tmp_path_factory.mktemp("speech")
    time = np.arange(16_000 * 6) / 16_000
    for number, name in enumerate("abc"):
        (folder / name).mkdir()
        hum = 0.1 * np.sign(np.sin(2 * np.pi * (90 + 40 * number) * time)) * (time % 1.5 < 1.2)
        soundfile.write(folder / name / "hum.wav", hum, 16_000)
    return folder


def simulate(cli: Cli, speech: Path, out: Path, *more: object) -> Any:
    options = ["--conversations", 2, "--speakers", "2-3", "--seconds", 8, "--seed", 1]
    return cli("simulate", speech, "--out", out, *options, *more)


def test_conversations_with_their_reference(cli: Cli, speech: Path, tmp_path: Path) -> None:
    result = simulate(cli, speech, tmp_path / "new" / "out")
    assert result.status == 0
    assert result.err == ""
    lines = [line.split("\t") for line in result.out.splitlines()]
    assert [Path(path).name for path, _ in lines] == [
        "conversation_000.flac", "conversation_001.flac",
    ]  # fmt: skip
    for path, seconds in lines:
        assert soundfile.info(path).duration == pytest.approx(float(seconds), abs=0.06)
        ((uri, reference),) = read_rttm(Path(path).with_suffix(".rttm")).items()
        assert uri == Path(path).stem
        assert set(reference.labels()) <= set("abc")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--speakers", "some"], "speakers some: MIN-MAX expected, such as 2-5"),
        (["--speakers", "3-2"], "speakers 3-2: not a range of positive numbers"),
        (["--speakers", "2-9"], "only 3 speakers, but 9 may be asked for"),
        (["--overlap", "0.9"], "--overlap"),
        (["--seconds", "1"], "--seconds"),
        (["--conversations", "0"], "--conversations"),
        (["--noise", "no-noise"], "no-noise: no such folder of noise"),
        (["--split", "train"], "a split was named"),
        (["--scene", "table"], "--scene goes with --turns"),
        (["--rooms", "x"], "--rooms goes with --turns"),
        (["--turns", "no-turns"], "no-turns"),
        (["--turns", "no-turns", "--overlap", "0.1"], "--overlap goes without --turns"),
        (["--turns", "no-turns", "--scene", "car"], "scene car: not one of headsets, table"),
    ],
)
def test_what_cannot_be_used_is_refused(
    cli: Cli, speech: Path, tmp_path: Path, options: list[str], reason: str
) -> None:
    simulate(cli, speech, tmp_path / "out", *options).assert_refused(reason)
    assert not list(tmp_path.iterdir())


def test_folders_that_cannot_be_used(cli: Cli, speech: Path, tmp_path: Path) -> None:
    simulate(cli, tmp_path / "no", tmp_path).assert_refused("no: no such folder of speech")
    file = tmp_path / "file"
    file.touch()
    simulate(cli, speech, file).assert_refused(f"{file}: a file, but a folder is needed")
    simulate(cli, speech, file / "out").assert_refused(f"cannot write {file / 'out'}")


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings of three people who talk in turn, half a second over each other."""
    folder = tmp_path_factory.mktemp("turns")
    for name in ("one", "two"):
        lines = [
            f"SPEAKER {name} 1 {1.5 * n:.3f} 2.000 <NA> <NA> p{n % 3} <NA> <NA>" for n in range(9)
        ]
        (folder / f"{name}.rttm").write_text("\n".join(lines) + "\n")
    return folder


def test_replayed_talk(cli: Cli, speech: Path, turns: Path, tmp_path: Path) -> None:
    noise = tmp_path / "noise"
    noise.mkdir()
    soundfile.write(noise / "n.wav", np.random.default_rng(0).normal(0, 0.1, 16_000), 16_000)
    more = ["--turns", turns, "--turns", f"{turns}:1/2", "--noise", noise, "--scene", "table"]
    for name in ("once", "again"):
        result = simulate(cli, speech, tmp_path / name, "--speakers", 3, *more)
        assert (result.status, result.err) == (0, "")
    lines = [line.split("\t") for line in result.out.splitlines()]
    assert [(Path(path).name, seconds) for path, seconds in lines] == [
        ("replay_000.flac", "8.0"), ("replay_001.flac", "8.0"),
    ]  # fmt: skip
    for path, _ in lines:
        ((uri, reference),) = read_rttm(Path(path).with_suffix(".rttm")).items()
        assert uri == Path(path).stem
        assert set(reference.labels()) == set("abc")
        assert reference.get_overlap().duration() > 0.5
        assert Path(path).read_bytes() == (tmp_path / "once" / Path(path).name).read_bytes()


def test_speech_of_several_folders(cli: Cli, speech: Path, tmp_path: Path) -> None:
    """Named as arguments, by an option, or by both."""
    more = tmp_path / "more"
    shutil.copytree(speech / "a", more / "d")
    command = ["--seconds", 8, "--speakers", 2, "--seed", 1]
    results = []
    for number, folders in enumerate(
        ([speech, more], ["--speech", speech, "--speech", more], [speech, "--speech", more])
    ):
        result = cli("simulate", *folders, "--out", tmp_path / str(number), *command)
        assert result.status == 0
        results.append((tmp_path / str(number) / "conversation_000.flac").read_bytes())
    assert results[0] == results[1] == results[2]
    shutil.copytree(speech / "b", more / "a")  # somebody else of the same name
    twice = cli("simulate", speech, more, "--out", tmp_path / "twice", *command)
    twice.assert_refused(f"{more}: speaker a is also in {speech}")
    cli("simulate", "--out", tmp_path / "none").assert_refused(
        "single-speaker speech is needed: SPEECH_DIR or --speech DIR"
    )
