"""An interview in which two voices are known: seconds of each are enough to call them by name.

python egs/interview.py
"""

from __future__ import annotations

from pathlib import Path

from diarize import Diarizer
from diarize.audio import open_recording
from diarize.voices.enrolment import enrol

RECORDING = Path(__file__).parent / "conversation.ogg"
CLIPS = {"anna": (1.0, 5.5), "ben": (6.3, 11.0)}  # seconds in which nobody else speaks

diarizer = Diarizer()
known = enrol(
    diarizer,
    {name: [open_recording(RECORDING, start=a, end=b)] for name, (a, b) in CLIPS.items()},
)
interview = open_recording(RECORDING, start=12.0, end=60.0)  # what comes after the clips
found = diarizer.diarize(interview, known=known)

for match in found.matches:
    print(f"{match.speaker} sounds like {match.voice}: {match.probability:.2f}")
for turn, _, speaker in found.annotation.itertracks(yield_label=True):
    print(f"{turn.start:7.2f} {turn.end:7.2f}  {speaker}")
