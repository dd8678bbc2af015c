"""Signals end the program, and say nothing, also while libsndfile reads through Python or late."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import io, os, signal, sys, time
import soundfile
from diarize.signals import raised

class Struck(io.BytesIO):
    struck = False

    def readinto(self, buffer):
        if self.tell() > 60_000 and not self.struck:
            self.struck = True  # once: a second one would come while the first ends the program
            os.kill(os.getpid(), int(sys.argv[1]))
            for _ in range(100): pass
        return super().readinto(buffer)

file = io.BytesIO()
soundfile.write(file, [0.0] * 100_000, 16_000, format="WAV")
try:
    with raised(), soundfile.SoundFile(Struck(file.getvalue())) as sound:
        for _ in range(1000):
            sound.read(1000)
            sound.seek(0) if sound.tell() > 90_000 else None
            time.sleep(0.01)
finally:
    print("tidied")
"""

AGAIN = """
import os, sys, time
from diarize.signals import raised

with raised():
    try:
        os.kill(os.getpid(), int(sys.argv[1]))
        time.sleep(9)
    finally:
        for _ in range(3):
            time.sleep(float(sys.argv[2]))
            os.kill(os.getpid(), int(sys.argv[1]))
        print("tidied", flush=True)
"""

LATE = """
import os, sys, weakref
from diarize.signals import raised

class Library: ...

library = Library()
weakref.finalize(library, lambda: os.kill(os.getpid(), int(sys.argv[1])))
with raised():
    sys.exit(7)
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, -2)])
def test_an_exception_in_a_callback_is_not_lost(number: int, status: int) -> None:
    run = [sys.executable, "-c", PROGRAM, str(int(number))]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert done.returncode == status
    assert done.stdout == "tidied\n"
    assert "callback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_raised_while_the_interpreter_ends(number: int) -> None:
    run = [sys.executable, "-c", LATE, str(int(number))]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert done.returncode == -number
    assert not done.stderr


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, -2)])
def test_signals_that_follow_at_once_are_one(number: int, status: int) -> None:
    run = [sys.executable, "-c", AGAIN, str(int(number))]
    done = subprocess.run([*run, "0.01"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (status, "tidied\n")
    assert done.stderr.count("Traceback") == (number == signal.SIGINT)  # of the first
    later = subprocess.run([*run, "0.6"], capture_output=True, text=True, timeout=120)
    assert (later.returncode, later.stdout) == (-number, "")
