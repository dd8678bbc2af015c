"""What is known of an embedding beside its weights, and travels with them in one file.

Whoever lays windows, counts speakers, tells that two voices are one person's, or says how sure a
turn is, goes by these numbers; another training of f and g has others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from jaxtyping import Float32

from diarize.scatter import Axes, Likeness, Scatter

KEY = "diarize.knowledge"
"""Key of the weights file's header under which the numbers stand, as JSON."""

PREFIX = "known."
"""Before the names of the tensors in it that are no weights: the axes."""

SCATTER = Scatter(
    variance=0.275, dimension=25.0, rows_per_observation=2.0, most_rows=400, alike=0.91
)
"""Tuned on simulated conversations of dev-a, windows of 2 s every 0.5 s, vectors of the embedding
that ships."""

PARTS = ("scatter", "likeness")
"""Numbers that stand together, in an object of their own."""

LIMITS = (0.05, 10.0)
"""Seconds that a window, or the distance between two, may have."""


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What is known of an embedding; the defaults are those of the one that ships.

    Long windows tell voices apart, and a sparse grid of them is enough to find the speakers;
    shorter ones on a finer grid tell when speakers change: those of `fine_window` who and how many
    they are, and still shorter ones, among these, where their turns lie. Chosen on simulated
    conversations of dev-a.

    Attributes:
        window, step: length of the windows that are clustered and distance between two, seconds.
        fine_window, fine_step: the same of those that are decoded, by which speakers are counted.
        turn_window: length of the windows, as far apart, by which turns are decoded, live
            and in the end.
        scatter: how the vectors of one voice scatter.
        likeness: from how alike two centroids are to whether they are one person's.
        sharpness: per second and unit of squared distance; the probability of a sequence of sets is
            exp(-sharpness * its cost).
        slope, offset: a turn of which the decoding gives the share p to its speaker is right with
            probability 1 / (1 + exp(-(slope * p + offset))), if his label stands for one person and
            no other label does. The three were chosen together on
            conversations of dev-a by `recipes/conversations/reliability.py`.
    """

    window: float = 2.0
    step: float = 0.5
    fine_window: float = 1.1
    fine_step: float = 0.2
    turn_window: float = 0.8
    scatter: Scatter = SCATTER
    likeness: Likeness = field(default_factory=Likeness)
    sharpness: float = 20.0
    slope: float = 4.4
    offset: float = -1.8

    def __post_init__(self) -> None:
        numbers = {name: value for name, value in vars(self).items() if name not in PARTS}
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{name} is no number")
            if not np.isfinite(value):
                raise ValueError(f"{name} is not finite")
        for name in ("window", "step", "fine_window", "fine_step", "turn_window"):
            if not LIMITS[0] <= numbers[name] <= LIMITS[1]:
                raise ValueError(f"{name} lies between {LIMITS[0]} and {LIMITS[1]} s")

    @property
    def has_short(self) -> bool:
        """Whether turns are decoded by other windows than those by which speakers are counted."""
        return self.turn_window != self.fine_window

    def within(self, narrow: bool) -> Knowledge:
        """As it is in a narrow band, like a telephone's, or elsewhere."""
        scatter, likeness = self.scatter.within(narrow), self.likeness.within(narrow)
        return replace(self, scatter=scatter, likeness=likeness)

    def header(self) -> dict[str, str]:
        """The numbers, as they stand in a weights file's header."""
        numbers = asdict(replace(self, scatter=replace(self.scatter, axes=None)))
        del numbers["scatter"]["axes"]
        return {KEY: json.dumps(numbers)}

    def tensors(self) -> dict[str, Float32[np.ndarray, "..."]]:
        """The axes, as tensors of a weights file; none where they are not known."""
        axes = self.scatter.axes
        return {
            PREFIX + name: np.ascontiguousarray(values, np.float32)
            for name, values in ({} if axes is None else vars(axes)).items()
        }

    @classmethod
    def read(
        cls, header: Mapping[str, str], tensors: Mapping[str, np.ndarray], dim: int
    ) -> Knowledge:
        """What a weights file says of vectors of this dimension; one that says nothing ships.

        Raises:
            ValueError, TypeError: what it says cannot be.
        """
        numbers = dict(json.loads(header.get(KEY, "{}")))
        named = {
            name.removeprefix(PREFIX): values.astype(np.float64)
            for name, values in tensors.items()
            if name.startswith(PREFIX)
        }
        scatter = Scatter(**numbers.pop("scatter", asdict(SCATTER)))
        likeness = Likeness(**numbers.pop("likeness", {}))
        axes = Axes(**named) if named else None
        if axes is not None and len(axes.mean) != dim:
            raise ValueError(f"its axes are of {len(axes.mean)} dimensions, it has {dim}")
        return cls(**numbers, scatter=replace(scatter, axes=axes), likeness=likeness)
