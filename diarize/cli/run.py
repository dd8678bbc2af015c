"""`diarize run`: who spoke when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diarize.errors import InputError

if TYPE_CHECKING:
    from pyannote.core import Annotation

    from diarize.audio import Recording
    from diarize.pipeline import Diarizer


def run(
    audio: Annotated[
        list[str],
        typer.Argument(metavar="AUDIO...", help="Recordings of any format; - is standard input."),
    ],
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Clustering; see `diarize backends`.")
    ] = "ckm",
    num_speakers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of speakers [default: inferred]")
    ] = None,
    min_speakers: Annotated[
        int | None, typer.Option(metavar="N", help="Fewest speakers [default: 1]")
    ] = None,
    max_speakers: Annotated[
        int | None, typer.Option(metavar="N", help="Most speakers [default: no bound]")
    ] = None,
    max_set_size: Annotated[
        int, typer.Option(metavar="D", help="Most speakers at one instant; 1 finds no overlap.")
    ] = 2,
    param: Annotated[
        list[str] | None,
        typer.Option("-p", metavar="NAME=VALUE", help="Option of the backend; may repeat."),
    ] = None,
    vad: Annotated[
        str,
        typer.Option(
            metavar="silero|none|FILE.rttm",
            help="Where there is speech: detected, everywhere, or as a file says.",
        ),
    ] = "silero",
    vad_threshold: Annotated[
        float | None,
        typer.Option(metavar="P", help="Probability, 0 to 1, above which it is speech."),
    ] = None,
    min_speech: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Shortest stretch of speech.")
    ] = None,
    min_silence: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Shortest silence between two stretches."),
    ] = None,
    window: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Length of a window, 0.5 to 5.")
    ] = None,
    step: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Distance of windows, 0.05 to 2.")
    ] = None,
    switch: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="How long another set must clearly fit better to be worth a change of speakers.",
        ),
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(
            metavar="COST",
            help="Against each further speaker at one instant; larger: less overlap.",
        ),
    ] = None,
    min_turn: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Shortest turn.")
    ] = None,
    min_gap: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Shortest gap between a speaker's turns."),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(metavar="FILE.rttm", help="True turns, for the backend `oracle`."),
    ] = None,
    channels: Annotated[
        str,
        typer.Option(
            metavar="mix|separate", help="Mix channels down, or take each as its own recording."
        ),
    ] = "mix",
    start: Annotated[
        float | None, typer.Option(metavar="S", help="Begin at this second of the recording.")
    ] = None,
    end: Annotated[
        float | None, typer.Option(metavar="S", help="End at this second of the recording.")
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="NAME|PATH", help="Embedding: a shipped one, or a weights file.")
    ] = "lstm-compositional",
    device: Annotated[
        str, typer.Option(metavar="auto|cpu|cuda", help="Where the embedding runs.")
    ] = "auto",
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of all that is drawn.")] = 0,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|DIR|-",
            help="Where results go; several inputs or formats need a folder [default: -]",
        ),
    ] = None,
    format: Annotated[
        list[str] | None,
        typer.Option(metavar="rttm|json", help="Format of the result; may repeat [default: rttm]"),
    ] = None,
) -> None:
    """Say who spoke when, also while people speak at the same time.

    Writes RTTM to --out or standard output, and a summary to standard error.
    """
    from diarize.cli.params import parse_params
    from diarize.cli.targets import Targets
    from diarize.pipeline import Diarizer
    from diarize.timeline import TimelineOptions

    stems = [_stem(name) for name in audio]
    if channels not in {"mix", "separate"}:
        raise InputError(f"channels {channels}: not one of mix, separate")
    several = len(audio) > 1 or channels == "separate"
    targets = Targets.resolve(
        out if out is None or not several else f"{out}/", stems, format or ["rttm"]
    )
    diarizer = Diarizer(
        backend=backend,
        n_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
        max_set_size=max_set_size,
        params=parse_params(param or []),
        model=model,
        device=device,
        seed=seed,
        **_given(window=window, step=step),
        timeline=TimelineOptions(
            **_given(switch=switch, overlap=overlap, min_turn=min_turn, min_gap=min_gap)
        ),
    )
    detect = _given(threshold=vad_threshold, min_speech=min_speech, min_silence=min_silence)
    failed = []
    for name in audio:
        try:
            for recording in _recordings(name, channels, start, end):
                diarizer.activity = _activity(vad, detect, recording.uri)
                diarizer.reference = _reference(reference, recording.uri)
                _run_one(diarizer, recording, targets)
        except (ValueError, OSError) as problem:
            if len(audio) == 1:
                raise
            from diarize.cli.messages import error, explain

            error(explain(problem)[1])
            failed.append(name)
    if failed:
        from diarize.cli.messages import error

        error(f"{len(failed)} of {len(audio)} failed: {', '.join(failed)}")
        raise typer.Exit(1)


def _given(**options: float | None) -> dict[str, Any]:
    """Keep the options that were given; the library knows the defaults of the others."""
    return {name: value for name, value in options.items() if value is not None}


def _stem(name: str) -> str:
    return "stdin" if name == "-" else "_".join(Path(name).stem.split())


def _recordings(
    name: str, channels: str, start: float | None, end: float | None
) -> Iterator[Recording]:
    from dataclasses import replace

    from diarize.audio import open_recording

    recording = open_recording(name, start=start, end=end)
    if channels == "mix":
        yield recording
        return
    for number, channel in enumerate(recording.by_channel(), start=1):
        yield replace(channel, uri=f"{recording.uri}_channel{number}")


def _activity(vad: str, detect: dict[str, Any], uri: str) -> Any:
    from diarize.activity import SileroActivity, whole

    if vad == "silero":
        return SileroActivity(**detect)
    if vad == "none":
        return whole
    import numpy as np

    turns = _only(vad, uri)
    return np.array([[s.start, s.end] for s in turns.get_timeline().support()]).reshape(-1, 2)


def _reference(path: Path | None, uri: str) -> Annotation | None:
    return None if path is None else _only(path, uri)


def _only(path: str | Path, uri: str) -> Annotation:
    """Find a recording's turns in an RTTM file: by its name, or as the only ones there are."""
    from diarize.formats import read_rttm

    turns = read_rttm(path)
    if uri in turns:
        return turns[uri]
    if len(turns) == 1:
        return next(iter(turns.values()))
    raise InputError(f"{path}: no turns of {uri}")


def _run_one(diarizer: Diarizer, recording: Recording, targets: Any) -> None:
    from diarize.cli.messages import note
    from diarize.cli.progress import progress
    from diarize.cli.summary import print_summary
    from diarize.formats import FORMATS

    began = perf_counter()
    with progress() as hook:
        found = diarizer.diarize(recording, hook)
    elapsed = perf_counter() - began
    options = {
        "backend": diarizer.backend,
        "model": str(diarizer.model),
        "seed": diarizer.seed,
        "max_set_size": diarizer.max_set_size,
        **diarizer.params,
    }
    texts = {name: FORMATS[name](found.annotation, options) for name in targets.formats}
    targets.write(recording.uri, texts)
    for text in found.notes:
        note(f"{recording.label}: {text}")
    print_summary(found, elapsed)
