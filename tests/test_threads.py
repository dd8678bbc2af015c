"""Threads of torch and BLAS, when several of one process ask for one; and one that works ahead."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from diarize.clustering import make
from diarize.embedding.model import CompositionalEmbedding, EmbeddingConfig
from diarize.embedding.windows import BATCH, Batches
from diarize.threads import ahead, one_blas_thread, one_thread, torch_threads


@pytest.fixture(autouse=True)
def three() -> Iterator[None]:
    """Torch works with three threads, and BLAS with two; afterwards as before."""
    make("ckm", n_speakers=1, max_set_size=1).fit(np.eye(3, 4))  # loads all libraries
    before, blas = torch.get_num_threads(), blas_threads().pop()
    torch.set_num_threads(3)
    set_blas_threads(2)
    yield
    torch.set_num_threads(before)
    set_blas_threads(blas)


def in_a_thread(ask: Callable[[], Any]) -> Any:
    """What a thread answers that has just begun."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(ask()))
    thread.start()
    thread.join()
    return answers[0]


def overlapping(
    limit: Callable[[], AbstractContextManager[None]], see: Callable[[], Any]
) -> list[Any]:
    """What is seen: one thread asks, another asks, the first leaves, the other leaves.

    Both live until all is over.
    """
    first_in, second_in, first_out, over = (threading.Event() for _ in range(4))
    seen = []

    def first() -> None:
        with limit():
            seen.append(see())
            first_in.set()
            second_in.wait(60)
        seen.append(see())
        first_out.set()
        over.wait(60)

    def second() -> None:
        first_in.wait(60)
        with limit():
            seen.append(see())
            second_in.set()
            first_out.wait(60)
        seen.append(see())
        over.set()

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def set_blas_threads(number: int) -> None:
    """For all threads: where OpenBLAS heeds one thread alone, in one that ends at once."""
    in_a_thread(lambda: threadpool_limits(number, user_api="blas"))


def test_two_threads_who_ask_for_one_give_all_back() -> None:
    overlapping(one_thread, torch.get_num_threads)
    assert torch.get_num_threads() == 3
    assert in_a_thread(torch.get_num_threads) == 3
    assert overlapping(one_blas_thread, blas_threads) == [{1}, {1}, {1}, {2}]
    assert blas_threads() == {2}


def test_a_thread_that_asked_once_does_not_keep_the_word_for_as_long_as_it_lives() -> None:
    asked, over = threading.Event(), threading.Event()

    def ask() -> None:
        with one_blas_thread():
            pass
        asked.set()
        over.wait(60)

    thread = threading.Thread(target=ask)
    thread.start()
    asked.wait(60)
    with one_blas_thread():
        assert blas_threads() == {1}
    with threadpool_limits(1, user_api="blas"):
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    over.set()
    thread.join()


def test_a_thread_that_begins_meanwhile_is_not_held_back() -> None:
    def other() -> tuple[int, int, int]:
        outside = torch_threads()
        with one_thread():
            inside = torch_threads()
        return outside, inside, torch.get_num_threads()

    with one_thread():
        assert torch_threads() == torch.get_num_threads() == 1
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
        assert in_a_thread(other) == (3, 1, 3)
        assert torch.get_num_threads() == 1
    assert torch_threads() == torch.get_num_threads() == 3


def test_what_goes_wrong_gives_them_back() -> None:
    for limit in (one_thread, one_blas_thread):
        with pytest.raises(RuntimeError), limit():
            raise RuntimeError
    assert in_a_thread(torch.get_num_threads) == 3
    assert blas_threads() == {2}


def test_batches_and_clusterings_leave_no_trace_while_others_work() -> None:
    """A pool for f, and CKM, begin while another thread has asked for one, and end after it."""
    model = CompositionalEmbedding(EmbeddingConfig(dim=8, hidden=4, layers=1)).eval()
    out = np.zeros((BATCH, 8), np.float32)
    frames = np.zeros((model.config.stack, 32), np.float32)
    entered, begun = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread(), one_blas_thread():
            entered.set()
            begun.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(60)
    with Batches(model, out) as batches:
        assert batches.most == 3
        for row in range(BATCH):
            batches.add(row, frames)
        begun.set()
        thread.join()
    assert torch.get_num_threads() == in_a_thread(torch.get_num_threads) == 3
    make("ckm", n_speakers=1, max_set_size=1).fit(np.eye(3, 4))
    assert blas_threads() == {2}


def test_items_are_made_ahead_in_another_thread() -> None:
    makers: list[threading.Thread] = []
    second = threading.Event()

    def items() -> Iterator[int]:
        for item in range(5):
            makers.append(threading.current_thread())
            if item == 1:
                second.set()
            yield item

    given = ahead(items())
    assert next(given) == 0
    assert second.wait(60)  # which nobody has asked for
    assert list(given) == [1, 2, 3, 4]
    assert len(set(makers)) == 1 and makers[0] is not threading.current_thread()
    assert not makers[0].is_alive()
    with one_thread():
        assert list(ahead(items())) == [0, 1, 2, 3, 4]
    assert makers[-1] is threading.current_thread()


def test_what_is_raised_ahead_comes_in_its_place() -> None:
    def items() -> Iterator[int]:
        yield 0
        raise ValueError("no more")

    given = ahead(items())
    assert next(given) == 0
    with pytest.raises(ValueError, match="no more"):
        next(given)


def test_no_more_is_made_ahead_than_is_held_nor_after_the_end() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        while True:
            made.append(len(made))
            yield made[-1]

    before = threading.active_count()
    given = ahead(items(), 3)
    assert next(given) == 0
    given.close()
    assert threading.active_count() == before
    assert len(made) <= 4
