"""The timing of real talk: who speaks when in RTTM files, to be spoken again by other voices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int64

from diarize.errors import InputError
from diarize.formats.table import load_annotations


@dataclass(frozen=True)
class Talk:
    """The turns of one conversation.

    Attributes:
        uri: its name.
        times: begin and end of each turn, seconds, shape (turns, 2), sorted by begin.
        speakers: number of each turn's speaker, from 0, by first appearance.
    """

    uri: str
    times: Float64[np.ndarray, "turns 2"]
    speakers: Int64[np.ndarray, "turns"]

    @classmethod
    def of(cls, uri: str, turns: Sequence[tuple[float, float, str]]) -> Talk:
        """Take turns as begin, end, label."""
        turns = sorted(turns)
        numbers = {name: i for i, name in enumerate(dict.fromkeys(t[2] for t in turns))}
        times = np.array([turn[:2] for turn in turns], np.float64).reshape(-1, 2)
        return cls(uri, times, np.array([numbers[turn[2]] for turn in turns], np.int64))

    @property
    def seconds(self) -> float:
        """The end of the last turn."""
        return float(self.times[:, 1].max()) if len(self.times) else 0.0

    @property
    def n_speakers(self) -> int:
        """How many people speak."""
        return int(self.speakers.max()) + 1 if len(self.speakers) else 0

    @property
    def overlap(self) -> float:
        """Seconds of turns beyond the first at each instant."""
        events = np.concatenate([self.times[:, 0], self.times[:, 1]])
        order = np.argsort(events, kind="stable")
        held = np.cumsum(np.where(order < len(self.times), 1, -1))[:-1]
        return float((np.maximum(held - 1, 0) * np.diff(events[order])).sum())

    def cut(self, begin: float, seconds: float) -> Talk:
        """Take a stretch; its times count from its begin, its speakers anew."""
        times = np.clip(self.times - begin, 0.0, seconds)
        inside = times[:, 1] - times[:, 0] > 1e-3
        numbers, first = np.unique(self.speakers[inside], return_index=True)
        order = np.empty(len(numbers), np.int64)
        order[np.argsort(first)] = np.arange(len(numbers))
        return Talk(self.uri, times[inside], order[np.searchsorted(numbers, self.speakers[inside])])


def find_talks(names: Sequence[str]) -> list[Talk]:
    """Read the talk of folders, or of parts of them: `DIR` or, for every second file, `DIR:0/2`.

    One that is named twice counts twice.

    Raises:
        InputError: a folder without RTTM files, a file that is wrong, or a part that there is not.
    """
    return [talk for name in names for talk in _find(name)]


def _find(name: str) -> list[Talk]:
    found = re.fullmatch(r"(.+):(\d+)/(\d+)", name)
    if found is None or Path(name).is_dir():
        return _read(Path(name))
    folder, first, step = found[1], int(found[2]), int(found[3])
    if first >= step:
        raise InputError(f"{name}: parts of {step} are numbered from 0 to {step - 1}")
    return _read(Path(folder), first, step)


def _read(folder: Path, first: int = 0, step: int = 1) -> list[Talk]:
    """The talk of every `step`-th recording by name in which somebody speaks."""
    talks = []
    annotations = load_annotations(folder)
    for uri in sorted(annotations):
        turns = [
            (segment.start, segment.end, label)
            for segment, _, label in annotations[uri].itertracks(yield_label=True)
        ]
        if turns:
            talks.append(Talk.of(uri, turns))
    if not talks[first::step]:
        raise InputError(f"no turns to replay in {folder}")
    return talks[first::step]
