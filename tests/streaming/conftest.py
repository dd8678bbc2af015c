"""A server that ends with its test, and what a client may send to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def reviews_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said depends on nothing but the sound, also on a machine that is too slow."""
    monkeypatch.setattr("diarize.streaming.review.LEAST", 60.0)
    monkeypatch.setattr("diarize.streaming.review.STREAMS", 1000)


@pytest.fixture
def passes_go_on(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Until it is set, every pass over the past waits."""
    from diarize.streaming.settling import Settler

    go_on, settle = threading.Event(), Settler.settle

    def slow(self: Settler, *arguments: Any) -> Any:
        assert go_on.wait(60)
        return settle(self, *arguments)

    monkeypatch.setattr(Settler, "settle", slow)
    return go_on


@pytest.fixture
def run() -> Iterator[Callable[..., Any]]:
    from diarize.streaming.server import StreamServer

    from .serving import Running

    began: list[Running] = []

    def begin(**options: Any) -> Running:
        began.append(Running(StreamServer(**options)))
        return began[-1]

    yield begin
    for running in began:
        running.end()


@pytest.fixture(scope="session")
def pcm(talk: Path) -> bytes:
    import soundfile

    return soundfile.read(talk, dtype="int16")[0].tobytes()
