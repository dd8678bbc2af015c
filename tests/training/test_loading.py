"""What processes make, and what goes wrong in them."""

from __future__ import annotations

import errno

import pytest
import torch

from diarize.errors import InputError, explain
from diarize.training.loading import loader


class Squares:
    """A maker that refuses 7 and cannot read 8."""

    def __getitem__(self, number: int) -> torch.Tensor:
        if number == 7:
            raise InputError("seven.wav: is damaged")
        if number == 8:
            raise OSError(errno.EIO, "unreadable", "eight.wav")
        return torch.tensor(number**2)


@pytest.mark.parametrize("workers", [0, 1])
def test_items_come_in_the_order_of_their_numbers(workers: int) -> None:
    assert [int(item) for item in loader(Squares(), [3, 1, 2], workers)] == [9, 1, 4]
    before = torch.get_rng_state()
    assert [int(i) for i in loader(Squares(), [5], workers, 1, torch.Generator())] == [25]
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    ("number", "told"),
    [(7, (2, "seven.wav: is damaged")), (8, (1, "eight.wav: unreadable"))],
)
def test_what_goes_wrong_is_one_plain_line(
    workers: int, number: int, told: tuple[int, str]
) -> None:
    items = loader(Squares(), [2, number], workers)
    assert int(next(items)) == 4
    with pytest.raises((InputError, OSError)) as caught:
        next(items)
    assert explain(caught.value) == told
