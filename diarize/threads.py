"""Threads: one for torch, or for BLAS, and one that works ahead.

How many torch and BLAS have are settings of the whole process, which are changed here alone.

Several recordings may be worked on in threads of one process. Whoever asks for one thread gets it
at once; what holds for all is as it was before when the last of those who asked has left.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_here = threading.local()  # `depth`: how often this thread stands in `one_thread`
_in_torch = 0  # threads that do
_torch_threads = 1  # torch's when none did
_in_blas = 0  # threads in `one_blas_thread`
_blas_threads: list[tuple[Any, int]] = []  # each library's when none did


def torch_threads() -> int:
    """How many threads torch may use here: 1 in `one_thread`, whatever others have asked for."""
    import torch

    with _lock:
        return _torch_threads if _in_torch and not _depth() else torch.get_num_threads()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch work with one thread: the steps of an LSTM are too small to share.

    Threads would wait for each other. torch keeps a number for each thread, and one for those that
    are still to begin: both are set, and set back.
    """
    global _in_torch, _torch_threads
    import torch

    with _lock:
        if not _in_torch:
            _torch_threads = torch.get_num_threads()
        if not _depth():
            _in_torch += 1
        _here.depth = _depth() + 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _here.depth -= 1
            if not _here.depth:
                _in_torch -= 1
                torch.set_num_threads(_torch_threads)


def ahead(items: Iterable[T], most: int = 2) -> Iterator[T]:
    """Make the next items in another thread while one is worked on, where torch has several.

    Args:
        items: what is raised while one is made is raised where it would have been given.
        most: how many are held.
    """
    if torch_threads() == 1:
        yield from items
        return
    made, end = iter(items), object()
    pool = ThreadPoolExecutor(1)
    try:
        coming = deque(pool.submit(next, made, end) for _ in range(most))
        while (item := coming.popleft().result()) is not end:
            coming.append(pool.submit(next, made, end))
            yield item  # type: ignore[misc]
    finally:
        pool.shutdown(cancel_futures=True)


def _depth() -> int:
    return getattr(_here, "depth", 0)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS work with one thread, in all of the process: many small products wait for none."""
    global _in_blas, _blas_threads
    from threadpoolctl import ThreadpoolController

    with _lock:
        if not _in_blas:
            libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            _blas_threads = [(library, library.get_num_threads()) for library in libraries]
            _set_blas_threads((library, 1) for library in libraries)
        _in_blas += 1
    try:
        yield
    finally:
        with _lock:
            _in_blas -= 1
            if not _in_blas:
                _set_blas_threads(_blas_threads)


def _set_blas_threads(threads: Iterable[tuple[Any, int]]) -> None:
    """Set how many threads each library has, and leave it to others to set them next.

    From threadpoolctl 3.8 on, whoever sets OpenBLAS's is alone in that as long as it lives: what
    others ask for is not done, and nothing is said; also what they ask who leave last.
    """
    for library, number in threads:
        library.set_num_threads(number)
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()
