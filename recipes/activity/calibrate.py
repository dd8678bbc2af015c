"""Fit the network's last layer to recordings with truth: calibrate.py WEIGHTS OUT FOLDER...

A training sees chunks whose level is off by chance and half of which are the busiest of three; what
the network says of whole recordings is too sure of some numbers of voices. Here a multinomial
regression from its answers, of which each is the mean over the levels at which it hears, to how
many speak makes them probabilities again. It is linear in the logits, so it moves into the weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from measure import paired, true_counts
from sklearn.linear_model import LogisticRegression

from diarize.activity import measure_gain
from diarize.activity.counter import MOST, VoiceCounter
from diarize.activity.ears import Context, Ears
from diarize.activity.level import as_chunks
from diarize.activity.network import CONTEXT, SPAN, load_counter, save_counter
from diarize.audio import open_recording

THINNED = 4  # of so many instants one is fitted to: neighbours say the same


def answers(audio: Path, rttm: Path, counter: VoiceCounter) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of one, two, three voices against none, and how many speak, instant by instant."""
    recording = open_recording(audio)
    ears = Ears(counter, Context(SPAN, CONTEXT, CONTEXT), share=0.0)
    gain = np.float32(measure_gain(recording))
    parts = [ears.push(as_chunks(block * gain))[0].counts for block in recording.blocks(30.72)]
    probable = np.concatenate([*parts, ears.finish()[0].counts])
    truth = np.minimum(true_counts(rttm, recording.duration), MOST)
    n = min(len(truth), len(probable))
    logits = np.log(np.maximum(probable[:n], 1e-9))
    return logits[:, 1:] - logits[:, :1], truth[:n]


def fold(counter: VoiceCounter, weights: np.ndarray, offsets: np.ndarray) -> None:
    """Put the regression behind the network into its last layer."""
    weights, offsets = weights - weights[:1], offsets - offsets[:1]
    through = torch.from_numpy(np.column_stack([-weights.sum(axis=1), weights])).float()  # (4, 4)
    each = counter.config.answers
    layer = counter.leave.weight.reshape(each, MOST + 1, -1)
    bias = counter.leave.bias.reshape(each, MOST + 1)
    counter.leave.weight.data = (through @ layer).flatten(0, 1)
    counter.leave.bias.data = (bias @ through.T + torch.from_numpy(offsets).float()).flatten()


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the calibrated weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    counter = load_counter(options.weights)
    parts = [answers(*pair, counter) for folder in options.folders for pair in paired(folder)]
    logits, truth = (np.concatenate(column)[::THINNED] for column in zip(*parts, strict=True))
    fitted = LogisticRegression(C=10.0, max_iter=300).fit(logits, truth)
    print(fitted.coef_.round(2), fitted.intercept_.round(2))
    fold(counter, fitted.coef_, fitted.intercept_)
    save_counter(counter, options.out)


if __name__ == "__main__":
    main()
