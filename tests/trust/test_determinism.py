"""The same input, options and seed give the same bytes; other threads nearly the same turns."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from diarize.cli import run_command
from diarize.clustering import BACKENDS
from diarize.formats import load_annotations
from diarize.scoring import score_files


@pytest.fixture(scope="module")
def recordings(talk: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three parts of the conversation that ships."""
    folder = tmp_path_factory.mktemp("recordings")
    samples, rate = soundfile.read(talk)
    for number, part in enumerate(np.array_split(samples, 3)):
        soundfile.write(folder / f"part{number}.wav", part, rate)
    return sorted(folder.iterdir())


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_the_same_bytes_in_any_order(
    tmp_path: Path, recordings: list[Path], tiny_weights: Path, backend: str
) -> None:
    options = ["--model", str(tiny_weights), "--backend", backend, "--max-speakers", "4"]
    options += ["--vad", "none", "--format", "rttm", "--format", "json"]
    if backend == "dpgmm":  # five chains take five times as long
        options += ["-p", "n_chains=2"]
    if backend in ("oracle", "osc"):  # which are told the truth
        turns = tmp_path / "turns"
        turns.mkdir()
        for path in recordings:
            line = f"SPEAKER {path.stem} 1 0.5 2.0 <NA> <NA> ann <NA> <NA>\n"
            (turns / f"{path.stem}.rttm").write_text(line)
        options += ["--reference", str(turns)]
    results = []
    for order in ([0, 1, 2], [2, 0, 1]):
        out = tmp_path / f"out{len(results)}"
        inputs = [str(recordings[number]) for number in order]
        assert run_command(["run", *inputs, *options, "--out", str(out)]) == 0
        results.append({path.name: path.read_bytes() for path in out.glob("part*")})
    first, shuffled = results
    assert len(first) == 6
    assert shuffled == first


def test_another_number_of_threads(tmp_path: Path, repo_root: Path) -> None:
    truth = load_annotations(repo_root / "egs" / "conversation.rttm")
    errors = []
    for threads in ("1", "2"):
        out = tmp_path / f"{threads}.rttm"
        command = [
            sys.executable,
            "-m",
            "diarize",
            "run",
            "egs/conversation.ogg",
            "--end",
            "30",
            "--out",
            str(out),
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": threads}
        subprocess.run(command, cwd=repo_root, env=environment, check=True, capture_output=True)
        der = score_files(truth, load_annotations(out)).total.der
        assert der is not None
        errors.append(der)
    assert abs(errors[0] - errors[1]) <= 0.001
