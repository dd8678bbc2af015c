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
    """Who must, and who must not, be heard in each of n cells, of k speakers; nobody is both."""

    required: Bool[np.ndarray, "n k"]
    forbidden: Bool[np.ndarray, "n k"]

    @classmethod
    def of(
        cls,
        corrections: Corrections,
        cells: Float64[np.ndarray, "n 2"],
        names: Sequence[str],
        unheard: Bool[np.ndarray, " n"],
    ) -> Binding:
        """What corrections say of cells, none of which holds one of their borders.

        In unheard cells nobody is heard but who is said to be.
        """
        required, forbidden = np.zeros((2, len(cells), len(names)), bool)  # (n, k) both
        middles = cells.mean(axis=1)
        for claim in corrections.claims:
            inside = slice(*np.searchsorted(middles, [claim.start, claim.end]))
            for speaker, name in enumerate(names):
                if claim.speaks and name == claim.name:
                    required[inside, speaker] = True
                if claim.silences(name):
                    forbidden[inside, speaker] = True
        return cls(required, forbidden | (unheard[:, None] & ~required))

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

    def bind(self, trellis: Trellis, largest: int) -> Trellis:
        """Bring what is known into a trellis, so that each cell can only be what it must be.

        It is of the same cells and the states of `states`; `largest` is the size of the largest set
        that is not required.
        """
        states, told = trellis.states, self.told
        special = (states.sizes == 0) | (states.sizes > largest)  # (m,)
        held = states.membership.astype(np.float32)
        required, forbidden = (x[told].astype(np.float32) for x in (self.required, self.forbidden))
        fits = (required @ (1 - held).T == 0) & (forbidden @ held.T == 0)  # (told, m)
        fits[:, special] &= states.sizes[special] == required.sum(axis=1)[:, None]
        nobody = states.sizes == 0
        fits[:, nobody] &= ~fits[:, ~nobody].any(axis=1)[:, None]  # only where nothing else is left
        possible = np.tile(~special, (len(told), 1))  # (n, m)
        possible[told] = fits
        known = np.concatenate([self.required, self.forbidden], axis=1)  # (n, 2 k)
        return replace(
            trellis,
            prior=np.where(possible, trellis.prior, np.inf),
            movable=(known[1:] == known[:-1]).all(axis=1),
            settled=told,
            certain=self.required,
        )
