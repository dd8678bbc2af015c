"""The labels of Audacity: a line for each turn, times and name divided by tabs."""

from __future__ import annotations

from pyannote.core import Annotation

from diarize.formats.lines import Source, blaming, name_line, read_text, split_lines, stem_of, times
from diarize.formats.turns import Turn, written_turns


def audacity_text(annotation: Annotation) -> str:
    """All turns as labels, sorted by start, end and speaker; controls in names become blanks."""
    return "".join(
        f"{turn.start:.6f}\t{turn.end:.6f}\t{name_line(turn.speaker)}\n"
        for turn in written_turns(annotation)
    )


def read_audacity(source: Source) -> dict[str, list[Turn]]:
    r"""The labels of a recording that is named as the file's stem; each is a turn.

    Labels of an instant are passed over, and so are the lines with a range of frequencies, which
    begin with ``\``.

    Raises:
        InputError: the file cannot be read, or a line is wrong; names file, line and reason.
    """
    name, text = read_text(source)
    turns = []
    for number, line in enumerate(split_lines(text), start=1):
        if not line.strip() or line.startswith("\\"):
            continue
        with blaming(f"{name}, line {number}"):
            turns.append(_turn(line.split("\t", 2)))
    return {stem_of(name): [turn for turn in turns if turn.end > turn.start]}


def _turn(fields: list[str]) -> Turn:
    if len(fields) < 2:
        raise ValueError("no label: start, end and name are divided by tabs")
    # Some locales write a decimal comma.
    start, end = (field.strip().replace(",", ".") for field in fields[:2])
    return Turn(*times(start, end), name_line("".join(fields[2:])))
