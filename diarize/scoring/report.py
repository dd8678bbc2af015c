"""Scores of files and of all files together."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

import numpy as np
from pyannote.core import Annotation, Timeline

from diarize.errors import InputError
from diarize.scoring.cri import Agreement, frame_agreement
from diarize.scoring.der import SpeakerTime, speaker_time
from diarize.scoring.elements import TICKS_PER_SECOND, decompose
from diarize.scoring.jer import jaccard_errors

LONGEST_COLLAR = 1e9  # seconds, as of no recording
_NAMED = 3  # recordings that a message names at most


@dataclass(frozen=True)
class Scores:
    """The measures of one recording or of all; rates are fractions of one, undefined is None.

    `der` and its parts are shares of `reference_seconds`, the scored speaker time of the reference,
    and undefined where there is none. `jer` is the mean over reference speakers. `cri` is over
    10 ms frames with reference speech. `speaker_count_error` is an absolute difference, averaged
    over recordings.
    """

    der: float | None
    missed_detection: float | None
    false_alarm: float | None
    confusion: float | None
    jer: float | None
    cri: float | None
    reference_seconds: float
    speaker_count_error: float


@dataclass(frozen=True)
class Report:
    """What `score_files` found.

    `files` holds the scores of each recording in the order of the references, `total` those of all
    together, `protocol` says in words under which rules, `notes` what was left out or missing.
    """

    total: Scores
    files: dict[str, Scores]
    protocol: str
    notes: tuple[str, ...]

    def to_json_dict(self) -> dict[str, object]:
        """``{"total": scores, "files": {uri: scores}}``, undefined values as None."""
        return {
            "total": asdict(self.total),
            "files": {uri: asdict(scores) for uri, scores in self.files.items()},
        }


def score_files(
    references: Mapping[str, Annotation] | Annotation,
    hypotheses: Mapping[str, Annotation] | Annotation,
    *,
    uem: Mapping[str, Timeline] | Timeline | None = None,
    collar: float = 0.0,
    skip_overlap: bool = False,
) -> Report:
    """Score hypotheses against references of the same uri; an annotation is one recording.

    A missing hypothesis counts as empty; a hypothesis without reference is left out. One reference
    and one hypothesis are of one recording, whatever their names are. With `uem` only its regions
    are evaluated, and recordings that it does not list are left out (a timeline is that of each);
    without it all time is. `collar` (seconds on each side of every boundary of a reference turn)
    and `skip_overlap` (of the reference) restrict DER and its parts only. Totals: DER and its parts
    by time, JER over all reference speakers, CRI over all pairs of frames of one recording, the
    count error over recordings.

    Raises:
        InputError: the collar is negative, there is no recording to score, or all hypotheses are
            of others.
    """
    if not 0 <= collar <= LONGEST_COLLAR:
        raise InputError(f"the collar must be zero or more seconds, not {collar}")
    references, hypotheses = _by_uri(references), _by_uri(hypotheses)
    if isinstance(uem, Timeline):
        uem = dict.fromkeys(references, uem)
    scored = [uri for uri in references if uem is None or uri in uem]
    if not scored:
        where = "the UEM lists no recording of the reference" if references else "no reference"
        raise InputError(f"nothing to score: {where}")
    hypotheses, renamed = paired(references, hypotheses)
    if hypotheses and not any(uri in hypotheses for uri in scored):
        raise InputError(
            f"nothing to score: no recording has turns in both; {_listed(scored)} in the "
            f"reference, {_listed(hypotheses)} in the hypothesis"
        )
    tallies = {
        uri: _tally(
            references[uri],
            hypotheses.get(uri, Annotation()),
            None if uem is None else uem[uri],
            collar,
            skip_overlap,
        )
        for uri in scored
    }
    return Report(
        total=_sum(tallies.values()).scores(),
        files={uri: tally.scores() for uri, tally in tallies.items()},
        protocol=_protocol(uem is not None, collar, skip_overlap),
        notes=renamed + _notes(references, hypotheses, scored),
    )


def paired(
    references: Mapping[str, Annotation],
    hypotheses: Mapping[str, Annotation],
    taken: str = "scored",
) -> tuple[Mapping[str, Annotation], tuple[str, ...]]:
    """The hypotheses by the names of references, and a note where a name was passed over."""
    if len(references) != 1 or len(hypotheses) != 1 or references.keys() == hypotheses.keys():
        return hypotheses, ()
    (uri,), ((other, turns),) = references, hypotheses.items()
    return {uri: turns}, (f"one recording on either side: {other} is {taken} as {uri}",)


def _by_uri(turns: Mapping[str, Annotation] | Annotation) -> Mapping[str, Annotation]:
    """The turns of recordings by their names; one that has none is called "audio"."""
    return {turns.uri or "audio": turns} if isinstance(turns, Annotation) else turns


def _listed(uris: Collection[str]) -> str:
    """Some of the names, and how many there are beside them."""
    named = list(uris)[:_NAMED]
    more = len(uris) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


@dataclass(frozen=True)
class _Tally:
    """What adds up over recordings."""

    time: SpeakerTime
    jaccard_error: float  # summed over reference speakers
    reference_speakers: int
    agreement: Agreement
    count_error: int
    recordings: int

    def scores(self) -> Scores:
        reference, missed, false_alarm, confusion = self.time
        return Scores(
            der=_share(missed + false_alarm + confusion, reference),
            missed_detection=_share(missed, reference),
            false_alarm=_share(false_alarm, reference),
            confusion=_share(confusion, reference),
            jer=_share(self.jaccard_error, self.reference_speakers),
            cri=_share(self.agreement.agreeing, self.agreement.pairs),
            reference_seconds=reference / TICKS_PER_SECOND,
            speaker_count_error=self.count_error / self.recordings,
        )


def _tally(
    reference: Annotation,
    hypothesis: Annotation,
    uem: Timeline | None,
    collar: float,
    skip_overlap: bool,
) -> _Tally:
    elements = decompose(reference, hypothesis, uem, collar=collar, skip_overlap=skip_overlap)
    errors = jaccard_errors(elements)
    heard = int(elements.hypothesis.membership.any(axis=0).sum())
    return _Tally(
        time=speaker_time(elements),
        jaccard_error=float(errors.sum()),
        reference_speakers=len(errors),
        agreement=frame_agreement(elements),
        count_error=abs(heard - len(errors)),
        recordings=1,
    )


def _sum(tallies: Collection[_Tally]) -> _Tally:
    return _Tally(
        time=SpeakerTime(*map(sum, zip(*(tally.time for tally in tallies), strict=True))),
        jaccard_error=math.fsum(tally.jaccard_error for tally in tallies),
        reference_speakers=sum(tally.reference_speakers for tally in tallies),
        agreement=Agreement(*map(sum, zip(*(t.agreement for t in tallies), strict=True))),
        count_error=sum(tally.count_error for tally in tallies),
        recordings=sum(tally.recordings for tally in tallies),
    )


def standard_error(values: np.ndarray) -> float:
    """Of the mean of some values; NaN: of fewer than two nothing is known."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else math.nan


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _protocol(regions: bool, collar: float, skip_overlap: bool) -> str:
    return ", ".join(
        (
            f"collar of {collar:g} s per side" if collar else "no collar",
            "overlap skipped" if skip_overlap else "overlap scored",
            "regions of the UEM" if regions else "whole recordings",
        )
    )


def _notes(
    references: Collection[str], hypotheses: Collection[str], scored: Collection[str]
) -> tuple[str, ...]:
    groups = {
        "no hypothesis, counted as empty": [uri for uri in scored if uri not in hypotheses],
        "not in the UEM, left out": [uri for uri in references if uri not in scored],
        "no reference, left out": [uri for uri in hypotheses if uri not in references],
    }
    return tuple(f"{reason}: {', '.join(uris)}" for reason, uris in groups.items() if uris)
