"""The script that trains the network that hears where turns lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from diarize.timeline.evidence import OF_CELL, OF_SPEAKER, SLICES
from diarize.timeline.resegmenter import load_resegmenter

from ..making import annotation, decoded_by_shorter_windows


@pytest.fixture(scope="module")
def resegmentation(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("conversations/resegmentation.py")


def examples(resegmentation: ModuleType, speakers: int, cells: int) -> object:
    """Who is near is heard, whatever was decoded."""
    rng = np.random.default_rng(speakers)
    seen = rng.standard_normal((speakers, cells, OF_CELL + OF_SPEAKER)).astype(np.float32)
    seen[:, :, -SLICES:] = rng.random((speakers, cells, 1)) < 0.5
    near = np.repeat(seen[:, :, OF_CELL, None] < 0, SLICES, axis=2).astype(np.float32)
    seconds = np.full((cells, SLICES), 0.02, np.float32)
    return resegmentation.Example(*map(torch.from_numpy, (seen, near, seconds)))


def test_a_batch_holds_one_number_of_speakers(resegmentation: ModuleType) -> None:
    known = [examples(resegmentation, k, n) for k, n in ((2, 30), (3, 40), (2, 600), (2, 50))]
    drawn = list(resegmentation.batches(known, np.random.default_rng(0)))
    assert sorted(len(batch) for batch in drawn) == [1, 4]
    for batch in drawn:
        assert len({one.seen.shape for one in batch}) == 1
    assert {one.seen.shape[1] for batch in drawn for one in batch} == {30, 40}


def test_how_many_speak_may_be_heard_wrongly(resegmentation: ModuleType) -> None:
    torch.manual_seed(0)
    given = torch.rand(3, 2, 50, OF_CELL + OF_SPEAKER)
    wrong = resegmentation.misheard(given) - given
    assert not wrong[..., 4 * SLICES :].any()
    nats = wrong[..., : 4 * SLICES].unflatten(-1, (SLICES, 4))
    assert not nats[..., 1].any() and nats[..., [0, 2, 3]].all(dim=2).any()
    torch.testing.assert_close(nats[:, 0] == 0, nats[:, 1] == 0)  # alike for both speakers
    later = resegmentation.misheard(given.new_full(given.shape, 4.0))[..., 2] - 4  # unbounded
    near, far = ((later[..., gap:] * later[..., :-gap]).mean() for gap in (1, 25))
    assert near > far


def test_it_learns_who_is_heard(
    resegmentation: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(resegmentation, "AVERAGED", 0.5)
    known = [examples(resegmentation, 2, 60) for _ in range(16)]
    network = resegmentation.fit(known, epochs=60)
    given = known[0].seen[None]
    with torch.no_grad():
        right = ((network(given) > 0) == (known[0].heard > 0)).float().mean()
        before = ((given[..., -SLICES:] > 0) == (known[0].heard > 0)).float().mean()
    assert before < 0.7 < 0.9 < right
    path = tmp_path / "weights.safetensors"
    resegmentation.save_resegmenter(network, path)
    assert not load_resegmenter(path).training


def test_speakers_are_those_of_the_reference_with_whom_they_share_most_time(
    resegmentation: ModuleType,
) -> None:
    short = decoded_by_shorter_windows()
    second = short.turns[1]
    reference = annotation((0.0, 2.0, "x"), (second[0], second[1], "y"))
    example = resegmentation.Example.of(short, reference)
    heard = example.heard.flatten(1).sum(dim=1) * 0.02  # seconds
    assert heard.tolist() == pytest.approx([2.0, second[1] - second[0]], abs=0.05)
