"""A stream: who speaks, told while they speak, and settled with hindsight.

python egs/stream.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diarize import StreamingDiarizer
from diarize.audio import SAMPLE_RATE, open_recording

recording = open_recording(Path(__file__).parent / "conversation.ogg", end=30.0)
diarizer = StreamingDiarizer(rate=SAMPLE_RATE, latency=2.0)

for block in recording.blocks(0.1):  # as a sound card would hand them over
    for turn in diarizer.push(np.asarray(block)):
        print(f"{turn.start:7.2f} {turn.end:7.2f}  {' + '.join(turn.speakers)}")

print("\nSettled:")
for segment, _, speaker in diarizer.finish().itertracks(yield_label=True):
    print(f"{segment.start:7.2f} {segment.end:7.2f}  {speaker}")
print("live names:", dict(diarizer.speaker_map()))
