"""Training by several processes: torchrun itself starts two, on hums."""

from __future__ import annotations

import os
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from diarize.training.processes import ALONE, Processes, is_first, join_processes

from ..making import write_hum

RECIPE = """
import sys
from pathlib import Path
import torch
from diarize.embedding import EmbeddingConfig
from diarize.training.embedding import EmbeddingRecipe, train_embedding
from diarize.training.episodes import EpisodeConfig
from diarize.training.loop import LoopConfig

folder, until = Path(sys.argv[1]), int(sys.argv[2])
recipe = EmbeddingRecipe(
    speech=[folder / "speech"],
    model=EmbeddingConfig(dim=16, hidden=8, layers=1),
    episodes=EpisodeConfig(
        episodes=1, speakers=4, pairs=2, triples=1, starts=2, changes=2, seconds=(0.6,)
    ),
    loop=LoopConfig(steps=3, warmup=1, cooldown=2, every=2, bf16=False, clip=1e9),
)
"""
TRAIN = (
    RECIPE
    + """
train_embedding(recipe, folder / sys.argv[3], workers=0, until=until)
threads = Path("/proc/self/task").glob("*/comm")
assert "gloo" not in "".join(thread.read_text() for thread in threads), "threads at the exit"
"""
)
GRADIENTS = (
    RECIPE
    + """
from copy import deepcopy
from safetensors.torch import save_file
from diarize.embedding import CompositionalEmbedding
from diarize.training.episodes import EpisodeMaker
from diarize.training.loop import Trainer
from diarize.training.processes import ALONE, join_processes
from diarize.mixing.voices import Voices

with join_processes("cpu") as (processes, device):
    maker = EpisodeMaker(Voices.load(folder / "one" / "voices"), [], recipe.episodes, 0)
    torch.manual_seed(0)
    model = CompositionalEmbedding(recipe.model)
    for name, team in (("own", ALONE), ("both", processes)):
        trainer = Trainer(deepcopy(model), recipe.loop, device, team)
        trainer.advance(maker[processes.rank])
        found = {n: p.grad for n, p in trainer.model.named_parameters() if p.grad is not None}
        save_file(found, folder / f"{name}-{processes.rank}.safetensors")
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("processes")
    for number in range(4):
        (folder / "speech" / f"s{number}").mkdir(parents=True)
        write_hum(folder / "speech" / f"s{number}" / "a.wav", 80 + 23 * number)
    return folder


def run(forked: Path, folder: Path, script: str, *arguments: str) -> None:
    """Two processes, as torchrun starts them: new ones, though it itself is a fork."""
    path = folder / "script.py"
    path.write_text(script)
    starter = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [str(forked / "python"), *starter, str(path), str(folder)]
    done = subprocess.run(
        [*command, *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_two_processes_agree_and_go_on_after_an_interruption(folder: Path, forked: Path) -> None:
    run(forked, folder, TRAIN, "3", "one")
    run(forked, folder, TRAIN, "2", "parts")
    run(forked, folder, TRAIN, "3", "parts")
    whole, parts = (load_file(folder / name / "model.safetensors") for name in ("one", "parts"))
    assert all(torch.equal(parts[name], tensor) for name, tensor in whole.items())

    # Both step along the mean of the two gradients.
    run(forked, folder, GRADIENTS, "0", "gradients")
    files = ("both-0", "both-1", "own-0", "own-1")
    both, again, first, second = (load_file(folder / f"{name}.safetensors") for name in files)
    for name, gradient in both.items():
        assert torch.equal(gradient, again[name])
        torch.testing.assert_close(gradient, (first[name] + second[name]) / 2)


def test_the_others_wait_while_the_first_collects_voices(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[dict[str, Any]] = []

    def init(backend: str, **options: Any) -> None:
        joined.append({"backend": backend, **options})

    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(torch.distributed, "init_process_group", init)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "destroy_process_group", lambda: None)
    with join_processes("cpu") as (processes, _):
        assert processes == Processes(1, 2)
    (options,) = joined
    assert options["timeout"] >= timedelta(days=1)


def test_alone_nothing_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.delenv("RANK", raising=False)
    with join_processes("cpu") as (processes, device):
        assert processes is ALONE and device == "cpu"
    assert ALONE.first and is_first()
    assert not Processes(rank=1, count=2).first
    tensor = torch.ones(3)
    ALONE.average([tensor])
    ALONE.wait()
    assert torch.equal(tensor, torch.ones(3))
    monkeypatch.setenv("RANK", "1")
    assert not is_first()
