"""Options that have no effect beside the others that are given: of these a note tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from diarize.cli.layers import Context, parameters
from diarize.cli.messages import note

if TYPE_CHECKING:
    from diarize.cli.run_options import RunOptions

_DETECTION = ("vad_threshold", "min_speech", "min_silence")
_PER_SPEAKER = (  # which clusters nothing, and decodes nothing
    "backend", "param", "max_set_size", "voices", "window", "step", "switch", "overlap",
    "seed", "cache",
)  # fmt: skip


def note_unused(context: Context, reasons: Mapping[str, str]) -> None:
    """Tell of options that have no effect, if they stand on the command line, and why."""
    for name, why in reasons.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            note(f"{parameters(context.command)[name].opts[0]} has no effect: {why}")


def unused_in_run(given: RunOptions) -> dict[str, str]:
    """Options of `diarize run` that have no effect, and why."""
    from diarize.activity.detectors import is_detector

    found: dict[str, str] = {}
    if not given.known:
        found["known_threshold"] = "no --known is given"
    if not given.link_speakers:
        found["link_threshold"] = "no --link-speakers is given"
    if given.out == "-":
        found["again"] = "--out - keeps no results"
    if given.dask is None:
        found["dask_wait"] = "no --dask is given"
    if not is_detector(given.vad) and not given.known:
        found |= dict.fromkeys(_DETECTION, f"--vad {given.vad} tells where there is speech")
    if given.channels == "per-speaker":
        found |= dict.fromkeys(_PER_SPEAKER, "--channels per-speaker clusters nothing")
    return found
