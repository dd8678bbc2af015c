"""The Python API on the bundled conversation: who spoke when, and how right that is.

python egs/api.py
"""

from __future__ import annotations

from pathlib import Path

from diarize import Diarizer
from diarize.formats import read_rttm
from diarize.scoring import score_files

folder = Path(__file__).parent

diarizer = Diarizer(backend="ckm", seed=0)
annotation = diarizer(folder / "conversation.ogg")

for turn, _, speaker in annotation.itertracks(yield_label=True):
    print(f"{turn.start:7.2f} {turn.end:7.2f}  {speaker}")

reference = read_rttm(folder / "conversation.rttm")
report = score_files(reference, {annotation.uri: annotation})
print(f"DER {report.total.der:.1%} of {report.total.reference_seconds:.0f} seconds of speech")
