"""Training by several processes: torchrun itself starts two, on hums."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from diarize.training.processes import ALONE, Processes, is_first, join_processes

from ..making import write_hum

SCRIPT = """
import sys
from pathlib import Path
import torch
from safetensors.torch import save_file
from diarize.embedding import CompositionalEmbedding, EmbeddingConfig
from diarize.mixing.voices import Voices
from diarize.training.embedding import Recipe, train_embedding
from diarize.training.episodes import EpisodeConfig, EpisodeMaker
from diarize.training.loop import LoopConfig, Trainer
from diarize.training.processes import ALONE, join_processes

folder = Path(sys.argv[1])
recipe = Recipe(
    speech=[folder / "speech"],
    model=EmbeddingConfig(dim=16, hidden=8, layers=1),
    episodes=EpisodeConfig(
        episodes=1, speakers=4, pairs=2, triples=1, starts=2, changes=2, seconds=(0.6,)
    ),
    loop=LoopConfig(steps=3, warmup=1, cooldown=2, every=2, bf16=False, clip=1e9),
)
for name, until in (("whole", 3), ("parts", 2), ("parts", 3)):
    train_embedding(recipe, folder / name, workers=0, until=until)

with join_processes("cpu") as (processes, device):
    maker = EpisodeMaker(Voices.load(folder / "whole" / "voices"), [], recipe.episodes, 0)
    for name, among in (("both", processes), ("alone", ALONE)):
        torch.manual_seed(0)
        trainer = Trainer(CompositionalEmbedding(recipe.model), recipe.loop, device, among)
        trainer.advance(maker[processes.rank], None)
        found = {n: p.grad for n, p in trainer.model.named_parameters() if p.grad is not None}
        save_file(found, folder / f"{name}-{processes.rank}.safetensors")
"""


def test_two_processes_agree_and_go_on_after_an_interruption(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / "speech" / f"s{number}").mkdir(parents=True)
        write_hum(tmp_path / "speech" / f"s{number}" / "a.wav", 80 + 23 * number)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    starter = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [sys.executable, *starter, str(script), str(tmp_path)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    whole, parts = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "parts"))
    assert all(torch.equal(parts[name], tensor) for name, tensor in whole.items())

    # Both step along the mean of the two gradients.
    files = ("both-0", "both-1", "alone-0", "alone-1")
    both, again, first, second = (load_file(tmp_path / f"{name}.safetensors") for name in files)
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
