"""Signals that come while libsndfile reads through Python end the program all the same."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import io, os, signal, sys, time
import soundfile
from diarize.signals import interrupt, terminate

signal.signal(signal.SIGTERM, terminate)
signal.signal(signal.SIGINT, interrupt)

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
    with soundfile.SoundFile(Struck(file.getvalue())) as sound:
        for _ in range(1000):
            sound.read(1000)
            sound.seek(0) if sound.tell() > 90_000 else None
            time.sleep(0.01)
finally:
    print("tidied")
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, -2)])
def test_an_exception_in_a_callback_is_not_lost(number: int, status: int) -> None:
    run = [sys.executable, "-c", PROGRAM, str(int(number))]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert done.returncode == status
    assert done.stdout == "tidied\n"
    assert "callback" not in done.stderr
