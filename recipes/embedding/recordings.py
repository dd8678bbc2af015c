"""How well models tell the speakers of labelled recordings apart.

    python recipes/embedding/recordings.py FOLDER MODEL [MODEL ...]

FOLDER holds recordings with RTTM files of the same stem. Prints the share of their windows, alone
and mixed, that go to their speakers, as `diarize train embedding --recordings` judges: the mean
over all sets of all recordings, its difference from the first model's, and that one's standard
error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from diarize.embedding import load_model
from diarize.formats.labelled import labelled_recordings
from diarize.scoring.report import standard_error
from diarize.training.identification import shares
from diarize.training.labelled import identifiable_seconds
from diarize.training.single_speaker import single_speaker_speech


def main(folder: Path, models: Sequence[str]) -> None:
    """Read, ask every model the same, print."""
    useful = [one for one in labelled_recordings([folder]) if identifiable_seconds(one[1])]
    speech = [single_speaker_speech(*one, least=0.0) for one in useful]
    found = [shares(speech, load_model(name), seed=100) for name in models]
    print(f"{len(useful)} recordings, {len(found[0])} sets\n")
    print("| model | right | difference |\n|---|---|---|")
    for name, own in zip(models, found, strict=True):
        gains = 100 * (own - found[0])
        error = standard_error(gains)
        print(f"| {name} | {100 * own.mean():.1f} | {gains.mean():+.1f} ± {error:.1f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
