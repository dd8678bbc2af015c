"""Signals whose handlers raise: not where C calls Python, in which an exception is lost.

libsndfile calls Python to read. What is raised there is printed, and the program goes on.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

AGAIN = 0.01  # seconds after which a signal that was put off comes again


def terminate(number: int, frame: FrameType | None) -> None:
    """End, as an exception, so that temporary files are removed."""
    if not _put_off(number, frame):
        sys.exit(128 + number)


def interrupt(number: int, frame: FrameType | None) -> None:
    """What Ctrl-C does."""
    if not _put_off(number, frame):
        signal.default_int_handler(number, frame)


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
