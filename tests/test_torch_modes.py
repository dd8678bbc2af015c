"""torch is as it begins inside, and as the caller left it outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
import torch

from diarize.torch_modes import usual_modes


@contextmanager
def doubles() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


MODES = {
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "device": lambda: torch.device("meta"),
    "dtype": doubles,
}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_inside_torch_is_as_it_begins(mode: Callable[[], AbstractContextManager[None]]) -> None:
    with mode():
        before = torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_default_device()
        with usual_modes():
            a = torch.ones(2, 2, requires_grad=True)
            product = (a @ a).sum()
            product.backward()
            assert product.dtype == torch.float32 and product.device.type == "cpu"
        after = torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_default_device()
        assert before == after


def test_random_numbers_stay_as_they_were() -> None:
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    with usual_modes():
        torch.rand(5)
    assert torch.equal(torch.rand(1), expected)
