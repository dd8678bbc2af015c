r"""What is heard, against the truth.

    PYTHONPATH=recipes python measure.py (heard|whole|sure) FOLDER... [--real FOLDER...] \
        [--weights FILE]

A folder holds recordings with an RTTM file of the same name beside each. `heard` prints what the
network and silero-vad hear: of speech, of overlap, of how many speak. silero-vad has the threshold
that is best for each folder; the network has its own. `whole` prints the diarization error rate of
the whole pipeline with either (no collar, overlap scored). `sure`, which needs no truth, prints for
each recording the seconds in which the network hears speech, those that are left where it is
doubted, and how surely a voice is heard in the former. --weights: a trained network,
in place of the one that ships. --real: recordings of people whom no f has heard, so that `whole`
takes the one that ships.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score
from steps.markdown import errors, print_table
from steps.trained import MODEL

from diarize import Diarizer
from diarize.activity import Heard, NetworkActivity, SileroActivity, measure_gain
from diarize.activity.counter import MOST
from diarize.activity.counts import INSTANT
from diarize.activity.level import as_chunks
from diarize.activity.network import DEFAULT_COUNTER
from diarize.activity.rejection import HEARD, SUREST, reject_non_voices
from diarize.activity.silero import SileroNetwork
from diarize.audio import open_recording
from diarize.errors import InputError
from diarize.formats.table import load_annotations
from diarize.mixing.speech import audio_files
from diarize.scoring import score_files

THRESHOLDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
SEVERAL = 0.5  # probability of two or more from which on they are taken to be heard


@dataclass
class Tally:
    """What one listener heard in the recordings of a folder, instant after instant of 20 ms."""

    truth: list[np.ndarray] = field(default_factory=list)
    speech: list[np.ndarray] = field(default_factory=list)
    counts: list[np.ndarray] = field(default_factory=list)
    several: list[np.ndarray] = field(default_factory=list)

    def add(self, truth: np.ndarray, heard: Heard) -> None:
        """Take in one recording."""
        n = len(truth)
        speech = np.zeros(n, bool)
        for begin, end in heard.regions / INSTANT:
            speech[round(begin) : round(end)] = True
        self.truth.append(truth)
        self.speech.append(speech)
        if heard.counts is None:
            self.counts.append(speech.astype(np.int64))
        else:
            self.counts.append(heard.counts.probabilities[:n].argmax(axis=1))
            self.several.append(heard.counts.overlap[:n])

    def speech_error(self) -> tuple[float, float]:
        """Missed and false speech, as shares of the true one."""
        spoken, heard = np.concatenate(self.truth) > 0, np.concatenate(self.speech)
        total = max(1, spoken.sum())
        return float((spoken & ~heard).sum() / total), float((heard & ~spoken).sum() / total)

    def overlap(self) -> tuple[float, float, float] | None:
        """Precision, recall and average precision of overlap; None: nobody listened for it."""
        two = np.concatenate(self.truth) > 1
        if not self.several or not two.any():
            return None
        several = np.concatenate(self.several)
        found = several >= SEVERAL
        right = (two & found).sum()
        average = float(average_precision_score(two, several))
        return float(right / max(1, found.sum())), float(right / two.sum()), average

    def count_error(self) -> float:
        """Mean difference of how many were heard and how many spoke; three stand for more."""
        spoken = np.minimum(np.concatenate(self.truth), MOST)
        return float(np.abs(np.concatenate(self.counts) - spoken).mean())


def paired(folder: Path) -> list[tuple[Path, Path]]:
    """The recordings of a folder, with their references."""
    pairs = [(path, path.with_suffix(".rttm")) for path in audio_files(folder)]
    if not pairs:
        raise InputError(f"{folder}: no recordings")
    return [(audio, rttm) for audio, rttm in pairs if rttm.is_file()]


def true_counts(rttm: Path, seconds: float) -> np.ndarray:
    """How many speak at each instant."""
    (annotation,) = load_annotations(rttm).values()
    counts = np.zeros(round(seconds / INSTANT), np.int64)
    for name in annotation.labels():
        speaks = np.zeros(len(counts), bool)
        for segment in annotation.label_timeline(name):
            speaks[round(segment.start / INSTANT) : round(segment.end / INSTANT)] = True
        counts += speaks
    return counts


def hear_network(pairs: Sequence[tuple[Path, Path]], weights: str | Path) -> Tally:
    """Let the network hear all recordings."""
    tally, activity = Tally(), NetworkActivity(model=weights)
    for audio, rttm in pairs:
        recording = open_recording(audio)
        tally.add(true_counts(rttm, recording.duration), activity(recording))
    return tally


def hear_silero(pairs: Sequence[tuple[Path, Path]]) -> dict[float, Tally]:
    """Let silero-vad hear all recordings; what it makes of them at each threshold."""
    tallies = {threshold: Tally() for threshold in THRESHOLDS}
    for audio, rttm in pairs:
        recording = open_recording(audio)
        samples = np.concatenate(list(recording.blocks()))
        probabilities = SileroNetwork()(as_chunks(samples * np.float32(measure_gain(recording))))
        truth = true_counts(rttm, recording.duration)
        for threshold, tally in tallies.items():
            silero = SileroActivity(threshold=threshold)
            tally.add(truth, Heard(silero.regions(probabilities, len(samples))))
    return tallies


def of_heard(folders: Sequence[Path], weights: str | Path) -> Iterator[list[str]]:
    """A row for the network and one for silero-vad for each folder."""
    for folder in folders:
        pairs = paired(folder)
        yield [folder.name, "network", *_cells(hear_network(pairs, weights))]
        tallies = hear_silero(pairs)
        best = min(tallies, key=lambda p: sum(tallies[p].speech_error()))
        yield [folder.name, f"silero-vad at {best}", *_cells(tallies[best])]


def _cells(tally: Tally) -> list[str]:
    miss, false = tally.speech_error()
    found = tally.overlap()
    overlap = "" if found is None else ", ".join(f"{value:.2f}" for value in found)
    return [f"{100 * miss:.1f} + {100 * false:.1f}", overlap, f"{tally.count_error():.3f}"]


def of_whole(
    folders: Sequence[Path], weights: str | Path, model: str = MODEL
) -> Iterator[list[str]]:
    """The error rates of the pipeline with either listener for each folder."""
    listeners = {
        "network": Diarizer(activity=NetworkActivity(model=weights), model=model),
        "silero-vad": Diarizer(activity=SileroActivity(), counts=False, model=model),
    }
    for folder in folders:
        truth = {audio: load_annotations(rttm) for audio, rttm in paired(folder)}
        reference = {audio.stem: next(iter(found.values())) for audio, found in truth.items()}
        for name, diarizer in listeners.items():
            found = {audio.stem: diarizer(audio) for audio in truth}
            total = vars(score_files(reference, found).total)
            parts = ("der", "missed_detection", "false_alarm", "confusion")
            yield [folder.name, name, *errors(total, *parts)]


def of_sure(folders: Sequence[Path], weights: str | Path) -> Iterator[list[str]]:
    """Seconds heard in each recording, how surely as a voice's, and what is left of them."""
    network = NetworkActivity(model=weights)
    for path in (path for folder in folders for path in audio_files(folder)):
        (counts, voiced), _ = network.answer(open_recording(path))
        on = 1 - counts[:, 0] >= HEARD
        left = 1 - reject_non_voices(counts, voiced)[:, 0] >= HEARD
        seconds = [f"{INSTANT * part.sum():.1f}" for part in (on, left)]
        mean = f"{voiced[on].clip(-SUREST, SUREST).mean():.2f}" if on.any() else ""
        yield [path.stem, "network", *seconds, mean]


TABLES = {
    "sure": (("seconds heard", "left", "mean log-odds of a voice"), of_sure),
    "heard": (("missed + false speech", "overlap: P, R, AP", "count error"), of_heard),
    "whole": (("DER", "missed", "false alarm", "confusion", "count error"), of_whole),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=TABLES)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--real", type=Path, nargs="*", default=[])
    parser.add_argument("--weights", type=Path, default=DEFAULT_COUNTER)
    options = parser.parse_args(arguments)
    columns, rows = TABLES[options.what]
    made = rows(options.folders, options.weights)
    if options.real:
        of_real = partial(rows, model=Diarizer.model) if options.what == "whole" else rows
        made = chain(made, of_real(options.real, options.weights))
    print_table(("recordings", "heard by", *columns), made)


if __name__ == "__main__":
    main()
