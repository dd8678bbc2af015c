"""Is a turn with confidence 0.8 right four times out of five? A table, and how the map was chosen.

    PYTHONPATH=recipes python recipes/conversations/reliability.py table CONVERSATIONS...
    PYTHONPATH=recipes python recipes/conversations/reliability.py fit CONVERSATIONS...

CONVERSATIONS are folders that `diarize simulate` wrote. A turn is right for that part of its length
in which the true speaker speaks whom its speaker is matched to (one-to-one, by the time that they
share in the recording); a turn of a speaker without a match is wrong throughout. Everything is
inferred, and all figures are weighted by seconds. `fit` prints sharpness, slope and offset of
diarize/embedding/knowledge.py, and the two shares of diarize/timeline/confidence.py, that give the
least cross-entropy where no network hears turns; then the log odds that it is given where one does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pyannote.core import Annotation, Segment
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit
from steps.markdown import print_table
from steps.trained import MODEL

from diarize.formats import read_rttm
from diarize.pipeline import Diarizer
from diarize.scoring.der import speaker_mapping
from diarize.scoring.elements import decompose
from diarize.timeline.confidence import (
    LEAST,
    calibrated,
    one_person,
    speaker_posteriors,
    turn_shares,
)
from diarize.voices.number import Doubts, doubts

SHARPNESSES = (2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0)
BINS = np.linspace(0.0, 1.0, 11)


class Turns(NamedTuple):
    """Seconds, share that is right, and what is claimed of it, of turns."""

    seconds: np.ndarray
    right: np.ndarray
    claimed: np.ndarray  # (turns,), or (turns, sharpnesses)
    duplicate: np.ndarray | float = 0.0  # (turns,): the speaker is one of the others
    merged: np.ndarray | float = 0.0  # (turns,): the speaker is two people
    heard: np.ndarray | float = 0.5  # (turns,): by the network that hears turns


def recordings(folders: Sequence[str]) -> Iterator[tuple[Path, Annotation]]:
    """Recordings and their true turns."""
    for folder in folders:
        for path in sorted(Path(folder).glob("*.flac")):
            (reference,) = read_rttm(path.with_suffix(".rttm")).values()
            yield path, reference


def how_right(found: Annotation, reference: Annotation, keys: Sequence[tuple[Segment, str]]) -> Any:
    """Share of each turn in which its speaker is right."""
    elements = decompose(reference, found)
    names, labels, shared = found.labels(), reference.labels(), elements.shared_time()
    matched = {
        names[heard]: reference.label_timeline(labels[said]).support()
        for said, heard in zip(*speaker_mapping(elements), strict=True)
        if shared[said, heard] > 0
    }
    return [
        matched[name].crop(segment).duration() / segment.duration if name in matched else 0.0
        for segment, name in keys
    ]


def shares(diarizer: Diarizer, path: Path, reference: Annotation) -> Turns:
    """What the decoding gives the turns of a recording, for each sharpness."""
    embedded = diarizer.embed(path)
    _, found, _ = diarizer.cluster(embedded)
    claimed = [
        turn_shares(found.turns, found.trellis.cells, speaker_posteriors(found, sharpness))
        for sharpness in SHARPNESSES
    ]
    keys, annotation = found.tracks, found.annotation(embedded.uri)
    right = how_right(annotation, reference, keys)
    seconds = np.array([segment.duration for segment, _ in keys])
    doubted = doubts(found.monologues, diarizer.likeness)
    rows = [doubted.names.index(name) for _, name in keys]
    doubtful = doubted.duplicate[rows], doubted.merged[rows]
    heard = 0.5 if found.heard is None else turn_shares(found.turns, *found.heard)
    return Turns(seconds, np.array(right), np.stack(claimed, axis=1), *doubtful, heard)


def confidence(diarizer: Diarizer, path: Path, reference: Annotation) -> Turns:
    """What is said of the turns of a recording."""
    found = diarizer.diarize(path)
    keys = list(found.confidence)
    right = how_right(found.annotation, reference, keys)
    seconds = np.array([segment.duration for segment, _ in keys])
    return Turns(seconds, np.array(right), np.array([found.confidence[key] for key in keys]))


def join(parts: Sequence[Turns]) -> Turns:
    """The turns of all recordings."""
    return Turns(*(np.concatenate(column) for column in zip(*map(_as_arrays, parts), strict=True)))


def _as_arrays(told: Turns) -> Iterator[np.ndarray]:
    """Columns, all of them as long."""
    return (np.broadcast_to(column, (len(told.seconds), *np.shape(column)[1:])) for column in told)


def cross_entropy(seconds: np.ndarray, right: np.ndarray, claimed: np.ndarray) -> float:
    """Mean surprise, nats."""
    terms = right * np.log(claimed) + (1 - right) * np.log(1 - claimed)
    return float(-(seconds * terms).sum() / seconds.sum())


def calibration_error(told: Turns) -> float:
    """Expected calibration error: what is claimed against what is right, bin by bin."""
    rows = np.clip(np.digitize(told.claimed, BINS) - 1, 0, len(BINS) - 2)
    off = np.bincount(rows, told.seconds * (told.claimed - told.right))
    return float(np.abs(off).sum() / told.seconds.sum())


def fit(folders: Sequence[str]) -> None:
    """Print the constants and what they come to, for each sharpness."""
    diarizer = Diarizer(model=MODEL)
    told = join([shares(diarizer, path, truth) for path, truth in recordings(folders)])
    constants = ("sharpness", "slope", "offset", "doubled", "shared")
    columns = (*constants, "cross-entropy", "calibration error")
    print_table(columns, fits(told))
    print()
    print_table(("log odds", *columns[-2:]), [fit_heard(told)])


def fit_heard(told: Turns) -> list[str]:
    """The log odds that go to what the network says of turns."""
    _, _, _, duplicate, merged, heard = _as_arrays(told)
    single = one_person(Doubts((), duplicate, merged))

    def claimed(odds: float) -> np.ndarray:
        return np.asarray(single * expit(logit(heard.clip(LEAST, 1 - LEAST)) + odds))

    best = minimize_scalar(lambda odds: cross_entropy(told.seconds, told.right, claimed(odds)))
    error = calibration_error(told._replace(claimed=claimed(best.x)))
    return [f"{best.x:.2f}", f"{best.fun:.3f}", f"{error:.3f}"]


def fits(told: Turns) -> Iterator[list[str]]:
    """The best constants for each sharpness."""
    _, _, _, duplicate, merged, _ = _as_arrays(told)
    doubted = Doubts((), duplicate, merged)
    for column, sharpness in enumerate(SHARPNESSES):

        def claimed(constants: np.ndarray, column: int = column) -> np.ndarray:
            slope, offset, *lost = constants
            single = one_person(doubted, *np.clip(lost, 0.0, 1.0))
            return np.asarray(single * calibrated(told.claimed[:, column], slope, offset))

        def surprise(constants: np.ndarray, claimed: Any = claimed) -> float:
            return cross_entropy(told.seconds, told.right, claimed(constants))

        first = np.array([4.0, -2.0, 0.5, 0.5])
        best = minimize(surprise, first, method="Nelder-Mead", options={"maxiter": 2000})
        error = calibration_error(told._replace(claimed=claimed(best.x)))
        yield [
            f"{sharpness:g}",
            *(f"{constant:.2f}" for constant in best.x),
            f"{best.fun:.4f}",
            f"{error:.3f}",
        ]


def table(folders: Sequence[str]) -> None:
    """Print the reliability of the confidence, and its expected calibration error."""
    diarizer = Diarizer(model=MODEL)
    report(join([confidence(diarizer, path, truth) for path, truth in recordings(folders)]))


def report(told: Turns) -> None:
    """Print the bins, and what the confidence as a whole is worth."""
    print_table(("confidence", "turns", "seconds", "mean confidence", "right"), bins(told))
    right = np.average(told.right, weights=told.seconds)
    surprise = cross_entropy(told.seconds, told.right, told.claimed)
    constant = cross_entropy(told.seconds, told.right, np.full(len(told.right), right))
    print(
        f"\nExpected calibration error {calibration_error(told):.3f}; cross-entropy "
        f"{surprise:.3f}, {constant:.3f} where all turns had the mean of {right:.3f}."
    )


def bins(told: Turns) -> Iterator[list[str]]:
    """A row for each bin that holds turns."""
    rows = np.clip(np.digitize(told.claimed, BINS) - 1, 0, len(BINS) - 2)
    for row in np.unique(rows):
        here = rows == row
        seconds = told.seconds[here]
        claimed = np.average(told.claimed[here], weights=seconds)
        right = np.average(told.right[here], weights=seconds)
        name = f"{BINS[row]:.1f} to {BINS[row + 1]:.1f}"
        yield [name, here.sum(), f"{seconds.sum():.0f}", f"{claimed:.3f}", f"{right:.3f}"]


if __name__ == "__main__":
    {"fit": fit, "table": table}[sys.argv[1]](sys.argv[2:])
