"""A phone call: two people at 8 kHz, some of the time at once.

The call is made here, of what two voices of the bundled conversation say alone. Of your own:
`diarize run call.wav --num-speakers 2`, or `--channels separate` where each has a channel.

python egs/call.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soxr

from diarize import Diarizer
from diarize.audio import SAMPLE_RATE, open_recording
from diarize.formats import read_rttm
from diarize.mixing.channel import NARROW, through_telephone
from diarize.mixing.conversation import ConversationConfig as Config
from diarize.mixing.conversation import simulate_conversation
from diarize.scoring import score_files

folder = Path(__file__).parent
samples = np.concatenate(list(open_recording(folder / "conversation.ogg").blocks()))
turns = read_rttm(folder / "conversation.rttm")["conversation"]
alone = turns.extrude(turns.get_overlap())
speech = {
    name: [samples[round(SAMPLE_RATE * a) : round(SAMPLE_RATE * b)] for a, b in timeline]
    for name, timeline in ((name, alone.label_timeline(name)) for name in ("anna", "ben"))
}

rng = np.random.default_rng(0)
call, truth = simulate_conversation(speech, Config(seconds=40, room=0), rng, uri="call")
narrow = soxr.resample(through_telephone(call, rng), SAMPLE_RATE, NARROW)

found = Diarizer(n_speakers=2).diarize((narrow, NARROW))

for note in found.notes:
    print("note:", note)
for turn, _, speaker in found.annotation.itertracks(yield_label=True):
    print(f"{turn.start:7.2f} {turn.end:7.2f}  {speaker}")
report = score_files({"call": truth}, {"call": found.annotation})
print(f"DER {report.total.der:.1%} of {report.total.reference_seconds:.0f} seconds of speech")
