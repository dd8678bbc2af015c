"""Signals whose handlers raise: not where C calls Python, in which an exception is lost.

libsndfile calls Python to read. What is raised there is printed, and the program goes on.
"""

from __future__ import annotations

import os
import threading
from types import FrameType

AGAIN = 0.01  # seconds after which a signal that was put off comes again


def put_off(number: int, frame: FrameType | None) -> bool:
    """Whether a signal came within such a call; then it comes again soon, until it did not.

    For handlers that raise.

    Args:
        number: of the signal.
        frame: that the handler was given.
    """
    while frame is not None:
        if frame.f_globals.get("__name__") == "soundfile" and "vio_" in frame.f_code.co_name:
            again = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return True
        frame = frame.f_back
    return False
