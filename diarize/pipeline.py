"""The stages in order: audio, activity, windows, f, clustering with g, timeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64

from diarize import clustering
from diarize.activity.counts import Activity, Heard, Hook
from diarize.audio import Recording, open_recording
from diarize.audio.recording import Source
from diarize.corrections import Corrections
from diarize.decoding import Decoded, Embedded, decode_corrected, decode_turns
from diarize.diarization import Diarization
from diarize.errors import InputError
from diarize.sets import SpeakerSets
from diarize.storage.cache import Cache, cache_key
from diarize.timeline import TimelineOptions
from diarize.voices.voiceprints import Voiceprints, voiceprints

if TYPE_CHECKING:
    from pyannote.core import Annotation

    from diarize.embedding import CompositionalEmbedding, Knowledge
    from diarize.scatter import Likeness


WINDOWS = (0.5, 5.0)  # seconds; a shorter one holds no voice, a longer one several turns
STEPS = (0.05, 2.0)  # seconds


@dataclass(kw_only=True)
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
        model: name of a shipped model, or path of a weights file.
        device: "auto", "cpu" or "cuda".
        seed: of everything that is drawn.
        window, step: length of the windows that are clustered and distance between two, seconds;
            None: those that suit the model.
        timeline: how turns are made of windows.
        known_threshold: least probability, between 0 and 1, that a speaker is the known voice whose
            name he gets; None: that of the model.
        cache: where detected speech and vectors are kept by the content of a recording, so that
            another clustering of it takes its own time only; None: nowhere.
    """

    backend: str = "ckm"
    n_speakers: int | None = None
    min_speakers: int | None = None
    max_speakers: int | None = None
    max_set_size: int = 2
    params: Mapping[str, Any] = field(default_factory=dict)
    activity: Activity | Float64[np.ndarray, "m 2"] | None = None
    counts: bool = True
    model: str | Path = "lstm-compositional"
    device: str = "auto"
    seed: int = 0
    window: float | None = None
    step: float | None = None
    timeline: TimelineOptions = field(default_factory=TimelineOptions)
    known_threshold: float | None = None
    cache: Cache | None = None
    _loaded: dict[tuple[str, str], CompositionalEmbedding] = field(
        default_factory=dict, init=False, repr=False, compare=False
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
        """Diarize one recording.

        Args:
            audio: a path, a file object, `(samples, sample_rate)`, or an opened recording.
            hook: called as `hook(step, done, total)` now and then.
            reference: the recording's true turns, for the backends that need them.
            corrections: stretches of which a person says who speaks there: one labelled `name` is
                a turn of that speaker, `!name` is none, `ONLY:name` is one and nobody else's. They
                bind the result; a name that it has without them means that speaker.
            known: voices to be called by their names.

        Returns:
            Turns of SPEAKER_00, SPEAKER_01, ... by first appearance, and of the names that are
            given; its uri is the file's stem.

        Raises:
            InputError: audio, options or corrections that cannot be used.
        """
        return self.diarize(
            audio, hook, reference=reference, corrections=corrections, known=known
        ).annotation

    @property
    def needs_reference(self) -> bool:
        """Whether the backend has to be told the true turns."""
        return bool(clustering.make(self.backend).needs_truth)

    @property
    def model_sha256(self) -> str:
        """The weights file, named by its content.

        Raises:
            InputError: there is no such model.
        """
        from diarize.embedding.weights import find_model, sha256

        return sha256(find_model(self.model))

    @property
    def knowledge(self) -> Knowledge:
        """What is known of the model, which is loaded for it.

        Raises:
            InputError: there is no such model, or it is damaged.
        """
        return self._model()[0].knowledge

    @property
    def likeness(self) -> Likeness:
        """From the likeness of two voices to one person: the model's, but for `known_threshold`."""
        likeness = self.knowledge.likeness
        if self.known_threshold is None:
            return likeness
        return replace(likeness, known=self.known_threshold)

    def prepare(self) -> None:
        """Check all options and load the model; otherwise the first recording does so.

        Raises:
            ValueError: options that cannot be used, alone or together.
        """
        for name, seconds, limits in (("window", self.window, WINDOWS), ("step", self.step, STEPS)):
            if seconds is not None:
                _require_within(name, seconds, limits)
        model, _ = self._model()
        # A clustering checks its options when it is fitted, be it to no windows at all.
        nothing = np.zeros((0, model.config.dim), np.float32)
        self._estimator(model).fit(nothing, SpeakerSets(np.zeros((0, 0), bool)))

    def diarize(
        self,
        audio: Source | Recording,
        hook: Hook | None = None,
        *,
        reference: Annotation | None = None,
        corrections: Annotation | None = None,
        known: Voiceprints | None = None,
    ) -> Diarization:
        """Diarize one recording, and tell how it went; arguments as for a call."""
        from diarize.activity.notes import notes_on

        self.prepare()
        if self.needs_reference and reference is None:
            raise InputError(f"backend {self.backend} needs the true turns: give a reference")
        recording = audio if isinstance(audio, Recording) else open_recording(audio)
        embedded = self.embed(recording, hook, corrections)
        if hook:
            hook("clustering", 0, 1)
        estimator, notes = self.cluster(embedded, reference)
        found = self._decode(embedded, estimator, known)
        annotation = found.annotation(embedded.uri)
        if hook:
            hook("clustering", 1, 1)
        n_windows = len(embedded.coarse)
        if not len(found.cells):
            notes.append("no speech found")
        notes += notes_on(recording, embedded.speech, self._activity, self.cache)
        if corrections is not None:
            notes += embedded.corrections.notes(corrections, annotation)
        if estimator.sampled_ is not None:
            notes.append(
                f"clustered {estimator.sampled_} of {n_windows} windows; the others went to the "
                "nearest set"
            )
        return Diarization(
            annotation=annotation,
            speech=embedded.speech,
            windows=n_windows,
            duration=embedded.duration,
            device=embedded.device,
            notes=tuple(notes),
            voices=voiceprints(annotation, found.cells, found.vectors),
            matches=found.matches,
            confidence=found.confidence(self.timeline, self.knowledge),
        )

    def embed(
        self,
        audio: Source | Recording,
        hook: Hook | None = None,
        corrections: Annotation | None = None,
    ) -> Embedded:
        """Find speech and embed its windows, the part of the work that takes the time."""
        from diarize.embedding import embed_windows, place_windows

        told = Corrections() if corrections is None else Corrections.of(corrections)
        model, device = self._model()
        recording = audio if isinstance(audio, Recording) else open_recording(audio)
        content = "" if self.cache is None else recording.sha256()
        heard = self._heard(recording, hook, content)
        speech = heard.regions
        told = told.within(recording.start, recording.start + recording.duration)
        known = model.knowledge
        coarse, _ = place_windows(speech, self.window or known.window, self.step or known.step)
        fine, cells = place_windows(speech, known.fine_window, known.fine_step)
        unheard, unheard_cells = place_windows(
            told.unheard(speech), known.fine_window, known.fine_step
        )
        windows = np.concatenate([coarse, fine, unheard])
        if self.cache is None:
            vectors = embed_windows(model, recording, windows, hook)
        else:
            front_end = [self.model_sha256, device, windows.tolist()]
            vectors = self.cache.kept(
                cache_key("vectors", content, *front_end),
                lambda: embed_windows(model, recording, windows, hook),
            )
        of_coarse, of_fine, of_unheard = np.split(vectors, np.cumsum([len(coarse), len(fine)]))
        return Embedded(
            uri=recording.uri,
            duration=recording.duration,
            speech=speech,
            windows=coarse,
            coarse=of_coarse,
            fine=of_fine,
            cells=cells,
            device=device,
            corrections=told,
            unheard=of_unheard,
            unheard_cells=unheard_cells,
            voices=heard.voices,
        )

    def cluster(
        self, embedded: Embedded, reference: Annotation | None = None
    ) -> tuple[Any, list[str]]:
        """Find the speakers: the fitted clustering, and what a person should know of it.

        A clustering that needs the truth is given that of the windows that are decoded.
        """
        model, _ = self._model()
        estimator = self._estimator(model)
        if reference is not None and self.needs_reference:
            truth = sets_at(reference, embedded.cells.mean(axis=1))
            return estimator.fit(embedded.fine, truth), []
        notes = _bind_to(len(embedded.coarse), estimator)
        return estimator.fit(embedded.coarse), notes

    def decode(self, embedded: Embedded, estimator: Any) -> Annotation:
        """Say who spoke when, given a fitted clustering."""
        return self._decode(embedded, estimator).annotation(embedded.uri)

    def _decode(
        self, embedded: Embedded, estimator: Any, known: Voiceprints | None = None
    ) -> Decoded:
        least = self.n_speakers or self.min_speakers or 0
        found = decode_turns(embedded, estimator, self.timeline, least)
        if known is not None:
            found = found.named_after(known, self.likeness)
        if not embedded.corrections.claims:
            return found
        most = self.n_speakers or self.max_speakers
        return decode_corrected(found, embedded, self.timeline, least, most)

    def _model(self) -> tuple[CompositionalEmbedding, str]:
        """The model and what it runs on, loaded once for all recordings."""
        from diarize.embedding import load_model, pick_device

        device = pick_device(self.device)
        key = (str(self.model), device)
        if key not in self._loaded:
            self._loaded = {key: load_model(self.model, device)}
        return self._loaded[key], device

    def _estimator(self, model: CompositionalEmbedding) -> Any:
        return clustering.make(
            self.backend,
            n_speakers=self.n_speakers,
            min_speakers=self.min_speakers,
            max_speakers=self.max_speakers,
            max_set_size=self.max_set_size,
            compose=model.compose,
            scatter=model.knowledge.scatter,
            random_state=self.seed,
            **self.params,
        )

    @property
    def _activity(self) -> Activity | Float64[np.ndarray, "m 2"]:
        from diarize.activity import NetworkActivity

        return NetworkActivity() if self.activity is None else self.activity

    def _heard(self, recording: Recording, hook: Hook | None, content: str = "") -> Heard:
        """Where there is speech, and of how many; `content` names the recording in the cache."""
        from diarize.activity import Heard, NetworkActivity, clip_regions

        activity = self._activity
        if callable(activity):
            heard = self._listen(activity, recording, hook, content)
        else:
            heard = Heard.of(activity)
        if not self.counts:
            heard = replace(heard, voices=None)
        elif heard.voices is None:
            counted = self._listen(NetworkActivity(), recording, hook, content)
            heard = replace(heard, voices=counted.voices)
        begin = recording.start
        regions = clip_regions(heard.regions, begin, begin + recording.duration)
        return replace(heard, regions=regions)

    def _listen(
        self, activity: Activity, recording: Recording, hook: Hook | None, content: str
    ) -> Heard:
        from diarize.activity import Heard, NetworkActivity, SileroActivity

        if self.cache is None or not isinstance(activity, NetworkActivity | SileroActivity):
            return Heard.of(activity(recording, hook))
        key = cache_key("heard", content, activity.identity)
        made = self.cache.kept_all(
            key, "regions", lambda: Heard.of(activity(recording, hook)).arrays()
        )
        return Heard.from_arrays(made)


def _require_within(name: str, seconds: float, limits: tuple[float, float]) -> None:
    low, high = limits
    if not low <= seconds <= high:
        raise InputError(f"{name} lies between {low} and {high} s, not at {seconds}")


def _bind_to(n_windows: int, estimator: Any) -> list[str]:
    """Ask a clustering for no more speakers than there are windows; returns what to say of it."""
    wanted = {name: getattr(estimator, name) for name in ("n_speakers", "min_speakers")}
    too_many = {name: n for name, n in wanted.items() if n is not None and n > n_windows > 0}
    if not too_many:
        return []
    estimator.set_params(**dict.fromkeys(too_many, n_windows))
    return [
        f"too short for {max(too_many.values())} speakers: its {n_windows} windows of speech hold "
        f"at most {n_windows}"
    ]


def sets_at(reference: Annotation, times: Float64[np.ndarray, "n"]) -> SpeakerSets:
    """Say whom a reference holds at given instants."""
    labels = reference.labels()
    membership = np.zeros((len(times), len(labels)), bool)
    for segment, _, label in reference.itertracks(yield_label=True):
        membership[(times >= segment.start) & (times < segment.end), labels.index(label)] = True
    return SpeakerSets(membership)
