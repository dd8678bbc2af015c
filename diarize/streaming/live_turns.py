"""The turns that a stream has told so far, and the names in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from diarize.scoring.elements import TICKS_PER_SECOND, decompose
from diarize.streaming.turns import Turn, annotation_of

if TYPE_CHECKING:
    from pyannote.core import Annotation


class LiveTurns:
    """Turns that were told live; those that went on are joined to one.

    Attributes:
        turns: begin, end and speakers; what was told of them is never changed.
    """

    def __init__(self) -> None:
        self.turns: list[tuple[float, float, tuple[str, ...]]] = []
        self._names: dict[int, str] = {}  # of who was ever heard

    def say(self, begin: float, end: float, ids: Collection[int]) -> Turn:
        """Say a stretch that does not begin before the end of the last one."""
        for number in sorted(ids):
            self._names.setdefault(number, f"LIVE_{len(self._names):02d}")
        speakers = tuple(sorted(self._names[number] for number in ids))
        turn = Turn(begin, end, speakers, False)
        if self.turns:
            last = self.turns[-1]
            if last[2] == speakers and begin - last[1] <= 1e-9:
                begin = last[0]
                del self.turns[-1]
        self.turns.append((begin, end, speakers))
        return turn

    def merged(self, became: Mapping[int, int]) -> dict[str, str]:
        """Names that turned out to be one with another, and that one's."""
        found = {}
        for number, name in self._names.items():
            last = number
            while last in became:
                last = became[last]
            if last != number and last in self._names:
                found[name] = self._names[last]
        return found

    def annotation(self, uri: str, merged: Mapping[str, str]) -> Annotation:
        """The turns; names that turned out to be one with another stand under that one's."""
        now = ((b, e, {merged.get(name, name) for name in who}) for b, e, who in self.turns)
        return annotation_of(now, uri)

    def nearest(self, final: Annotation) -> dict[str, str | None]:
        """Of each name, the final speaker that shares most time with it; None: none does."""
        live = self.annotation("live", {})
        seconds = decompose(live, final).shared_time() / TICKS_PER_SECOND  # (live, final)
        shared = {
            name: {other: time for other, time in zip(final.labels(), row, strict=True) if time}
            for name, row in zip(live.labels(), seconds.tolist(), strict=True)
        }
        return {
            name: max(times, key=lambda other: (times[other], other), default=None)
            for name, times in shared.items()
        }
