"""Options of a backend and of the timeline, tuned on recordings whose turns are known."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyannote.core import Annotation, Segment, Timeline
from sklearn.exceptions import ConvergenceWarning

from diarize import clustering
from diarize.errors import InputError
from diarize.progress import Hook
from diarize.scoring import Scores, score_files
from diarize.timeline.trellis import TimelineOptions
from diarize.tuning.presets import TIMELINE, UNSETTLED, Preset
from diarize.tuning.search import Params, Space, Tuning, search
from diarize.tuning.trials import declared_space

if TYPE_CHECKING:
    from diarize.audio import Recording
    from diarize.embedding.embedded import Embedded
    from diarize.pipeline import Diarizer

TIMELINE_SPACE: dict[str, Sequence[Any]] = {
    "switch": (TimelineOptions.switch, 0.03, 0.15),
    "overlap": (TimelineOptions.overlap, 0.0, 0.1, 0.2),
    "min_turn": (TimelineOptions.min_turn, 0.1, 0.4),
}
"""What is worth tuning of the timeline; the default first."""

_SPEAKERS = ("n_speakers", "min_speakers", "max_speakers", "max_set_size")
"""Options of every backend that a `Diarizer` has as its own."""

_SETTLED = {*_SPEAKERS, *UNSETTLED}


@dataclass(frozen=True)
class Conversation:
    """A recording, or a part of one, whose turns are known.

    Turns outside of the part do not count.

    Raises:
        InputError: nobody speaks in it, so that it has no error rate.
    """

    recording: Recording
    reference: Annotation

    def __post_init__(self) -> None:
        if not self.reference:
            raise InputError(f"{self.recording.label}: the true turns have no speech in them")
        if not self.scores(self.reference).reference_seconds:
            raise InputError(f"{self.recording.label}: no true turn lies in what is read of it")

    def scores(self, found: Annotation) -> Scores:
        """The scores of turns that were found, within what is read of the recording."""
        begin = self.recording.start
        part = Timeline([Segment(begin, begin + self.recording.duration)])
        return score_files(self.reference, found, uem=part).total


def tune_recordings(
    diarizer: Diarizer,
    conversations: Sequence[Conversation],
    *,
    space: Space | None = None,
    budget: int | None = None,
    seed: int = 0,
    hook: Hook | None = None,
) -> Tuning:
    """Find the options with the lowest diarization error rate: no collar, overlap scored.

    A recording is embedded once, and clustered for each combination, since what is said of the
    timeline decides on who stays a speaker. The rate is that of all recordings together, as
    `diarize score` gives it, within what is read of each.

    Args:
        diarizer: what is not tuned: backend, bounds on speakers, model, seed of the fits.
        conversations: recordings with their true turns.
        space: options of the backend and of the timeline, with their candidates; None: those that
            `recordings_space` gives.
        budget: most combinations tried, drawn by chance where the grid has more; None: all.
        seed: of that drawing.
        hook: called as `hook(step, done, total)` now and then, while embedding and while tuning.

    Raises:
        ValueError: an unknown option, no recordings, or no combination of options that can be used.
        InputError: a recording that cannot be read.
    """
    if not conversations:
        raise InputError("there are no recordings to tune on")
    if space is None:
        space = recordings_space(diarizer)
    settled = next((name for name in space if name in _SETTLED), None)
    if settled is not None:
        raise InputError(f"{settled} is no option to be tuned on recordings")
    of_backend = {name: c[0] for name, c in space.items() if name not in TIMELINE and len(c)}
    clustering.make(diarizer.backend, **of_backend)  # refuses options that there are not
    embedded = _embed(diarizer, conversations, hook)

    def evaluate(params: Params, step: Callable[[], None]) -> list[float]:
        other = tuned(diarizer, Preset("", diarizer.backend, params))
        rates = []
        for one, vectors in zip(conversations, embedded, strict=True):
            with warnings.catch_warnings():  # in a search the score says all
                warnings.simplefilter("ignore", ConvergenceWarning)
                _, found, _ = other.cluster(vectors, one.reference)
            rate = one.scores(found.annotation(vectors.uri)).der
            assert rate is not None  # a reference with speech has one
            rates.append(rate)
            step()
        return rates

    weights = [one.scores(one.reference).reference_seconds for one in conversations]
    return search(
        diarizer.backend, "der", space, evaluate, weights, budget=budget, seed=seed, hook=hook
    )


def tuned(diarizer: Diarizer, found: Preset | Tuning) -> Diarizer:
    """Give a `Diarizer` the options of a preset, or of what a search found, as `--preset` does.

    Another one; options that are not among these stay, and so does the backend where all are of the
    timeline.
    """
    preset = Preset("", found.backend, found.params)
    of_backend = preset.clustering_params
    other = copy(diarizer)  # shares the model, once it is loaded
    for name in _SPEAKERS:
        if name in of_backend:
            setattr(other, name, of_backend.pop(name))
    other.backend = diarizer.backend if preset.suits_any else preset.backend
    other.params = {**diarizer.params, **of_backend}
    other.timeline = replace(diarizer.timeline, **preset.timeline_params)
    return other


def recordings_space(diarizer: Diarizer) -> dict[str, Sequence[Any]]:
    """What is worth tuning of its backend and of the timeline, but for numbers of clusters."""
    counted = diarizer.n_speakers is not None
    declared = declared_space(diarizer.backend, counted=counted)
    of_backend = {name: c for name, c in declared.items() if not name.startswith("n_")}
    return {**of_backend, **TIMELINE_SPACE}


def _embed(
    diarizer: Diarizer, conversations: Sequence[Conversation], hook: Hook | None
) -> list[Embedded]:
    """Every recording's vectors."""
    found = []
    for number, conversation in enumerate(conversations):
        if hook:
            hook("embedding", number, len(conversations))
        found.append(diarizer.embed(conversation.recording))
    if hook:
        hook("embedding", len(conversations), len(conversations))
    return found
