"""What the README shows works as it says."""

from __future__ import annotations

import glob
import re
import shlex
import shutil
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from diarize.audio import SAMPLE_RATE, open_recording
from diarize.cli import run_command
from diarize.clustering import BACKENDS
from diarize.formats import read_rttm

SECONDS = 25.0  # of the bundled conversation: the whole of it is run by .ci/run


@pytest.fixture(scope="module")
def readme(repo_root: Path) -> str:
    return (repo_root / "README.md").read_text(encoding="utf-8")


def blocks(readme: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(
    repo_root: Path, readme: str, talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with the files that the README speaks of, where its commands run."""
    (tmp_path / "egs").mkdir()
    conversation = open_recording(repo_root / "egs" / "conversation.ogg", end=SECONDS)
    samples = np.concatenate(list(conversation.blocks()))
    soundfile.write(tmp_path / "egs" / "conversation.ogg", samples, SAMPLE_RATE)
    shutil.copy(repo_root / "egs" / "conversation.rttm", tmp_path / "egs")
    shutil.copy(talk, tmp_path / "meeting.wav")
    for name in ("a.flac", "b.flac"):
        soundfile.write(tmp_path / name, samples[: 5 * SAMPLE_RATE], SAMPLE_RATE)
    (tmp_path / "recordings" / "monday").mkdir(parents=True)
    shutil.copy(tmp_path / "a.flac", tmp_path / "recordings")
    shutil.copy(tmp_path / "b.flac", tmp_path / "recordings" / "monday")
    (tmp_path / "recordings.lst").write_text("recordings/a.flac\nrecordings/monday/b.flac\n")
    write_m4a(tmp_path / "interview.m4a", samples[: 8 * SAMPLE_RATE])
    for name, begin, end in (("anna", 1, 5), ("ben1", 6.5, 9), ("ben2", 9, 11)):
        voice = samples[round(begin * SAMPLE_RATE) : round(end * SAMPLE_RATE)]
        soundfile.write(tmp_path / f"{name}.wav", voice, SAMPLE_RATE)
    (corrections,) = blocks(readme, "rttm")
    (tmp_path / "corrections.rttm").write_text(corrections)
    subtitle = "1\n00:00:01,500 --> 00:00:04,000\nGood morning.\n"
    (tmp_path / "transcript.srt").write_text(subtitle)
    np.savez(tmp_path / "vectors.npz", embeddings=np.random.default_rng(0).normal(size=(20, 4)))
    (tmp_path / "mine.toml").write_text("")  # what the shell writes there
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_m4a(path: Path, samples: np.ndarray) -> None:
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=SAMPLE_RATE, layout="mono")
        frame = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        container.mux([*stream.encode(frame), *stream.encode(None)])


def commands(readme: str) -> list[list[str]]:
    """The arguments of every `diarize ...` in the shell's blocks."""
    lines = "\n".join(blocks(readme, "sh")).replace("\\\n", " ").splitlines()
    steps = [step.strip() for line in lines for step in line.split("&&")]
    return [shlex.split(step, comments=True)[1:] for step in steps if step.startswith("diarize ")]


def expanded(argument: str) -> list[str]:
    """What a shell makes of an argument."""
    return sorted(glob.glob(argument)) if "*" in argument else [argument]


def test_every_command_works(readme: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = commands(readme)
    assert len(shown) >= 5
    for command in shown:
        arguments = [part for argument in command for part in expanded(argument)]
        status = run_command(arguments)
        assert status == 0, (command, capsys.readouterr().err)
    assert set(read_rttm("conversation.rttm")) == {"conversation"}


def test_every_python_block_works(
    readme: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = blocks(readme, "python")
    assert len(shown) >= 2
    for block in shown:
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
        assert capsys.readouterr().out


def test_every_option_exists(readme: str, capsys: pytest.CaptureFixture[str]) -> None:
    known: dict[str, set[str]] = {}
    names = (
        "run",
        "stream",
        "score",
        "embed",
        "cluster",
        "tune",
        "simulate",
        "convert",
        "label",
        "info",
        "plot timeline",
    )
    for command in names:
        assert run_command([*command.split(), "--help"]) == 0
        known[command] = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    rows = [line.split(" | ")[0] for line in readme.splitlines() if line.startswith("| `-")]
    assert len(rows) >= 5
    for row in rows:
        named = set(re.findall(r"--[a-z][a-z-]*", row))
        assert named and named <= known["run"], row
    prose = re.sub(r"^```.*?^```", "", readme, flags=re.MULTILINE | re.DOTALL)
    mentioned = set(re.findall(r"`(--[a-z][a-z-]*)", prose))
    assert mentioned <= set.union(*known.values())


def test_the_backends_are_those_that_there_are(readme: str) -> None:
    (row,) = (line for line in readme.splitlines() if line.startswith("| `--backend"))
    described = row.split(" | ")[1]
    assert set(re.findall(r"`([a-z]+)`", described)) == set(BACKENDS)


def test_every_link_leads_somewhere(readme: str, repo_root: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", readme):
        if not target.startswith("http"):
            assert (repo_root / target).exists(), target
