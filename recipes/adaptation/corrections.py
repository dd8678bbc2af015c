r"""What ten seconds of corrections are worth: error rates without and with them, and elsewhere.

    PYTHONPATH=recipes python recipes/adaptation/corrections.py \
        CONVERSATIONS BACKEND...

CONVERSATIONS is what `diarize simulate` wrote. Corrections are taken from the reference, at most
10 s for each conversation, in two ways:

- "first": of each speaker the first seconds in which nobody else speaks, equally much of all, under
  the speaker's true name: somebody begins by listening.
- "errors": the longest stretches of one voice that the result does not give to its speaker, pieces
  of 2 s, under the name that the speaker has in the result: somebody reads the result and mends it.

"elsewhere" is the error outside of the corrected seconds, before and after.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from pyannote.core import Annotation, Segment, Timeline
from steps.markdown import percent, print_table
from steps.trained import MODEL

from diarize.formats.rttm import read_rttm
from diarize.pipeline import Diarizer
from diarize.report.errors import partners
from diarize.scoring import score_files
from diarize.scoring.elements import decompose

SECONDS = 10.0  # of corrections for each conversation
SHORTEST = 0.3  # seconds of a stretch that somebody would label
PIECE = 2.0  # seconds of a correction of an error
Rule = Callable[[Annotation, Annotation], Annotation]


def alone(reference: Annotation, name: str) -> Timeline:
    """Where a speaker speaks and nobody else does, in stretches that somebody would label."""
    own = reference.label_timeline(name).support()
    overlap = reference.get_overlap()
    stretches = own.extrude(overlap) if overlap else own
    return Timeline([s for s in stretches if s.duration >= SHORTEST])


def first(reference: Annotation, result: Annotation) -> Annotation:
    """Of each speaker the first seconds alone, equally much of all."""
    told = Annotation(uri=reference.uri)
    for name in reference.labels():
        left = SECONDS / len(reference.labels())
        for stretch in alone(reference, name):
            length = min(stretch.duration, left)
            told[Segment(stretch.start, stretch.start + length), name] = f"ONLY:{name}"
            left -= length
            if left < SHORTEST:
                break
    return told


def errors(reference: Annotation, result: Annotation) -> Annotation:
    """The longest stretches of one voice that the result does not give to its speaker."""
    called = names_in(result, reference)
    pieces = []
    for name in reference.labels():
        right = result.label_timeline(called[name]).support() if name in called else Timeline()
        wrong = alone(reference, name)
        for stretch in wrong.extrude(right) if right else wrong:
            pieces += [(piece, called.get(name, name)) for piece in cut(stretch)]
    told = Annotation(uri=reference.uri)
    left = SECONDS
    for piece, name in sorted(pieces, key=lambda p: (-round(p[0].duration, 3), p[0].start)):
        length = min(piece.duration, left)
        if length >= SHORTEST:
            told[Segment(piece.start, piece.start + length), name] = f"ONLY:{name}"
            left -= length
    return told


def cut(stretch: Segment) -> Iterator[Segment]:
    """Pieces of `PIECE` seconds, and what is left over."""
    begin = stretch.start
    while begin < stretch.end:
        yield Segment(begin, min(begin + PIECE, stretch.end))
        begin += PIECE


def names_in(result: Annotation, reference: Annotation) -> dict[str, str]:
    """What a result calls the reference's speakers, by the time that they share."""
    true, found = reference.labels(), result.labels()
    return {true[row]: found[column] for row, column in partners(decompose(reference, result))}


RULES: dict[str, Rule] = {"first": first, "errors": errors}


def outside(annotation: Annotation, told: Annotation) -> Annotation:
    """The turns less the time of the corrections."""
    everything = Segment(0.0, annotation.get_timeline().extent().end + 1.0)
    rest = told.get_timeline().support().gaps(support=everything)
    return annotation.crop(rest, mode="intersection") if told else annotation


def measure(folder: Path, backend: str) -> Iterator[list[str]]:
    """A row of the table for each rule."""
    diarizer = Diarizer(backend=backend, model=MODEL)
    references, free = {}, {}
    told: dict[str, dict[str, Annotation]] = {rule: {} for rule in RULES}
    corrected: dict[str, dict[str, Annotation]] = {rule: {} for rule in RULES}
    for path in sorted(folder.glob("*.flac")):
        (reference,) = read_rttm(path.with_suffix(".rttm")).values()
        uri = reference.uri
        diarizer.prepare()
        embedded = diarizer.embed(path)
        _, found, _ = diarizer.cluster(embedded)
        references[uri], free[uri] = reference, found.annotation(embedded.uri)
        for rule, pick in RULES.items():
            told[rule][uri] = pick(reference, free[uri])
            corrected[rule][uri] = diarizer(path, corrections=told[rule][uri])
    for rule, given in told.items():
        rest = {
            uri: [outside(a[uri], given[uri]) for a in (references, free, corrected[rule])]
            for uri in references
        }
        true, before, after = ({uri: three[n] for uri, three in rest.items()} for n in range(3))
        seconds = sum(a.get_timeline().duration() for a in given.values()) / len(given)
        values = [
            score_files(references, free).total,
            score_files(references, corrected[rule]).total,
            score_files(true, before).total,
            score_files(true, after).total,
        ]
        rates = [percent(value.der) for value in values]
        counts = [f"{value.speaker_count_error:.2f}" for value in values[:2]]
        yield [f"`{backend}`", rule, f"{seconds:.1f}", *rates, *counts]


def main(arguments: list[str]) -> None:
    folder, *backends = arguments
    columns = ("backend", "corrections", "seconds", "DER", "corrected", "elsewhere", "corrected",
               "count error", "corrected")  # fmt: skip
    print_table(columns, (row for name in backends for row in measure(Path(folder), name)))


if __name__ == "__main__":
    main(sys.argv[1:])
