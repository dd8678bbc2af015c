"""What corrections say of cells of time: who must be in their sets, and who must not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64

from diarize.corrections.claims import Corrections
from diarize.sets import SpeakerSets
from diarize.timeline import Trellis


@dataclass(frozen=True)
class Binding:
    """Who must, and who must not, be heard in each of n cells, of k speakers.

    Attributes:
        required: those who are.
        forbidden: those who are not; nobody is both.
    """

    required: Bool[np.ndarray, "n k"]
    forbidden: Bool[np.ndarray, "n k"]

    @classmethod
    def free(cls, n_cells: int, n_speakers: int) -> Binding:
        """Nothing is known."""
        nothing = np.zeros((n_cells, n_speakers), bool)
        return cls(nothing, nothing)

    @classmethod
    def of(
        cls, corrections: Corrections, cells: Float64[np.ndarray, "n 2"], names: Sequence[str]
    ) -> Binding:
        """What corrections say of cells, none of which holds one of their borders.

        Args:
            corrections: claims.
            cells: sorted disjoint stretches of time, seconds.
            names: of the speakers.
        """
        binding = cls.free(len(cells), len(names))
        required, forbidden = binding.required.copy(), binding.forbidden.copy()
        middles = cells.mean(axis=1)
        for claim in corrections.claims:
            inside = slice(*np.searchsorted(middles, [claim.start, claim.end]))
            for speaker, name in enumerate(names):
                if claim.speaks and name == claim.name:
                    required[inside, speaker] = True
                if claim.silences(name):
                    forbidden[inside, speaker] = True
        return cls(required, forbidden)

    def holding_nobody_else(self, cells: Bool[np.ndarray, " n"]) -> Binding:
        """The same, and only those who are required in some of the cells."""
        return Binding(self.required, self.forbidden | (cells[:, None] & ~self.required))

    def bind(self, trellis: Trellis, largest: int) -> Trellis:
        """Bring what is known into a trellis that has the states of `states`.

        Args:
            trellis: of the same cells.
            largest: size of the largest set that is not required.
        """
        known = np.concatenate([self.required, self.forbidden], axis=1)  # (n, 2 k)
        return replace(
            trellis,
            prior=self.forbid(trellis.prior, trellis.states, largest),
            movable=(known[1:] == known[:-1]).all(axis=1),
            settled=self.told,
            certain=self.required,
        )

    @property
    def told(self) -> Bool[np.ndarray, " n"]:
        """Of which cells anything is known."""
        return (self.required | self.forbidden).any(axis=1)

    def states(self, sets: SpeakerSets) -> SpeakerSets:
        """The sets, and after them those that only cells may have of which something is known.

        These are sets that are required and larger than all others, and nobody.
        """
        known = {row.tobytes() for row in sets.membership}
        required = np.unique(self.required[self.told], axis=0)
        added = [row for row in required if row.tobytes() not in known]
        return SpeakerSets(np.concatenate([sets.membership, *(row[None] for row in added)]))

    def forbid(
        self, costs: Float64[np.ndarray, "n m"], states: SpeakerSets, largest: int
    ) -> Float64[np.ndarray, "n m"]:
        """Make infinitely dear what is excluded, so that each cell can be what it must be.

        Args:
            costs: of each state in each cell.
            states: those that `states` gave.
            largest: size of the largest set that is not required.
        """
        told = np.flatnonzero(self.told)
        if not len(told):
            return costs
        bound = costs.copy()
        special = (states.sizes == 0) | (states.sizes > largest)
        bound[:, special] = np.inf
        held = states.membership.astype(np.float32)
        required, forbidden = (x[told].astype(np.float32) for x in (self.required, self.forbidden))
        fits = (required @ (1 - held).T == 0) & (forbidden @ held.T == 0)  # (told, m)
        fits[:, special] &= states.sizes[special] == required.sum(axis=1)[:, None]
        nobody = states.sizes == 0
        fits[:, nobody] &= ~fits[:, ~nobody].any(axis=1)[:, None]  # only where nothing else is left
        bound[told] = np.where(fits, costs[told], np.inf)
        return bound
