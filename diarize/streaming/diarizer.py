"""Diarization while people are still speaking: the stages of `diarize.pipeline`, block by block."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from numbers import Real
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32, Float64

from diarize.activity.level import CHUNK, as_chunks
from diarize.activity.network import NetworkActivity
from diarize.activity.silero import SileroActivity
from diarize.audio import SAMPLE_RATE
from diarize.audio.bandwidth import Bandwidth
from diarize.errors import InputError, require_kind
from diarize.storage.weights import DEFAULT_MODEL
from diarize.streaming.centroids import LiveCentroids
from diarize.streaming.decoding import LiveDecoder
from diarize.streaming.hearing import Counted, hear_live
from diarize.streaming.intake import Intake, resampling_delay
from diarize.streaming.live import make_live
from diarize.streaming.live_turns import LiveTurns
from diarize.streaming.refinement import Refinement
from diarize.streaming.review import Reviews
from diarize.streaming.timing import plan, time_to_hear
from diarize.streaming.turns import Turn, annotation_of
from diarize.streaming.windows import LiveWindows
from diarize.threads import one_thread
from diarize.timeline import TimelineOptions
from diarize.timeline.confidence import Certainty
from diarize.timeline.resegmentation import for_shorter
from diarize.torch_modes import usual_modes

if TYPE_CHECKING:
    from pyannote.core import Annotation

LATENCY = 2.0  # seconds


class StreamingDiarizer:
    """Says who speaks while they speak, and settles it with hindsight.

    `push` takes sound in blocks of any size and says what has been decided meanwhile: who spoke in
    a stretch of time, at most `latency` seconds after its sound. What is said does not depend on
    the sizes of the blocks. `finish` clusters all that was heard as a recording is clustered, and
    gives its turns. Memory does not grow with the sound but by the turns; what was heard is kept on
    disk.

    Args:
        rate: of the samples, Hz.
        latency: seconds from sound to what is said of it.
        max_set_size: most speakers at one instant.
        live: what finds speakers live: "ckm", centroids that follow what is heard, or "links".
        params: options of it.
        refine: every so many seconds, what is older is settled; None: at the end. Where that takes
            longer than so many seconds, the next pass is put off, with a RuntimeWarning at first.
        refine_backend: the clustering that does so.
        n_speakers, min_speakers, max_speakers: bind what is settled, and of "ckm" how many can be
            heard live at most; None: inferred.
        activity: how speech is found; None: `NetworkActivity()`, which hears also how many speak,
            and looks ahead as far as the latency leaves time for, at most half a second.
        timeline: how turns are made of windows.
        model: name of a shipped model, or path of a weights file or of an ONNX file.
        device: "auto", "cpu" or "cuda".
        seed: of everything that is drawn.
        uri: name of the stream.

    Attributes:
        uri: name of the stream.
        options: those that a result is written with.

    Raises:
        InputError: options that cannot be used, a latency that cannot be promised.
    """

    @usual_modes()
    def __init__(
        self,
        rate: float = SAMPLE_RATE,
        *,
        latency: float = LATENCY,
        max_set_size: int = 2,
        live: str = "ckm",
        params: Mapping[str, Any] | None = None,
        refine: float | None = None,
        refine_backend: str = "ckm",
        n_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
        activity: NetworkActivity | SileroActivity | None = None,
        timeline: TimelineOptions | None = None,
        model: str | Path = DEFAULT_MODEL,
        device: str = "auto",
        seed: int = 0,
        uri: str = "stream",
    ) -> None:
        from diarize.embedding import load_encoder, pick_device

        require_kind("latency", latency, Real, "a number of seconds")
        require_kind("refine", refine, Real | None, "a number of seconds or None")
        require_kind("params", params, Mapping | None, "a mapping from names to values, or None")
        require_kind("timeline", timeline, TimelineOptions | None, "a TimelineOptions or None")
        require_kind("model", model, str | PathLike, "a name or a path")
        self.uri = uri
        options = timeline or TimelineOptions()
        bounds = {
            "n_speakers": n_speakers,
            "min_speakers": min_speakers,
            "max_speakers": max_speakers,
        }
        self.options = {
            "backend": refine_backend,
            "model": str(model),
            "seed": seed,
            "max_set_size": max_set_size,
            "latency": latency,
            "refine": refine,
            "live": live,
            **_asked(bounds, activity, options),
            **dict(params or {}),
        }
        self._intake = Intake(rate)
        self._band = Bandwidth()
        self.device = pick_device(device)
        self._model = load_encoder(model, self.device)
        known = self._model.knowledge
        delay = resampling_delay(self._intake.rate)
        easily, at_most = time_to_hear(latency, delay)
        fine = known.fine_step
        self._activity = hear_live(activity or NetworkActivity(), easily - fine, at_most - fine)
        self._timing = plan(latency, delay, self._activity.slowness + fine)
        self._refinement = Refinement(
            refine_backend,
            {
                "max_set_size": max_set_size,
                "compose": self._model.compose,
                "random_state": seed,
            },
            bounds,
            options,
            known,
            self._model.dim,
            refine,
        )
        most = n_speakers or max_speakers
        self._live = make_live(live, self._model, max_set_size, most, dict(params or {}))
        self._windows = LiveWindows(self._model, self._timing.delay, not self._live.fine)
        now = for_shorter(options) if known.has_short else options
        self._decoder = LiveDecoder(self._model.dim, max_set_size, now)
        self._reviews = None
        if isinstance(self._live, LiveCentroids):
            look = partial(self._refinement.review, most=self._live.most)
            self._reviews = Reviews(self._live, look)
        self._knows = False  # of a speaker
        self._merged: dict[str, str] = {}  # as it was told
        self._ended = False
        self._annotation: Annotation | None = None
        self._heard = 0  # samples at 16 kHz
        self._began = -math.inf  # seconds on a clock, at the first sound
        self.live_turns = LiveTurns()

    @property
    def rate(self) -> int:
        """Of the samples, Hz."""
        return self._intake.rate

    @property
    def seconds(self) -> float:
        """How much sound has come."""
        return self._intake.seconds

    @property
    def idle(self) -> float:
        """Seconds of sound that may come before there is work to do with it."""
        return max(0, self._timing.hop - self._intake.waiting) / SAMPLE_RATE

    @property
    def decided(self) -> float:
        """Seconds up to which it has been said who speaks."""
        return self._decoder.until

    @property
    def said(self) -> list[tuple[float, float, tuple[str, ...]]]:
        """What was said live: begin, end and speakers, stretches that went on joined."""
        return self.live_turns.turns

    @property
    def settled(self) -> list[Turn]:
        """Final turns so far."""
        return self._refinement.turns

    @property
    def settling(self) -> bool:
        """Whether a pass over the past is under way, whose turns nobody has been told yet."""
        return self._refinement.under_way

    @usual_modes()
    def push(self, samples: Any) -> list[Turn]:
        """Take in sound.

        Args:
            samples: mono, of shape (n,); floats, or integers, which are scaled by their full scale.

        Returns:
            What was decided meanwhile, in order of time; then what was settled, if anything was.

        Raises:
            InputError: samples that cannot be used, or the stream has ended.
        """
        if self._ended:
            raise InputError("the stream has ended")
        if self._began == -math.inf:
            self._began = monotonic()
        self._intake.push(samples)
        return self._process_hops() + self._refinement.collect()

    @usual_modes()
    def catch_up(self, until: float) -> list[Turn]:
        """Decide on sound although what follows it does not come: for a stream that stalls.

        Args:
            until: seconds; what was spoken before is decided now, as far as it can be known.

        Returns:
            What was decided, as by `push`; then what was settled meanwhile.
        """
        said: list[Turn] = []
        if not self._ended and until > self.decided:
            waiting = self._intake.waiting // CHUNK * CHUNK
            piece = self._intake.take(waiting) if waiting else None
            said = [] if piece is None else self._process(piece)
            with one_thread():
                said += self._decide(until)
        return said + self._refinement.collect()

    @usual_modes()
    def end(self) -> list[Turn]:
        """There is no more sound: decide on what is left."""
        if self._ended:
            return []
        self._intake.finish()
        said = self._process_hops()
        rest = self._intake.take(self._intake.waiting)
        self._ended = True
        if self._reviews is not None:
            self._reviews.end()
        assert rest is not None
        with one_thread():
            self._detect(rest)
            self._take_counts(self._activity.finish(self._seconds_heard))
            self._windows.finish()
            return said + self._decide(math.inf)

    @usual_modes()
    def finish(self) -> Annotation:
        """Settle all of the stream.

        Returns:
            Turns of SPEAKER_00, SPEAKER_01, ... by first appearance.
        """
        if self._annotation is None:
            self.end()
            self._refinement.finish(self._band.narrow)
            self._annotation = self.final()
        return self._annotation

    @property
    def certainty(self) -> Certainty | None:
        """How sure the final turns are; None: they were settled in parts, or are not yet."""
        return self._refinement.certainty

    def several(self) -> Float64[np.ndarray, "m 2"] | None:
        """Regions in which several were heard at once, seconds; None: nobody listened for that."""
        counts = self._refinement.counts.read()
        return None if counts is None else counts.several(self.seconds)

    @property
    def merged(self) -> dict[str, str]:
        """Live names that turned out to be one with another, and that one's."""
        return self.live_turns.merged(self._live.became)

    def newly_merged(self) -> dict[str, str]:
        """Of these, what has changed since this was asked last."""
        before, self._merged = self._merged, self.merged
        return dict(self._merged.items() - before.items())

    def live(self) -> Annotation:
        """What was said live, as turns; two names that became one are one."""
        return self.live_turns.annotation(self.uri, self.merged)

    def final(self) -> Annotation:
        """What is settled so far, as turns of each speaker."""
        return annotation_of((turn[:3] for turn in self.settled), self.uri)

    def speaker_map(self) -> dict[str, str | None]:
        """Of each live speaker, the final one that shares most time with it; None: none does."""
        return self.live_turns.nearest(self.final())

    def _process_hops(self) -> list[Turn]:
        """Take all whole hops that wait through all stages."""
        said = []
        while (piece := self._intake.take(self._timing.hop)) is not None:
            said += self._process(piece)
        return said

    def _process(self, piece: Float32[np.ndarray, "samples"]) -> list[Turn]:
        """Take a hop of whole chunks through all stages: detect, embed, cluster, decode; look back.

        Three times differ: up to `_seconds_heard` sound has come, up to `regions.sure` it is known
        where there is speech, and up to `decided` who speaks.
        """
        with one_thread():
            self._detect(piece)
            heard = self._seconds_heard
            due = heard - self._timing.delay
            until = due + len(piece) / SAMPLE_RATE if self.decided < due else self.decided
            told = self._decide(until)
        return told + self._look_back(heard)

    @property
    def _seconds_heard(self) -> float:
        """Seconds of sound that went through the stages."""
        return self._heard / SAMPLE_RATE

    def _detect(self, piece: Float32[np.ndarray, "samples"]) -> None:
        """Detect speech and count voices; lay windows over the sound."""
        self._heard += len(piece)
        self._band.add(piece)
        if len(piece):
            self._take_counts(self._activity.push(as_chunks(piece)))
            self._windows.push(piece)

    def _take_counts(self, counted: Counted) -> None:
        """Tell the decoding, and the looking back, how many voices were heard."""
        self._decoder.hear(counted.now)
        self._refinement.counts.add(counted.now, counted.again)

    def _decide(self, until: float) -> list[Turn]:
        """Embed and cluster what can be embedded, and decode up to a time."""
        self._embed(until)
        until = min(until, self._windows.laid(self._activity.regions.sure))
        return [self.live_turns.say(*stretch) for stretch in self._decoder.decide(until)]

    def _embed(self, due: float) -> None:
        """Embed what is complete, or can wait no longer, and learn from it who can be heard."""
        coarse, fine, short = self._windows.embed(self._activity.regions, due)
        self._refinement.coarse.add(*coarse)
        self._refinement.fine.add(*fine)
        self._refinement.short.add(*short)
        rows = (fine if self._live.fine else coarse)[1]
        if not len(rows) and not self._knows:
            rows = fine[1][:1]
        if len(rows):
            self._live.take(rows)
            self._decoder.know(self._live.speakers())
            self._knows = True
        self._decoder.add(*short)

    def _look_back(self, heard: float) -> list[Turn]:
        """Begin and collect what is clustered beside the stream; what was settled by it."""
        # Sound that came faster than it is spoken, as from a file, is not late by waiting.
        ahead = max(0.0, heard - (monotonic() - self._began))
        if self._reviews is not None:
            n_windows = len(self._refinement.coarse)
            self._reviews.go_on(heard, n_windows, self._band.narrow, patience=ahead)
        if not self._refinement.is_due(heard):
            return []
        if not self._refinement.is_done(within=ahead):
            self._refinement.put_off()
            return []
        settled = self._refinement.collect()
        self._refinement.go_on(heard, self._band.narrow)
        return settled


def _asked(
    bounds: dict[str, int | None], activity: Any, timeline: TimelineOptions
) -> dict[str, Any]:
    """What was asked for beyond the defaults, as results tell of it."""
    usual = vars(TimelineOptions())
    asked: dict[str, Any] = {name: value for name, value in bounds.items() if value is not None}
    if activity not in (None, NetworkActivity()):
        asked["activity"] = repr(activity)
    return asked | {name: v for name, v in vars(timeline).items() if v != usual[name]}
