"""Mix the rows of each trial and send them through f: the trial's NPZ beside its JSON."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from trials import mix, pooled_voices

from diarize.embedding import find_model, load_model
from diarize.errors import InputError
from diarize.features import mfcc
from diarize.storage.files import atomic_output, file_sha256

BATCH = 256


def main() -> None:
    """Embed the trials that have no NPZ yet."""
    parser = argparse.ArgumentParser()
    parser.add_argument("speech", type=Path)
    parser.add_argument("trials", type=Path, help="WORK/valid or WORK/test")
    parser.add_argument("--split", required=True)
    parser.add_argument("--pool", required=True, nargs="+")
    parser.add_argument("--model", required=True)
    a = parser.parse_args()
    model, digest = load_model(a.model), file_sha256(find_model(a.model))
    voices = pooled_voices(a.speech, a.split, a.pool)
    numbers = {speaker: number for number, speaker in enumerate(voices.speakers.tolist())}
    for plan_path in sorted(a.trials.glob("*/*.json")):
        out = plan_path.with_suffix(".npz")
        if out.exists():
            if str(np.load(out)["model_sha256"]) != digest:
                raise InputError(f"{out}: of another model, as the results are; use another WORK")
            continue
        plan = json.loads(plan_path.read_text())
        speakers = [numbers[speaker] for speaker in plan["speakers"]]
        vectors = []
        for first in range(0, len(plan["sets"]), BATCH):
            part = slice(first, first + BATCH)
            sound = mix(voices, speakers, plan["sets"][part], plan["begins"][part])
            with torch.inference_mode():
                vectors.append(model(torch.from_numpy(mfcc(sound))).numpy())
        with atomic_output(out) as file:
            np.savez(
                file,
                embeddings=np.concatenate(vectors),
                model=np.array(a.model),
                model_sha256=np.array(digest),
            )


if __name__ == "__main__":
    main()
