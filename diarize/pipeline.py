"""The stages in order: audio, activity, windows, f, clustering with g, timeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from jaxtyping import Float64

from diarize import clustering
from diarize.audio import Recording, open_recording
from diarize.refinement import refine
from diarize.sets import SpeakerSets
from diarize.timeline import TimelineOptions, annotate, turns

if TYPE_CHECKING:
    from pyannote.core import Annotation


Hook = Callable[[str, float, float], None]
Activity = Callable[..., Float64[np.ndarray, "m 2"]]
Source = str | os.PathLike[str] | BinaryIO | tuple[np.ndarray, int] | Recording

WINDOW = 1.6  # seconds of audio that one vector stands for
STEP = 0.2  # seconds between the middles of neighbouring windows


@dataclass(frozen=True)
class Diarization:
    """What was found in one recording.

    Attributes:
        annotation: who spoke when.
        speech: regions of speech, seconds.
        windows: how many windows were clustered.
        duration: seconds of audio that were read.
        device: what f ran on.
        notes: what a person should know of how it was found.
    """

    annotation: Annotation
    speech: Float64[np.ndarray, "m 2"]
    windows: int
    duration: float
    device: str
    notes: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Diarizer:
    """Says who spoke when, also while people speak at the same time.

    Attributes:
        backend: name of a clustering (`diarize backends`).
        n_speakers, min_speakers, max_speakers: how many speakers there are; None: inferred.
        max_set_size: most speakers at one instant.
        params: further options of the backend.
        activity: where there is speech: a callable of a recording, such as
            `diarize.activity.SileroActivity()`, or regions in seconds; None: silero with its
            defaults.
        reference: the true turns, for the backends that need them.
        model: name of a shipped model, or path of a weights file.
        device: "auto", "cpu" or "cuda".
        seed: of everything that is drawn.
        window, step: length of a window and distance between two, seconds.
        timeline: how turns are made of windows.
    """

    backend: str = "ckm"
    n_speakers: int | None = None
    min_speakers: int | None = None
    max_speakers: int | None = None
    max_set_size: int = 2
    params: Mapping[str, Any] = field(default_factory=dict)
    activity: Activity | Float64[np.ndarray, "m 2"] | None = None
    reference: Annotation | None = None
    model: str | Path = "lstm-compositional"
    device: str = "auto"
    seed: int = 0
    window: float = WINDOW
    step: float = STEP
    timeline: TimelineOptions = field(default_factory=TimelineOptions)

    def __call__(self, audio: Source, hook: Hook | None = None) -> Annotation:
        """Diarize one recording.

        Args:
            audio: a path, a file object, `(samples, sample_rate)`, or an opened recording.
            hook: called as `hook(step, done, total)` now and then.

        Returns:
            Turns of SPEAKER_00, SPEAKER_01, ... by first appearance; its uri is the file's stem.

        Raises:
            InputError: audio or options that cannot be used.
        """
        return self.diarize(audio, hook).annotation

    def diarize(self, audio: Source, hook: Hook | None = None) -> Diarization:
        """Diarize one recording, and tell how it went; arguments as for a call."""
        from diarize.embedding import embed_windows, load_model, pick_device, place_windows

        device = pick_device(self.device)
        model = load_model(self.model, device)
        estimator = self._estimator(model.compose)
        recording = audio if isinstance(audio, Recording) else open_recording(audio)
        speech = self._speech(recording, hook)
        windows, cells = place_windows(speech, self.window, self.step)
        vectors = embed_windows(model, recording, windows, hook)
        if hook:
            hook("clustering", 0, 1)
        truth = None if self.reference is None else sets_at(self.reference, cells.mean(axis=1))
        estimator.fit(vectors, truth)
        sets = estimator.sets_
        if truth is None:
            cells, sets = refine(vectors, cells, estimator, self.timeline)
        if hook:
            hook("clustering", 1, 1)
        notes = []
        if not len(speech):
            notes.append("no speech found")
        if getattr(estimator, "sampled_", None) is not None:
            notes.append(
                f"clustered {estimator.sampled_} of {len(windows)} windows; the others went to the "
                "nearest set"
            )
        return Diarization(
            annotation=annotate(turns(cells, sets, self.timeline), recording.uri),
            speech=speech,
            windows=len(windows),
            duration=recording.duration,
            device=device,
            notes=tuple(notes),
        )

    def _estimator(self, compose: Any) -> Any:
        return clustering.make(
            self.backend,
            n_speakers=self.n_speakers,
            min_speakers=self.min_speakers,
            max_speakers=self.max_speakers,
            max_set_size=self.max_set_size,
            compose=compose,
            random_state=self.seed,
            **self.params,
        )

    def _speech(self, recording: Recording, hook: Hook | None) -> Float64[np.ndarray, "m 2"]:
        from diarize.activity import SileroActivity, clip_regions

        activity = SileroActivity() if self.activity is None else self.activity
        regions = activity(recording, hook) if callable(activity) else activity
        begin = recording.start
        return clip_regions(regions, begin, begin + recording.duration)


def sets_at(reference: Annotation, times: Float64[np.ndarray, "n"]) -> SpeakerSets:
    """Say whom a reference holds at given instants."""
    labels = reference.labels()
    membership = np.zeros((len(times), len(labels)), bool)
    for segment, _, label in reference.itertracks(yield_label=True):
        membership[(times >= segment.start) & (times < segment.end), labels.index(label)] = True
    return SpeakerSets(membership)
