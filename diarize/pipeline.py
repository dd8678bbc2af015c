"""The stages in order: audio, activity, windows, f, clustering with g, timeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64

from diarize import clustering
from diarize.activity.counts import Activity
from diarize.activity.hearing import hear
from diarize.activity.notes import notes_on
from diarize.activity.regions import disjoint_regions
from diarize.audio import Recording, open_recording
from diarize.audio.recording import Source
from diarize.corrections import Corrections
from diarize.corrections.decoding import decode_corrected
from diarize.corrections.links import relink
from diarize.errors import InputError, as_input, require_kind
from diarize.progress import Hook
from diarize.sets import SpeakerSets
from diarize.storage.cache import Cache
from diarize.storage.weights import DEFAULT_MODEL
from diarize.threads import one_thread
from diarize.timeline import Decoded, Diarization, TimelineOptions
from diarize.timeline.confidence import certainty
from diarize.timeline.decoding import decoder
from diarize.timeline.resegmentation import find_turns
from diarize.timeline.speaker_count import duplicates_note, fit_and_prune
from diarize.timeline.turns import sets_at
from diarize.torch_modes import usual_modes
from diarize.voices.vectors import Voiceprints
from diarize.voices.voiceprints import Match

if TYPE_CHECKING:
    from pyannote.core import Annotation

    from diarize.embedding import Knowledge, SpeakerEncoder
    from diarize.embedding.embedded import Embedded
    from diarize.scatter import Likeness, Scatter

Look = Callable[[str, Any], None]

NOTHING_TOLD = Corrections()

WINDOWS = (0.5, 5.0)  # seconds; a shorter one holds no voice, a longer one several turns
STEPS = (0.05, 2.0)  # seconds

NUMBER = int | float | np.integer | np.floating


def unseen(stage: str, made: Any) -> None:
    """Nobody looks at what a stage has made."""


@dataclass(kw_only=True, eq=False)
class Diarizer:
    """Says who spoke when, also while people speak at the same time.

    Attributes:
        backend: name of a clustering (`diarize backends`).
        n_speakers, min_speakers, max_speakers: how many speakers there are; None: inferred.
        max_set_size: most speakers at one instant.
        params: further options of the backend.
        activity: where there is speech: a callable of a recording and a hook, such as
            `diarize.activity.SileroActivity()`, or regions in seconds; None: `NetworkActivity()`,
            which hears also how many speak.
        counts: whether the decoding is told how many were heard at each instant; by our network,
            whoever says where there is speech.
        model: name of a shipped model, or path of a weights file or of an ONNX file.
        device: "auto", "cpu" or "cuda".
        seed: of everything that is drawn.
        window, step: length of the windows that are clustered and distance between two, seconds;
            None: those that suit the model.
        timeline: how turns are made of windows.
        known_threshold: least probability, between 0 and 1, that a speaker is the known voice whose
            name he gets; None: that of the model.
        cache: a folder, or the `Cache` of one, where detected speech and vectors are kept by the
            content of a recording, so that another clustering of it takes its own time only; None:
            nowhere.
    """

    backend: str = "ckm"
    n_speakers: int | None = None
    min_speakers: int | None = None
    max_speakers: int | None = None
    max_set_size: int = 2
    params: Mapping[str, Any] = field(default_factory=dict)
    activity: Activity | Float64[np.ndarray, "m 2"] | None = None
    counts: bool = True
    model: str | Path = DEFAULT_MODEL
    device: str = "auto"
    seed: int = 0
    window: float | None = None
    step: float | None = None
    timeline: TimelineOptions = field(default_factory=TimelineOptions)
    known_threshold: float | None = None
    cache: Cache | str | Path | None = None
    _loaded: dict[tuple[str, str], SpeakerEncoder] = field(
        default_factory=dict, init=False, repr=False
    )

    def __call__(
        self,
        audio: Source | Recording,
        hook: Hook | None = None,
        *,
        reference: Annotation | None = None,
        corrections: Annotation | None = None,
        known: Voiceprints | None = None,
    ) -> Annotation:
        """Diarize one recording: the turns that `diarize` finds, which takes the same."""
        return self.diarize(
            audio, hook, reference=reference, corrections=corrections, known=known
        ).annotation

    @property
    def needs_reference(self) -> bool:
        """Whether the backend has to be told the true turns."""
        with as_input():
            return bool(clustering.make(self.backend).needs_truth)

    @property
    def model_sha256(self) -> str:
        """The weights, named by their content.

        Raises:
            InputError: there is no such model.
        """
        from diarize.embedding.encoders import identity

        return identity(self.model)

    @property
    def knowledge(self) -> Knowledge:
        """What is known of the model, which is loaded for it.

        Raises:
            InputError: there is no such model, or it is damaged.
        """
        return self._model().knowledge

    @property
    def likeness(self) -> Likeness:
        """From the likeness of two voices to one person: the model's, but for `known_threshold`."""
        likeness = self.knowledge.likeness
        if self.known_threshold is None:
            return likeness
        return replace(likeness, known=self.known_threshold)

    @usual_modes()
    def prepare(self) -> None:
        """Check all options and load the model; otherwise the first recording does so.

        Raises:
            InputError: options that cannot be used, alone or together.
        """
        of_windows = ("window", self.window, WINDOWS), ("step", self.step, STEPS)
        for name, seconds, (low, high) in of_windows:
            number = isinstance(seconds, NUMBER) and low <= seconds <= high
            if seconds is not None and not number:
                raise InputError(f"{name} lies between {low} and {high} s, not at {seconds!r}")
        known = self.known_threshold
        if known is not None and not (isinstance(known, NUMBER) and 0 < known < 1):
            raise InputError(f"known_threshold lies between 0 and 1, not at {known!r}")
        require_kind("timeline", self.timeline, TimelineOptions, "a TimelineOptions")
        require_kind("cache", self.cache, Cache | str | Path | None, "a folder, a Cache or None")
        require_kind("params", self.params, Mapping, "a mapping from names to values")
        require_kind("model", self.model, str | PathLike, "a name or a path")
        if isinstance(self.activity, type | str):
            raise InputError(
                "activity is a detector, such as SileroActivity(), or regions of speech, "
                f"not {self.activity!r}"
            )
        if self.activity is not None and not callable(self.activity):
            disjoint_regions(self.activity)
        model = self._model()
        # A clustering checks its options when it is fitted, be it to no windows at all.
        nothing, nobody = np.zeros((0, model.dim), np.float32), SpeakerSets(np.zeros((0, 0), bool))
        with as_input():
            self._estimator(model, model.knowledge.scatter).fit(nothing, nobody)

    @usual_modes()
    def diarize(
        self,
        audio: Source | Recording,
        hook: Hook | None = None,
        *,
        reference: Annotation | None = None,
        corrections: Annotation | None = None,
        known: Voiceprints | None = None,
        look: Look = unseen,
    ) -> Diarization:
        """Diarize one recording, and tell how it went.

        Args:
            audio: a path, a file object, `(samples, sample_rate)`, or an opened recording.
            hook: called as `hook(step, done, total)` now and then.
            reference: the recording's true turns, for the backends that need them.
            corrections: stretches of which a person says who speaks there: one labelled `name` is
                a turn of that speaker, `!name` is none, `ONLY:name` is one and nobody else's. They
                bind the result; a name that it has without them means that speaker.
            known: voices to be called by their names; the others keep their numbers.
            look: is shown what each stage has made: `look("activity", heard)`, with
                `heard.regions`; `look("embedding", embedded)`, with `embedded.windows`, seconds;
                `look("clustering", estimator)`, whose `sets_` are those of these windows; and
                `look("timeline", decoded)`, with `decoded.sets` in `decoded.trellis.cells`.

        Returns:
            Turns of SPEAKER_00, SPEAKER_01, ... by first appearance, and of the names that are
            given, under the file's stem; and what is known of them.

        Raises:
            InputError: audio, options or corrections that cannot be used.
        """
        self.prepare()
        if self.needs_reference and reference is None:
            raise InputError(f"backend {self.backend} needs the true turns: give a reference")
        recording = audio if isinstance(audio, Recording) else open_recording(audio)
        end = recording.start + recording.duration
        told = Corrections.of(corrections).within(recording.start, end)
        embedded = self.embed(recording, hook, told=told, look=look)
        if hook:
            hook("clustering", 0, 1)
        estimator, found, notes = self.cluster(embedded, reference)
        look("clustering", estimator)
        matched: list[Match] = []
        if known is not None and known.names:
            named = found.named_after(known, self.likeness, embedded.narrow)
            told = told.renamed(found.names, named.names)
            found = named
        if told.claims:
            found = self._corrected(found, told, embedded, estimator)
        if known is not None and known.names:
            matched = found.matches(known, self.likeness, embedded.narrow)
        look("timeline", found)
        annotation = found.annotation(embedded.uri)
        sure = certainty(found, self._knowledge_for(embedded), *self._bounds)
        if hook:
            hook("clustering", 1, 1)
        if not len(found.trellis.cells):
            notes.append("no speech found")
        if 0 < self._bounds[0] <= len(found.names):
            notes += duplicates_note(sure.doubted)
        kept = Cache.of(self.cache)
        notes += notes_on(recording, embedded.speech, self._activity, kept, embedded.counts)
        if corrections is not None:
            notes += told.notes(corrections, annotation)
        if estimator.sampled_ is not None:
            notes.append(
                f"clustered {estimator.sampled_} of {len(embedded.windows)} windows; the others "
                "went to the nearest set"
            )
        return Diarization(
            annotation=annotation,
            speech=embedded.speech,
            windows=len(embedded.windows),
            duration=embedded.duration,
            device=embedded.device,
            notes=tuple(notes),
            voices=found.monologues.voiceprints(embedded.narrow),
            matches=tuple(one for one in matched if one.same or one.speaker not in told.names),
            confidence=sure.confidence,
            number=sure.number,
            several=None if embedded.counts is None else embedded.counts.several(end),
        )

    @usual_modes()
    def embed(
        self,
        audio: Source | Recording,
        hook: Hook | None = None,
        *,
        told: Corrections = NOTHING_TOLD,
        look: Look = unseen,
    ) -> Embedded:
        """Find speech and embed its windows, the part of the work that takes the time."""
        from diarize.embedding.embedded import embed_heard

        recording = audio if isinstance(audio, Recording) else open_recording(audio)
        kept = Cache.of(self.cache)
        heard = hear(recording, self._activity, self.counts, kept, hook)
        look("activity", heard)
        embedded = embed_heard(
            recording,
            heard,
            told.unheard(heard.regions) if told.claims else heard.regions[:0],
            self._model(),
            name=self.model,
            window=self.window,
            step=self.step,
            cache=kept,
            hook=hook,
        )
        look("embedding", embedded)
        return embedded

    @usual_modes()
    @one_thread()
    def cluster(
        self, embedded: Embedded, reference: Annotation | None = None
    ) -> tuple[Any, Decoded, list[str]]:
        """Find the speakers: the fitted clustering, who speaks when by it, and notes for a person.

        A clustering that needs the truth is given that of the windows that are decoded.
        """
        from diarize.clustering.base import MAX_SPEAKERS

        notes: list[str] = []
        n = len(embedded.coarse)
        estimator, decoded = self.estimator(embedded), self._decoding(embedded)
        if reference is not None and self.needs_reference:
            truth = sets_at(reference, embedded.cells.mean(axis=1))
            estimator.fit(embedded.fine, truth)
            return estimator, decoded(estimator), notes
        if asked := estimator.ask_no_more_than(n):
            hold = "window of speech holds" if n == 1 else "windows of speech hold"
            notes.append(f"too short for {asked} speakers: its {n} {hold} at most {n}")
        likeness = self._knowledge_for(embedded).likeness
        estimator, found = fit_and_prune(estimator, embedded.coarse, decoded, likeness)
        k, (least, most) = len(found.names), self._bounds
        if not notes and 0 < k < least:  # nobody else in any of the windows that are decoded
            windows = f"{len(embedded.cells)} windows of speech"
            notes.append(f"too short for {least} speakers: no more than {k} in its {windows}")
        if most is None and k >= MAX_SPEAKERS:
            notes.append(f"no more than {k} speakers are looked for; --max-speakers says how many")
        return estimator, self._turns(embedded, estimator, found), notes

    def estimator(self, embedded: Embedded) -> Any:
        """The clustering, not fitted yet, and what is known of how these windows scatter."""
        known = self._knowledge_for(embedded)
        return self._estimator(self._model(), known.scatter.denser(known.step / embedded.step))

    def decode(self, embedded: Embedded, estimator: Any) -> Annotation:
        """Say who spoke when, given a fitted clustering."""
        found = self._decoding(embedded)(estimator)
        return self._turns(embedded, estimator, found).annotation(embedded.uri)

    def _turns(self, embedded: Embedded, estimator: Any, found: Decoded) -> Decoded:
        given = not callable(self._activity)  # regions, in which somebody speaks
        return find_turns(found, embedded.short, estimator.speakers(), spoken=given)

    def _decoding(self, embedded: Embedded) -> Callable[[Any], Decoded]:
        """What says who speaks when, by number, given a fitted clustering."""
        heard = embedded.cells, embedded.fine, embedded.counts
        return decoder(*heard, self.timeline, self._bounds[0])

    @one_thread()
    def _corrected(
        self, found: Decoded, told: Corrections, embedded: Embedded, estimator: Any
    ) -> Decoded:
        """Cluster and decode anew what was found, such that corrections hold."""
        seen = embedded.windows, embedded.coarse
        speakers, names = relink(estimator, found.names, told, *seen, self._bounds[1])
        found = replace(found, speakers=speakers, names=names)
        beyond = embedded.unheard_cells, embedded.unheard
        return decode_corrected(found, told, *beyond, *self._bounds)

    def _model(self) -> SpeakerEncoder:
        """The model, loaded once for all recordings, as long as its files stay as they are."""
        from diarize.embedding import load_encoder, pick_device
        from diarize.embedding.encoders import identity

        key = (identity(self.model), self.device)
        if key not in self._loaded:
            self._loaded = {key: load_encoder(self.model, pick_device(self.device))}
        return self._loaded[key]

    @property
    def _bounds(self) -> tuple[int, int | None]:
        """The fewest speakers that are told, else 0, and the most, else None."""
        return self.n_speakers or self.min_speakers or 0, self.n_speakers or self.max_speakers

    @property
    def _activity(self) -> Activity | Float64[np.ndarray, "m 2"]:
        from diarize.activity import NetworkActivity

        return NetworkActivity() if self.activity is None else self.activity

    def _knowledge_for(self, embedded: Embedded) -> Knowledge:
        """What is known of the model in the band of a recording."""
        return self.knowledge.within(embedded.narrow)

    def _estimator(self, model: SpeakerEncoder, scatter: Scatter) -> Any:
        own = {
            "n_speakers": self.n_speakers,
            "min_speakers": self.min_speakers,
            "max_speakers": self.max_speakers,
            "max_set_size": self.max_set_size,
            "compose": model.compose,
            "scatter": scatter,
            "random_state": self.seed,
        }
        clustering.require_options(self.backend, self.params, own, "params has")
        return clustering.make(self.backend, **own, **self.params)
