"""How the vectors of voices scatter, measured anew and written into a weights file.

    python recipes/embedding/knowledge.py SPEECH_DIR OUT.safetensors [MODEL] [SPLIT]

`diarize train embedding` does the same at its end; this is for weights that have none. Embeds
windows of every speaker of a split of speakers.tsv (default: train), and puts the scatter within a
voice and the axes along which speakers differ into a copy of the model (default: the one that
ships); all else that is known stays as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from diarize.embedding import load_model, save_model
from diarize.mixing.speech import find_utterances
from diarize.mixing.voices import collect_voices
from diarize.storage.weights import DEFAULT_MODEL
from diarize.training.knowledge import measured


def main(folder: Path, out: Path, name: str = DEFAULT_MODEL, split: str = "train") -> None:
    """Embed, measure, write."""
    model = load_model(name)
    voices = collect_voices(find_utterances(folder, split), speeds=(1.0,))
    model.knowledge = measured(model, voices, model.knowledge)
    save_model(model, out)
    scatter = model.knowledge.scatter
    if scatter.axes is not None:
        share = np.trace(scatter.axes.within) / np.trace(scatter.axes.total)
        print(f"variance within speakers {share:.3f} of that along the axes")
    print(f"scatter {scatter.variance:.3f}, {len(voices)} speakers")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:5])
