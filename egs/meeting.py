"""A meeting: who spoke when, how sure that is, and how right.

python egs/meeting.py
"""

from __future__ import annotations

from pathlib import Path

from diarize import Diarizer
from diarize.formats import read_rttm
from diarize.scoring import score_files

folder = Path(__file__).parent

found = Diarizer(backend="ckm", seed=0).diarize(folder / "conversation.ogg")

for turn, track, speaker in found.annotation.itertracks(yield_label=True):
    sure = found.confidence[turn, track]
    print(f"{turn.start:7.2f} {turn.end:7.2f}  {speaker}  {sure:.2f}")
print("number of speakers:", {n: f"{p:.0%}" for n, p in found.number.items()})

reference = read_rttm(folder / "conversation.rttm")
report = score_files(reference, {found.annotation.uri: found.annotation})
print(f"DER {report.total.der:.1%} of {report.total.reference_seconds:.0f} seconds of speech")
