"""What a run does with each of its inputs, here or in another process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diarize.cli.inputs import Turns, name_of, open_recordings
from diarize.cli.manifest import Fingerprint, file_sha256
from diarize.cli.messages import explain
from diarize.cli.results import Result, Told, deliver, run_channels, run_one
from diarize.errors import InputError
from diarize.storage.version import __version__

if TYPE_CHECKING:
    from diarize.activity.counts import Hook
    from diarize.audio import Recording
    from diarize.cli.gather import Entry
    from diarize.cli.targets import Targets
    from diarize.pipeline import Diarizer
    from diarize.voices.voiceprints import Voiceprints

Watch = Callable[["Recording"], AbstractContextManager["Hook | None"]]
"""Shows the progress of a recording as long as its context lasts, as its hook tells it."""


@dataclass(frozen=True)
class Done:
    """What came of one input.

    Attributes:
        entry: the input.
        results: of its recordings; those before a problem, if there was one.
        outputs: the files that were written.
        input_sha256: of its content before it was read; "" where it cannot be read twice, or
            nothing is finished for later runs.
        problem: what went wrong.
    """

    entry: Entry
    results: list[Result]
    outputs: list[Path]
    input_sha256: str
    problem: Exception | None

    @classmethod
    def failed(cls, entry: Entry, why: str) -> Done:
        """Nothing but a problem."""
        return cls(entry, [], [], "", InputError(why))

    def sendable(self) -> Done:
        """For another process: not every exception can be sent, but its line can."""
        if self.problem is None:
            return self
        return replace(self, problem=InputError(explain(self.problem)[1]))


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is done with each input of a run.

    Attributes:
        diarizer: with all options.
        targets: where results go.
        channels: "mix", "separate" or "per-speaker".
        start, end: of the part that is read, seconds; None: all.
        truth: true turns.
        corrections: what a person says.
        known: voices to be called by name.
        linked: whether names are given across recordings, so that nothing is written before all
            are heard.
        exclusive: whether each instant is given to one speaker.
    """

    diarizer: Diarizer
    targets: Targets
    channels: str = "mix"
    start: float | None = None
    end: float | None = None
    truth: Turns | None = None
    corrections: Turns | None = None
    known: Voiceprints | None = None
    linked: bool = False
    exclusive: bool = False
    _model_sha256: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Now: the file may be another one when results are there.
        object.__setattr__(self, "_model_sha256", self.diarizer.model_sha256)

    @property
    def finishes(self) -> bool:
        """Whether results are finished for later runs, too.

        They have names in a folder, and do not depend on the other recordings of this run, as
        linked names do.
        """
        return self.targets.folder is not None and not self.linked

    def perform(self, entry: Entry, watch: Watch) -> Done:
        """Hear the recordings of an input and write what was found, unless names are linked."""
        return self.deliver(self.hear(entry, watch))

    def hear(self, entry: Entry, watch: Watch) -> Done:
        """Hear the recordings of an input."""
        results: list[Result] = []
        before, problem = "", None
        try:
            if entry.problem:
                raise InputError(entry.problem)
            before = file_sha256(entry.source) if self.finishes else ""
            for recording in open_recordings(entry.source, self.channels, self.start, self.end):
                with watch(recording) as hook:
                    told = self._told(recording)
                    run = run_channels if self.channels == "per-speaker" else run_one
                    result = run(self.diarizer, entry, recording, told, hook)
                if self.exclusive:
                    result = replace(result, found=result.found.exclusive())
                results.append(result)
        except BrokenPipeError:
            raise  # nobody is told of progress any more
        except Exception as reason:
            problem = reason
        return Done(entry, results, [], before, problem)

    def deliver(self, done: Done) -> Done:
        """Write what was heard, unless names are linked; the results that were written."""
        if self.linked:
            return done
        results: list[Result] = []
        outputs: list[Path] = []
        problem = done.problem
        try:
            for result in done.results:
                outputs += deliver(result, self.options, self.targets)
                results.append(result)
        except BrokenPipeError:
            raise  # nobody reads the results any more
        except Exception as reason:
            problem = reason
        return replace(done, results=results, outputs=outputs, problem=problem)

    @property
    def options(self) -> dict[str, Any]:
        """What results tell of how they were found."""
        diarizer = self.diarizer
        if self.channels == "per-speaker":
            return {"channels": self.channels}
        return {
            "backend": diarizer.backend,
            "model": str(diarizer.model),
            "seed": diarizer.seed,
            "max_set_size": diarizer.max_set_size,
            **diarizer.params,
        }

    def fingerprint(self, entry: Entry, input_sha256: str) -> Fingerprint:
        """Name all that the results of an input depend on."""
        return Fingerprint(input_sha256, self._options(entry), self._model_sha256, __version__)

    def _told(self, recording: Recording) -> Told:
        return Told(
            None if self.truth is None else self.truth.of(recording.uri),
            None if self.corrections is None else self.corrections.find(recording.uri),
            None if self.linked else self.known,
        )

    def _options(self, entry: Entry) -> str:
        """A digest of all options, and of what files say of this input."""
        from diarize.activity import NetworkActivity
        from diarize.embedding import pick_device

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
            "activity": getattr(activity, "identity", None) or getattr(activity, "__name__", ""),
            "voices": NetworkActivity().identity if diarizer.counts else None,
            "told": [{} if turns is None else _said(turns, entry) for turns in told],
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


def _said(turns: Turns, entry: Entry) -> dict[str, list[tuple[float, float, str]]]:
    """The turns that a file gives for an input."""
    return {
        name: sorted((s.start, s.end, str(who)) for s, _, who in of.itertracks(yield_label=True))
        for name, of in turns.belonging(name_of(entry.source)).items()
    }


def _voices(known: Voiceprints) -> list[str]:
    return [*known.names, hashlib.sha256(known.centroids.tobytes()).hexdigest()]


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return dict(value) if hasattr(value, "keys") else str(value)
