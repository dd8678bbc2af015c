"""The past of a stream: what was heard, kept on disk, and the passes over it in a thread."""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError, wait
from dataclasses import replace
from threading import BoundedSemaphore, Lock, Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32, Float64, Int64

from diarize import clustering
from diarize.activity.regions import ROUNDING, close_gaps
from diarize.embedding.embedded import apart
from diarize.embedding.windows import place_windows
from diarize.errors import InputError, as_input
from diarize.streaming.history import CountSpool, Spool
from diarize.streaming.review import LAST
from diarize.streaming.settling import Decodable, Settler, Stretch
from diarize.streaming.turns import Turn
from diarize.timeline import TimelineOptions
from diarize.timeline.confidence import Certainty
from diarize.timeline.decoding import decoder
from diarize.timeline.speaker_count import fit_and_prune

if TYPE_CHECKING:
    from diarize.embedding import Knowledge

Clustered = tuple[Float32[np.ndarray, "m p"], Any]  # windows, and the clustering fitted to them

REMEMBERED = 600.0  # seconds before the part that is settled that are decoded with it
SHORTEST_REFINE = 5.0  # seconds
# Passes of several streams take turns: half of the cores are left to what is live.
PASSES = BoundedSemaphore(max(1, (os.cpu_count() or 1) // 2))


def spread(
    cells: Float64[np.ndarray, "n 2"], known: Knowledge
) -> tuple[Int64[np.ndarray, " m"], float]:
    """Which of a stream's windows are clustered, and how many seconds apart: as of a recording.

    All of them, or in more than half an hour of speech those nearest to where a recording's lie.
    """
    step = apart(cells, known)
    if step <= known.step:
        return np.arange(len(cells)), known.step
    wider = place_windows(close_gaps(cells, ROUNDING), known.window, step)[1]
    return np.unique(np.searchsorted(cells[:, 0], wider.mean(axis=1), side="right") - 1), step


class Refinement:
    """Settles who spoke: every `refine` seconds what is older than as many, or all at the end.

    `bounds` are `n_speakers`, `min_speakers`, `max_speakers`; None: inferred.

    Attributes:
        coarse: windows that are clustered.
        fine: windows that are decoded.
        short: shorter ones of the same cells, by which turns are decoded in the end.
        counts: how many were heard, if somebody listened for that.
        turns: those that are settled.

    Raises:
        InputError: options that cannot be used.
    """

    def __init__(
        self,
        backend: str,
        params: Mapping[str, Any],
        bounds: Mapping[str, int | None],
        options: TimelineOptions,
        known: Knowledge,
        dimension: int,
        refine: float | None = None,
    ) -> None:
        if refine is not None and not SHORTEST_REFINE <= refine < math.inf:
            raise InputError(f"refine is a number of seconds from {SHORTEST_REFINE:g} on")
        self._backend, self._params, self._bounds = backend, dict(params), dict(bounds)
        self._known, self._options = known, options
        with as_input():
            if clustering.make(backend).needs_truth:
                raise InputError(f"backend {backend} needs the true turns: nobody knows them yet")
            self._clustering(0, known).fit(np.zeros((0, dimension), np.float32))
        self._settler = Settler(
            options,
            bounds["n_speakers"] or bounds["min_speakers"] or 0,
            bounds["n_speakers"] or bounds["max_speakers"],
        )
        self._interval = math.inf if refine is None else refine
        self._next = 2 * self._interval
        self._settled_until = 0.0
        self._pass: Future[list[Stretch]] | None = None
        self._late = False  # whether a pass was ever put off
        self._one_at_a_time = Lock()
        self.coarse, self.fine, self.short = (Spool(dimension) for _ in range(3))
        self.counts = CountSpool()
        self.turns: list[Turn] = []

    def is_due(self, heard: float) -> bool:
        """Whether a pass should begin, after so many seconds."""
        return heard >= self._next

    def go_on(self, heard: float, narrow: bool) -> None:
        """Begin a pass over what is old enough, in a thread of its own."""
        self._begin(heard - self._interval, narrow)
        self._next += self._interval

    @property
    def certainty(self) -> Certainty | None:
        """How sure what was settled is; None: it was settled in parts, or is not yet."""
        return self._settler.certainty

    @property
    def under_way(self) -> bool:
        """Whether there is a pass that was not collected yet."""
        return self._pass is not None

    def is_done(self, within: float) -> bool:
        """Whether no pass is under way, at the latest after so many seconds of waiting for it."""
        if self._pass is not None:
            wait([self._pass], within)
        return self._pass is None or self._pass.done()

    def put_off(self) -> None:
        """Let the pass that is due wait for the next time; what it would settle is settled then."""
        if not self._late:
            warnings.warn(
                f"hindsight takes longer than its {self._interval:g} s: passes over the past are "
                "put off, so that what is said live is not late",
                RuntimeWarning,
                stacklevel=2,
            )
        self._late = True
        self._next += self._interval

    def collect(self, wait: bool = False) -> list[Turn]:
        """Turns of a pass that is done."""
        if self._pass is None or not (wait or self._pass.done()):
            return []
        found = [Turn(*stretch, True) for stretch in self._pass.result()]
        self._pass = None
        self.turns += found
        return found

    def finish(self, narrow: bool) -> None:
        """Settle everything that is not settled yet."""
        self.collect(wait=True)
        self._begin(math.inf, narrow)
        self.collect(wait=True)

    def _begin(self, until: float, narrow: bool) -> None:
        begin = self._settled_until
        every, coarse = self.coarse.read()
        first = begin - REMEMBERED if begin > 0 else 0.0
        heard, (_, short) = self._heard(first), self.short.since(first)
        self._settled_until = until
        known = self._known.within(narrow)
        if begin == 0 and until == math.inf:  # all at once; passes compare windows
            rows, step = spread(every, known)
            coarse = coarse[rows]
            known = replace(known, scatter=known.scatter.denser(known.step / step))
        how = self._clustering(len(coarse), known), known
        settle = self._settler.settle
        self._pass = self._submit(settle, *how, coarse, heard, short, begin, until)

    def _clustering(self, n_windows: int, known: Knowledge) -> Any:
        """One for what is settled; few windows are asked for no more speakers than these."""
        made = self._made(self._backend, self._bounds, known)
        made.ask_no_more_than(n_windows)
        return made

    def _made(self, backend: str, bounds: Mapping[str, int | None], known: Knowledge) -> Any:
        return clustering.make(backend, **bounds, scatter=known.scatter, **self._params)

    def review(self, narrow: bool, most: int) -> Future[Clustered]:
        """Cluster what was heard last, in a thread, for whoever finds speakers live.

        Args:
            narrow: whether the band is narrow.
            most: speakers.
        """
        cells, coarse = self.coarse.read(max(0, len(self.coarse) - LAST))
        return self._submit(self._review, coarse, self._heard(cells[0, 0]), narrow, most)

    def _review(
        self, coarse: Float32[np.ndarray, "m p"], heard: Decodable, narrow: bool, most: int
    ) -> Clustered:
        known = self._known.within(narrow)
        estimator = self._made("ckm", {"max_speakers": most}, known)
        decoded = decoder(*heard, self._options)
        return coarse, fit_and_prune(estimator, coarse, decoded, known.likeness)[0]

    def _heard(self, begin: float) -> Decodable:
        """What was heard from so many seconds on."""
        cells, fine = self.fine.since(begin)
        return cells, fine, self.counts.read(cells[0, 0]) if len(cells) else None

    def _submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Work in a thread when it is its turn.

        Who cancels it lets the next one begin at once; what has begun goes on beside it, unheard.
        """
        done: Future[Any] = Future()

        def run() -> None:
            turn = contextlib.ExitStack()
            turn.enter_context(self._one_at_a_time)
            turn.enter_context(PASSES)
            done.add_done_callback(lambda _: turn.close())
            if done.cancelled():
                return
            with contextlib.suppress(InvalidStateError):  # nobody wants it any more
                try:
                    done.set_result(work(*arguments))
                except BaseException as problem:  # told where the result is taken
                    done.set_exception(problem)

        # A daemon: a pass that takes long must not keep the program from ending.
        Thread(target=run, name="diarize-refinement", daemon=True).start()
        return done
