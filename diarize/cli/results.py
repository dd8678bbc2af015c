"""From a recording to its result, and from the result to its files and the summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING

from diarize.cli.messages import error, explain, note

if TYPE_CHECKING:
    from pyannote.core import Annotation

    from diarize.audio import Recording
    from diarize.cli.targets import Targets
    from diarize.pipeline import Diarization, Diarizer
    from diarize.voiceprints import Voiceprints


@dataclass
class Failures:
    """Lets one bad input of several not stop the others.

    Attributes:
        several: whether there are others.
        inputs: those that failed.
    """

    several: bool
    inputs: list[str] = field(default_factory=list)

    @contextmanager
    def of(self, source: str) -> Iterator[None]:
        """Say what goes wrong with an input and go on; with a single one, let it be raised."""
        try:
            yield
        except BrokenPipeError:
            raise  # nobody reads the results any more
        except Exception as problem:
            if not self.several:
                raise
            error(explain(problem)[1])
            if source not in self.inputs:
                self.inputs.append(source)


@dataclass(frozen=True)
class Result:
    """What was found in one recording, and how long that took, seconds."""

    source: str  # the input
    recording: Recording
    found: Diarization
    elapsed: float

    def renamed(self, names: Mapping[str, str]) -> Result:
        """Call the speakers otherwise."""
        return replace(self, found=self.found.renamed(names))


@dataclass(frozen=True)
class Told:
    """What is told of one recording; None: nothing."""

    truth: Annotation | None = None
    corrections: Annotation | None = None
    known: Voiceprints | None = None


def run_one(
    diarizer: Diarizer,
    source: str,
    recording: Recording,
    told: Told,
    several: bool,
) -> Result:
    """Diarize a recording under a progress bar, which names it if it is one of several."""
    from diarize.cli.progress import progress

    began = perf_counter()
    with progress(f"{recording.uri}: " if several else "") as hook:
        found = diarizer.diarize(
            recording, hook, reference=told.truth, corrections=told.corrections, known=told.known
        )
    return Result(source, recording, found, perf_counter() - began)


def deliver(result: Result, diarizer: Diarizer, targets: Targets) -> None:
    """Write a result, with its clips if they are wanted, and say what was found."""
    from diarize.cli.summary import print_summary
    from diarize.clips import cut_clips
    from diarize.formats import FORMATS

    found = result.found
    options = {
        "backend": diarizer.backend,
        "model": str(diarizer.model),
        "seed": diarizer.seed,
        "max_set_size": diarizer.max_set_size,
        **diarizer.params,
    }
    texts = {
        name: FORMATS[name].write(found.annotation, options, found.confidence)
        for name in targets.formats
    }
    targets.write(result.recording.uri, texts)
    clips = targets.clips_of(result.recording.uri)
    if clips is not None:
        cut_clips(result.recording, found.annotation, clips)
    for text in found.notes:
        note(f"{result.recording.label}: {text}")
    print_summary(found, result.elapsed)
