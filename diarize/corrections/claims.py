"""Corrections: stretches of a recording of which a person says who speaks there, or does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from diarize.activity.regions import regions_of
from diarize.errors import InputError
from diarize.timeline import Turn

if TYPE_CHECKING:
    from pyannote.core import Annotation, Timeline

DECIMALS = 6  # of a claim's times, seconds, as in RTTM
RESOLUTION = 10.0**-DECIMALS  # seconds


class Kind(Enum):
    """What a stretch says of its name; the value is written before the name."""

    PRESENT = ""
    ABSENT = "!"
    ONLY = "ONLY:"


@dataclass(frozen=True)
class Claim:
    """What a person says of the time from `start` to `end`, seconds, which are rounded.

    >>> Claim.parse(1.0, 2.5, "ONLY:anna")
    Claim(start=1.0, end=2.5, name='anna', kind=<Kind.ONLY: 'ONLY:'>)
    >>> print(Claim(1.0, 2.5, "ben", Kind.ABSENT))
    !ben from 1.000 to 2.500 s
    """

    start: float
    end: float
    name: str
    kind: Kind = Kind.PRESENT

    def __post_init__(self) -> None:
        # A sum like 1.1 + 2.2 must not reach beyond 3.3, where somebody else begins.
        object.__setattr__(self, "start", round(self.start, DECIMALS))
        object.__setattr__(self, "end", round(self.end, DECIMALS))

    @classmethod
    def parse(cls, start: float, end: float, label: str) -> Claim:
        """Read the label of a stretch: `name`, `!name` or `ONLY:name`, in whatever case.

        Raises:
            InputError: there is no name.
        """
        kinds = (Kind.ONLY, Kind.ABSENT, Kind.PRESENT)
        kind = next(k for k in kinds if label.upper().startswith(k.value))
        claim = cls(start, end, label[len(kind.value) :].strip(), kind)
        if not claim.name:
            raise InputError(f"{claim}: a name is missing")
        return claim

    def __str__(self) -> str:
        return f"{self.kind.value}{self.name} from {self.start:.3f} to {self.end:.3f} s"

    @property
    def speaks(self) -> bool:
        """Whether it says that its name is heard."""
        return self.kind is not Kind.ABSENT

    def silences(self, name: str) -> bool:
        """Whether it says that a name is not heard."""
        return (self.kind is Kind.ABSENT) if name == self.name else (self.kind is Kind.ONLY)

    def contradicts(self, other: Claim) -> bool:
        """Whether both cannot hold at one instant."""
        return (self.speaks and other.silences(self.name)) or (
            other.speaks and self.silences(other.name)
        )


@dataclass(frozen=True)
class Corrections:
    """Claims that do not contradict each other, by begin.

    Raises:
        InputError: two of them do; the message names both.
    """

    claims: tuple[Claim, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "claims", tuple(sorted(self.claims, key=_order)))
        open_claims: list[Claim] = []
        for claim in self.claims:
            open_claims = [other for other in open_claims if other.end > claim.start]
            for other in open_claims:
                if claim.contradicts(other):
                    raise InputError(f"{other} contradicts {claim}")
            open_claims.append(claim)

    @classmethod
    def of(cls, annotation: Annotation | None) -> Corrections:
        """Read the labels of an annotation: `name`, `!name` or `ONLY:name`; of None: no claims.

        Raises:
            InputError: a label without a name, or stretches that contradict each other.
        """
        if annotation is None:
            return cls()
        return cls(
            tuple(
                Claim.parse(float(segment.start), float(segment.end), str(label))
                for segment, _, label in annotation.itertracks(yield_label=True)
            )
        )

    def within(self, start: float, end: float) -> Corrections:
        """What lies between two times, cut off there."""
        clipped = (replace(c, start=max(c.start, start), end=min(c.end, end)) for c in self.claims)
        return Corrections(tuple(c for c in clipped if c.end - c.start > RESOLUTION))

    def renamed(self, before: Mapping[int, str], now: Mapping[int, str]) -> Corrections:
        """Follow speakers, by number, who are called otherwise now; a name of now means its bearer.

        Raises:
            InputError: two claims contradict each other once their names mean one speaker.
        """
        called = {old: now[n] for n, old in before.items() if old not in now.values()}
        return Corrections(tuple(replace(c, name=called.get(c.name, c.name)) for c in self.claims))

    def notes(self, given: Annotation, result: Annotation) -> list[str]:
        """What a person should know of what came of the corrections given, in these turns."""
        notes = []
        lines = sum(1 for _ in given.itertracks())  # several may be of one stretch
        if lost := lines - len(self.claims):
            notes.append(f"{lost} of {lines} corrections lie outside of what was read")
        heard = {*result.labels(), *self.names}
        silent = [claim for claim in self.claims if claim.name not in heard]
        notes += [f"correction {claim}: nobody is called {claim.name}" for claim in silent]
        return notes

    @property
    def names(self) -> list[str]:
        """Who is heard at some time, by first appearance."""
        return list(dict.fromkeys(claim.name for claim in self.claims if claim.speaks))

    @property
    def borders(self) -> Float64[np.ndarray, " b"]:
        """All begins and ends, sorted, seconds."""
        return np.unique([time for claim in self.claims for time in (claim.start, claim.end)])

    def unheard(self, speech: Float64[np.ndarray, "m 2"]) -> Float64[np.ndarray, "k 2"]:
        """Where somebody is heard, outside of sorted disjoint regions of speech."""
        from pyannote.core import Segment, Timeline

        known = Timeline([Segment(begin, end) for begin, end in speech])
        claimed = _timeline([claim for claim in self.claims if claim.speaks])
        return regions_of(claimed.extrude(known) if known else claimed)

    def patch(self, found: Sequence[Turn], names: Sequence[str]) -> list[Turn]:
        """Cut and lengthen turns such that every claim holds, to the instant; sorted."""
        from pyannote.core import Segment, Timeline

        patched = []
        for speaker, name in enumerate(names):
            own = Timeline([Segment(begin, end) for begin, end, who in found if who == speaker])
            said = _timeline([c for c in self.claims if c.speaks and c.name == name])
            silent = _timeline([c for c in self.claims if c.silences(name)])
            if said:
                own = own.union(said).support()
            if silent:
                own = own.extrude(silent)
            patched += [(segment.start, segment.end, speaker) for segment in own]
        return sorted(patched)


def _order(claim: Claim) -> tuple[float, float, str, str]:
    return claim.start, claim.end, claim.name, claim.kind.value


def _timeline(claims: Sequence[Claim]) -> Timeline:
    """The time that claims cover, as few segments as may be."""
    from pyannote.core import Segment, Timeline

    return Timeline([Segment(claim.start, claim.end) for claim in claims]).support()
