"""Signals that raise an exception, but not where nobody would catch it.

libsndfile calls Python to read: what is raised there is printed, and the program goes on. So it is
with what is raised while the interpreter takes itself apart.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN = 0.01  # seconds after which a signal that was put off comes again
ONE_WISH = 1.0  # seconds in which signals are one: `timeout` sends two


@contextmanager
def raised() -> Iterator[None]:
    """Have signals that ask to end raise; after that nothing is left to clean up, and they kill."""
    handlers: dict[int, Callable[[int, FrameType | None], None]] = {signal.SIGTERM: terminate}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it is not ignored
        handlers[signal.SIGINT] = interrupt
    for number, handler in handlers.items():
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            signal.signal(number, signal.SIG_DFL)


def terminate(number: int, frame: FrameType | None) -> None:
    """End, as an exception, so that temporary files are removed."""
    if not _put_off(number, frame):
        _end_at_once_if_repeated()
        sys.exit(128 + number)


def interrupt(number: int, frame: FrameType | None) -> None:
    """What Ctrl-C does."""
    if not _put_off(number, frame):
        _end_at_once_if_repeated()
        signal.default_int_handler(number, frame)


def _end_at_once_if_repeated() -> None:
    """From now on, no signal raises in the midst of what the first one has left to do."""
    asked = time.monotonic()

    def again(number: int, _: FrameType | None) -> None:
        if time.monotonic() - asked > ONE_WISH:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) in (interrupt, terminate):
            signal.signal(number, again)


def _put_off(number: int, frame: FrameType | None) -> bool:
    """Whether a signal came where C calls Python; then it comes again soon, until it did not."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "soundfile" and "vio_" in frame.f_code.co_name:
            again = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return True
        frame = frame.f_back
    return False
