r"""Covariance of MFCC over windows of speech, against which `diarize adapt` aligns recordings.

    diarize simulate SPEECH_DIR --split train --noise NOISE_DIR --speakers 2-5 --conversations 40 \\
      --seconds 60 --overlap 0.08 --seed 1 --out CONVERSATIONS
    python recipes/embedding/speech_covariance.py CONVERSATIONS

Goes beside the shipped weights.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from diarize.activity import SileroActivity
from diarize.audio import open_recording
from diarize.mixing.speech import audio_files
from diarize.storage.files import write_weights
from diarize.training.alignment import covariance_of, scatter_of, speech_file


def main(folder: Path) -> None:
    """Measure all recordings of the folder, write the covariance."""
    activity = SileroActivity()
    scatters = []
    for path in audio_files(folder):
        recording = open_recording(path)
        scatters.append(scatter_of(recording, activity(recording)))
    covariance = covariance_of(scatters)
    assert covariance is not None, "no speech in the folder"
    write_weights(speech_file(), {"covariance": covariance.astype(np.float32)})
    print(f"{len(scatters)} recordings, {sum(n for _, n in scatters)} frames")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
