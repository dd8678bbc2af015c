"""The teacher that says how many speak: its answers in pieces, its weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from diarize.errors import InputError
from diarize.training.counting_teacher import CountingTeacher, load_teacher


@pytest.fixture(scope="module")
def teacher() -> CountingTeacher:
    """One that has learned nothing."""
    torch.manual_seed(0)
    made = CountingTeacher()
    made.filters.copy_(torch.randn_like(made.filters))
    return made.eval().requires_grad_(False)


def test_answers_are_probabilities_every_20_ms(teacher: CountingTeacher) -> None:
    samples = np.random.default_rng(0).normal(0, 0.1, 9 * 16_000).astype(np.float32)
    counts = teacher.counts(samples)
    assert counts.shape == (450, 4)
    assert np.allclose(counts.sum(axis=1), 1, atol=1e-5) and counts.min() >= 0
    # Whatever the level; and of 5 s, it is one stretch, whose voices are independent.
    assert np.allclose(teacher.counts(0.1 * samples), counts, atol=1e-3)
    with torch.inference_mode():
        speaks = torch.sigmoid(teacher(torch.from_numpy(samples[None, :80_000])))[0].numpy()
    expected = np.interp(100, np.arange(len(speaks)) * 270 / 320 + 495 / 320 - 0.5, speaks.sum(1))
    heard = teacher.counts(samples[:80_000])[100] @ np.arange(4)
    assert heard == pytest.approx(expected, abs=1e-4)


def test_weights_are_read_or_refused_in_a_line(teacher: CountingTeacher, tmp_path: Path) -> None:
    path = tmp_path / "teacher.safetensors"
    with pytest.raises(InputError, match="no such file"):
        load_teacher(path)
    save_file(teacher.state_dict(), path)
    again = load_teacher(path)
    assert torch.equal(again.filters, teacher.filters)
    for content in (b"nothing", (tmp_path / "teacher.safetensors").read_bytes()[:999]):
        path.write_bytes(content)
        with pytest.raises(InputError, match="no weights of the teacher") as refused:
            load_teacher(path)
        assert "\n" not in str(refused.value)
    save_file({"filters": teacher.filters}, path)
    with pytest.raises(InputError, match="no weights of the teacher"):
        load_teacher(path)
