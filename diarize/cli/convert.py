"""`diarize convert`: turns from one format into another."""

from __future__ import annotations

import sys

from diarize.cli.options import ExclusiveOption, argument, option
from diarize.errors import InputError


def convert(
    source: str = argument(..., "A", "Turns; - is standard input."),
    target: str = argument(
        ...,
        "B",
        "Where they go: a file, a folder that exists or ends in / (a file for each recording, with"
        " --to), or - for standard output.",
    ),
    source_format: str | None = option(
        None,
        "rttm|json|csv|tsv|textgrid|eaf|audacity|srt|vtt",
        "Format of A.",
        "--from",
        show_default="as its ending says",
    ),
    target_format: str | None = option(
        None,
        "rttm|json|csv|tsv|textgrid|eaf|audacity|srt|vtt|uem",
        "Format of B.",
        "--to",
        show_default="as its ending says",
    ),
    exclusive: ExclusiveOption = False,
) -> None:
    """Bring turns from one format into another.

    Overlap is kept, unless --exclusive is given. To read Audacity's labels from a .txt, say
    --from audacity.
    """
    from diarize.batch.targets import Targets
    from diarize.formats import format_of, read_turns, require_format, written_format
    from diarize.formats.json import read_with_beside
    from diarize.formats.turns import Beside, annotated
    from diarize.formats.turns import exclusive as without_overlap
    from diarize.storage.files import file_name

    source_format = source_format or format_of(source)
    if source_format is None:
        raise InputError(f"{source}: its ending says no format; give --from")
    name = target_format or written_format(target)
    if name is None:
        raise InputError(f"{target}: its ending says no format; give --to")
    written = require_format(name)
    targets = Targets.resolve(target, [], [name], several=False)
    folder = targets.folder is not None
    known: dict[str, tuple[dict[str, object], Beside]] = {}
    if source_format == name == "json":  # which alone tells more than turns
        found, known = read_with_beside(source)
    else:
        found = read_turns(source, source_format)
    if not found:
        raise InputError(f"{source}: speaks of no recording")
    follow = written.named if target == "-" else written.holds_several
    if len(found) > 1 and not folder and not follow:
        place = f"{target} must be a folder" if target != "-" else f"{name} needs a folder, not -"
        raise InputError(f"{source}: speaks of {len(found)} recordings: {place}")
    texts = {}
    for uri, turns in found.items():
        annotation, confidence = annotated(without_overlap(turns) if exclusive else turns, uri)
        options, beside = known.get(uri, ({}, Beside()))
        texts[uri] = written.write(annotation, options, confidence, beside)
    if folder:
        files: dict[str, str] = {}
        for uri in texts:
            called = file_name(uri)
            if called.casefold() in files:  # some file systems do not tell A from a
                raise InputError(
                    f"{source}: {uri} and {files[called.casefold()]} would be one file, {called}"
                )
            files[called.casefold()] = uri
        for uri, text in texts.items():
            targets.write(file_name(uri), {name: text})
    elif targets.printed:
        sys.stdout.write(written.joined(texts.values()))
    else:
        targets.write("", {name: written.joined(texts.values())})
