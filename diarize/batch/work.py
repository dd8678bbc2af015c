"""What a run does with each of its jobs, here, in another process or on another machine."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from diarize.batch.annotations import Turns
from diarize.batch.jobs import CHANNELS, Job, name_of, open_recordings
from diarize.batch.manifest import Fingerprint
from diarize.batch.results import Result
from diarize.batch.targets import Targets
from diarize.errors import InputError, explain, one_line, require_one_of
from diarize.storage.files import file_sha256
from diarize.storage.version import __version__

if TYPE_CHECKING:
    from diarize.audio import Recording
    from diarize.pipeline import Diarizer
    from diarize.voices.vectors import Voiceprints

_ELSEWHERE = {
    "backend", "model", "seed", "max_set_size", "params", "timeline", "device", "cache", "diarizer",
    "targets",
}  # fmt: skip
"""Attributes of a `Work` and its `Diarizer` that results tell of otherwise, or that change none."""

Hook = Callable[[Job, str, str, float, float], None]
"""Told of progress: `hook(job, name of the recording, step, done, total)`."""


@dataclass(frozen=True)
class Done:
    """What came of one job.

    Attributes:
        job: what was to be heard.
        results: of its recordings; those before a problem, if there was one.
        outputs: the files that were written.
        text: results that are for standard output.
        notes: what was warned of, a line each.
        input_sha256: of its content before it was read; "" where it cannot be read twice, or
            nothing is finished for later runs.
        problem: what went wrong.
    """

    job: Job
    results: list[Result] = field(default_factory=list)
    outputs: list[Path] = field(default_factory=list)
    text: str = ""
    notes: list[str] = field(default_factory=list)
    input_sha256: str = ""
    problem: Exception | None = None

    @classmethod
    def failed(cls, job: Job, why: str) -> Done:
        """Nothing but a problem."""
        return cls(job, problem=InputError(why))

    def sendable(self) -> Done:
        """For another process: not every exception can be sent, but its line can."""
        if self.problem is None:
            return self
        return replace(self, problem=InputError(explain(self.problem)[1]))


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is done with each job of a run.

    Attributes:
        diarizer: with all options.
        targets: where results go.
        channels: "mix", "separate" (each is a recording) or "per-speaker" (each is the microphone
            of one speaker).
        start, end: of the part that is read, seconds; None: all.
        truth: true turns.
        corrections: what a person says.
        known: voices to be called by name.
        linked: whether names are given across recordings, so that nothing is written before all
            are heard.
        same_person: least probability that speakers of two recordings are one person, if they are
            linked; None: the model's.
        exclusive: whether each instant is given to one speaker.

    Raises:
        InputError: there is no such model or use of channels, or regions of speech are given that
            would be those of each channel.
    """

    diarizer: Diarizer
    targets: Targets = field(default_factory=Targets)
    channels: str = "mix"
    start: float | None = None
    end: float | None = None
    truth: Turns | None = None
    corrections: Turns | None = None
    known: Voiceprints | None = None
    linked: bool = False
    same_person: float | None = None
    exclusive: bool = False
    _model_sha256: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_one_of("channels", self.channels, CHANNELS)
        activity = self.diarizer.activity
        if self.channels == "per-speaker" and activity is not None and not callable(activity):
            raise InputError(
                "channels per-speaker: what finds speech in each is needed, no regions"
            )
        # Now: the file may be another one when results are there.
        object.__setattr__(self, "_model_sha256", self.diarizer.model_sha256)

    @property
    def finished_in(self) -> Path | None:
        """The folder in which results are finished for later runs, too; None: they are not.

        They have names in a folder, and do not depend on the other recordings of this run, as
        linked names do, nor on a function that says where there is speech, whose code nobody knows.
        """
        folder = self.targets.folder
        unknown = self.linked or _named(self.diarizer.activity) is None
        return None if unknown or folder is None else Path(folder)

    def perform(self, job: Job, hook: Hook | None = None) -> Done:
        """Hear the recordings of a job and write what was found, unless names are linked."""
        done = self.hear(job, hook)
        return done if self.linked else self.deliver(done)

    def hear(self, job: Job, hook: Hook | None = None) -> Done:
        """Hear the recordings of a job; warnings become notes."""
        results: list[Result] = []
        before, problem = "", None
        with warnings.catch_warnings(record=True) as caught:
            try:
                if job.problem:
                    raise InputError(job.problem)
                before = file_sha256(job.source) if self.finished_in else ""
                for recording in open_recordings(job.source, self.channels, self.start, self.end):
                    results.append(self._heard(job, recording, hook))
            except Exception as reason:
                problem = reason
        notes = [one_line(str(warning.message)) for warning in caught]
        return Done(job, results, notes=notes, input_sha256=before, problem=problem)

    def deliver(self, done: Done) -> Done:
        """Write what was heard; of several results those that were written remain."""
        results: list[Result] = []
        outputs: list[Path] = []
        text, problem = "", done.problem
        try:
            for result in done.results:
                printed, written = self._written(result)
                results, outputs = [*results, result], outputs + written
                text += printed
        except Exception as reason:
            problem = reason
        return replace(done, results=results, outputs=outputs, text=text, problem=problem)

    def _heard(self, job: Job, recording: Recording, hook: Hook | None) -> Result:
        def tell(step: str, done: float, total: float) -> None:
            if hook is not None:
                hook(job, recording.uri, step, done, total)

        truth = None
        if self.truth is not None:
            needed = self.diarizer.needs_reference
            truth = (self.truth.of if needed else self.truth.find)(recording.uri)
        began = perf_counter()
        if self.channels == "per-speaker":
            from diarize.activity import NetworkActivity
            from diarize.batch.multitrack import diarize_channels

            activity = self.diarizer.activity
            detector = activity if callable(activity) else NetworkActivity()
            found = diarize_channels(recording, detector, self.diarizer.timeline, tell)
        else:
            found = self.diarizer.diarize(
                recording,
                tell,
                reference=truth,
                corrections=self.corrections and self.corrections.find(recording.uri),
                known=None if self.linked else self.known,
            )
        elapsed = perf_counter() - began
        if self.exclusive:
            found = found.exclusive()
        return Result(job, recording, found, elapsed, truth)

    def _written(self, result: Result) -> tuple[str, list[Path]]:
        """Write a result, with clips and web page if they are wanted.

        Returns:
            What is for standard output, and the files that were written.
        """
        from diarize.formats import FORMATS
        from diarize.formats.turns import Beside
        from diarize.report.clips import cut_clips
        from diarize.report.html import write_page

        found, recording, targets = result.found, result.recording, self.targets
        source = Path(result.job.source)
        beside = Beside(
            notes=found.notes,
            end=recording.file_duration,
            media=source if source.is_file() else None,
            number=found.number,
            several=None if found.several is None else found.several.tolist(),
            home=targets.home(result.job.beside(recording.uri)),
        )
        texts = {
            name: FORMATS[name].write(found.annotation, self.options, found.confidence, beside)
            for name in targets.formats
        }
        place = result.job.beside(recording.uri)
        written = targets.write(place, texts)
        clips, page = targets.clips_of(place), targets.page_of(place)
        if clips is not None:
            written += cut_clips(recording, found.annotation, clips)
        if page is not None:
            page.parent.mkdir(parents=True, exist_ok=True)
            write_page(
                page,
                recording,
                found.annotation,
                confidence=found.confidence,
                reference=result.truth,
                number=found.number,
                several=found.several,
            )
            written.append(page)
        return "".join(texts.values()) if targets.printed else "", written

    @property
    def options(self) -> dict[str, Any]:
        """What results tell of how they were found."""
        diarizer = self.diarizer
        if self.channels == "per-speaker":
            return self._given()
        return {
            "backend": diarizer.backend,
            "model": str(diarizer.model),
            "seed": diarizer.seed,
            "max_set_size": diarizer.max_set_size,
            **self._given(),
            **diarizer.params,
        }

    def _given(self) -> dict[str, Any]:
        """What was asked for of each recording, by the names of attributes."""
        from diarize.activity import NetworkActivity

        asked = {
            one.name: value
            for part in (self.diarizer.timeline, self.diarizer, self)
            for one in fields(part)
            if one.init and one.name not in _ELSEWHERE
            if (value := _brief(getattr(part, one.name))) != one.default
        }
        if asked.get("activity") == _brief(NetworkActivity()):
            del asked["activity"]
        if not self.diarizer.needs_reference:
            asked.pop("truth", None)
        return asked

    def fingerprint(self, job: Job, input_sha256: str) -> Fingerprint:
        """Name all that the results of an input depend on."""
        return Fingerprint(input_sha256, self._options(job), self._model_sha256, __version__)

    def _options(self, job: Job) -> str:
        """A digest of all options, and of what files say of this input."""
        from diarize.activity import NetworkActivity
        from diarize.embedding import pick_device
        from diarize.timeline.resegmenter import shipped_resegmenter

        diarizer, targets = self.diarizer, self.targets
        activity = diarizer.activity
        given = getattr(activity, "__self__", None)  # the turns of a file
        told = (self.truth, self.corrections, given if isinstance(given, Turns) else None)
        asked = {
            "diarizer": {
                one.name: getattr(diarizer, one.name)
                for one in fields(diarizer)
                if one.init and one.name not in {"activity", "model", "device", "cache"}
            },
            "device": pick_device(diarizer.device),
            "activity": _named(activity),
            "voices": NetworkActivity().identity if diarizer.counts else None,
            "turns": file_sha256(shipped_resegmenter()) if diarizer.counts else None,
            "told": [{} if turns is None else _said(turns, job) for turns in told],
            "known": None if self.known is None else _voices(self.known),
            "targets": {
                one.name: getattr(targets, one.name)
                for one in fields(targets)
                if one.name not in {"folder", "file"}
            },
            "part": [self.channels, self.start, self.end, self.exclusive],
        }
        text = json.dumps(asked, sort_keys=True, default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()


def _named(activity: Any) -> Any:
    """What says where there is speech: all that it depends on, or regions; None: nobody knows.

    A function of this package depends on its version only.
    """
    import numpy as np

    if activity is None:
        return ""
    if not callable(activity):
        return np.asarray(activity).tolist()
    own = str(getattr(activity, "__module__", "")).startswith("diarize.")
    return (
        getattr(activity, "identity", None) or (own and getattr(activity, "__name__", "")) or None
    )


def _brief(value: Any) -> Any:
    """An option as JSON tells of it: turns by their file, voices by their names."""
    from diarize.voices.vectors import Voiceprints

    turns = getattr(value, "__self__", value)  # those of a file tell where there is speech
    if isinstance(turns, Turns):
        return str(turns.path)
    if isinstance(value, Voiceprints):
        return list(value.names)
    if is_dataclass(value):
        return repr(value)
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return value.tolist() if hasattr(value, "tolist") else value


def _said(turns: Turns, job: Job) -> dict[str, list[tuple[float, float, str]]]:
    """The turns that a file gives for an input."""
    return {
        name: sorted((s.start, s.end, str(who)) for s, _, who in of.itertracks(yield_label=True))
        for name, of in turns.belonging(name_of(job.source)).items()
    }


def _voices(known: Voiceprints) -> list[str]:
    return [*known.names, hashlib.sha256(known.centroids.tobytes()).hexdigest()]


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return dict(value) if hasattr(value, "keys") else str(value)
