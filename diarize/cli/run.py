"""`diarize run`: who spoke when."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diarize.cli.options import (
    OWN_OPTIONS,
    DeviceOption,
    MaxSetSizeOption,
    ModelOption,
    SeedOption,
)
from diarize.cli.preset import Context, PresetOption, preset_params
from diarize.errors import InputError

if TYPE_CHECKING:
    from diarize.audio import Recording
    from diarize.pipeline import Activity


# The defaults and ranges are those of the library; a test compares them, since importing it here
# would slow `--help` down.
def run(
    context: Context,
    audio: Annotated[
        list[str],
        typer.Argument(metavar="AUDIO...", help="Recordings of any format; - is standard input."),
    ],
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Clustering; see `diarize backends`.")
    ] = "ckm",
    num_speakers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of speakers.", show_default="inferred"),
    ] = None,
    min_speakers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Fewest speakers.", show_default="1")
    ] = None,
    max_speakers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Most speakers.", show_default="20"),
    ] = None,
    max_set_size: MaxSetSizeOption = 2,
    param: Annotated[
        list[str] | None,
        typer.Option("-p", metavar="NAME=VALUE", help="Option of the backend; may repeat."),
    ] = None,
    preset: PresetOption = None,
    vad: Annotated[
        str,
        typer.Option(
            metavar="silero|none|FILE.rttm",
            help="Where there is speech: detected, everywhere, or as a file says.",
        ),
    ] = "silero",
    vad_threshold: Annotated[
        float,
        typer.Option(
            metavar="P", min=0.0, max=1.0, help="silero: probability from which on it is speech."
        ),
    ] = 0.4,
    min_speech: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.0, help="silero: shortest stretch of speech."),
    ] = 0.1,
    min_silence: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.0, help="silero: shortest silence between two stretches."
        ),
    ] = 0.2,
    window: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.5, max=5.0, help="Length of the windows that are clustered."
        ),
    ] = 2.0,
    step: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.05, max=2.0, help="Distance between two of these windows."
        ),
    ] = 0.5,
    switch: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="How long another set must clearly fit better to be worth a change of speakers.",
        ),
    ] = 0.1,
    overlap: Annotated[
        float,
        typer.Option(
            metavar="COST",
            min=0.0,
            help="Of each further speaker at one instant, in units of squared distance between "
            "unit vectors; larger: less overlap.",
        ),
    ] = 0.05,
    min_turn: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="Shortest turn.")
    ] = 0.2,
    min_gap: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.0, help="Shortest gap between a speaker's turns."),
    ] = 0.3,
    known: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=CLIP|FILE.npz",
            help="Call a speaker who sounds like this recording of one person by name; may repeat, "
            "several clips of one name are averaged. A file that --export-speakers wrote gives "
            "all its voices and their names.",
            show_default="nobody",
        ),
    ] = None,
    link_speakers: Annotated[
        bool,
        typer.Option(
            "--link-speakers",
            help="Give a person the same name in all recordings of this run; no result is written "
            "before all recordings have been heard.",
        ),
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export-speakers",
            metavar="FILE.npz",
            help="Write the voice of each speaker, one file for all recordings.",
            show_default="nowhere",
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(metavar="FILE.rttm", help="True turns, for the backend `oracle`."),
    ] = None,
    corrections: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.rttm",
            help="What a person says of a few stretches, which binds the result: a speaker NAME is "
            "heard there, !NAME is not, ONLY:NAME is and nobody else.",
            show_default="none",
        ),
    ] = None,
    channels: Annotated[
        str,
        typer.Option(
            metavar="mix|separate", help="Mix channels down, or take each as its own recording."
        ),
    ] = "mix",
    start: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="Where to begin; times stay those of the file.",
            show_default="its beginning",
        ),
    ] = None,
    end: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.0, help="Where to end.", show_default="its end"),
    ] = None,
    model: ModelOption = "lstm-compositional",
    device: DeviceOption = "auto",
    seed: SeedOption = 0,
    out: Annotated[
        str,
        typer.Option(
            metavar="FILE|DIR|-",
            help="Where results go; - is standard output, several inputs or formats need a folder.",
        ),
    ] = "-",
    format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="rttm|json|csv|tsv|textgrid|eaf|audacity|srt|vtt|uem",
            help="Format of the result; may repeat. uem tells only where somebody speaks.",
            show_default="as the ending of --out says, else rttm",
        ),
    ] = None,
    clips: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Cut each speaker's turns into files, at the recording's own rate; several "
            "recordings get a folder each.",
            show_default="none",
        ),
    ] = None,
) -> None:
    """Say who spoke when, also while people speak at the same time.

    Writes turns to --out or standard output, and a summary to standard error.
    """
    from diarize.activity import SileroActivity
    from diarize.cli.corrections import read_corrections
    from diarize.cli.inputs import Turns, open_recordings
    from diarize.cli.known import learn_known
    from diarize.cli.messages import error, note
    from diarize.cli.params import parse_params
    from diarize.cli.results import Failures, Result, Told, deliver, run_one
    from diarize.cli.speakers import export_speakers, require_export
    from diarize.cli.targets import Targets
    from diarize.pipeline import Diarizer
    from diarize.timeline import TimelineOptions
    from diarize.voiceprints import name_speakers

    if channels not in {"mix", "separate"}:
        raise InputError(f"channels {channels}: not one of mix, separate")
    several = len(audio) > 1 or channels == "separate"
    targets = Targets.resolve(out, audio, format or None, several=several, clips=clips)
    if export is not None:
        require_export(export, out, audio)
    silero = SileroActivity(threshold=vad_threshold, min_speech=min_speech, min_silence=min_silence)
    activity = silero if vad == "silero" else _activity(vad, audio)
    diarizer = Diarizer(
        backend=backend,
        n_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
        max_set_size=max_set_size,
        params={**preset_params(context), **parse_params(param or [], OWN_OPTIONS)},
        activity=activity,
        model=model,
        device=device,
        seed=seed,
        window=window,
        step=step,
        timeline=TimelineOptions(
            switch=switch, overlap=overlap, min_turn=min_turn, min_gap=min_gap
        ),
    )
    truth = None if reference is None else Turns.read(reference, audio)
    if truth is None and diarizer.needs_reference:
        raise InputError(f"backend {backend} needs the true turns: give --reference")
    if truth is not None and not diarizer.needs_reference:
        note(f"backend {backend} has no use for --reference")
    corrected = None
    if corrections is not None:
        corrected = read_corrections(corrections, audio, linked=link_speakers)
    diarizer.prepare()
    voices = None
    if known:
        voices = learn_known(known, diarizer, activity if vad == "none" else silero)

    failures = Failures(several=len(audio) > 1)
    results: list[Result] = []
    for path in audio:
        with failures.of(path):
            for recording in open_recordings(path, channels, start, end):
                told = Told(
                    None if truth is None else truth.of(recording.uri),
                    None if corrected is None else corrected.find(recording.uri),
                    None if link_speakers else voices,
                )
                result = run_one(diarizer, path, recording, told, several)
                if not link_speakers:
                    deliver(result, diarizer, targets)
                results.append(result)
    if link_speakers:
        called = name_speakers([result.found.voices for result in results], voices)
        results = [result.renamed(names) for result, names in zip(results, called, strict=True)]
        for result in results:
            with failures.of(result.source):
                deliver(result, diarizer, targets)
    if export is not None and results:
        found = [result.found for result in results]
        export_speakers(export, found, diarizer, linked=link_speakers)
    if failures.inputs:
        failed = ", ".join(failures.inputs)
        error(f"{len(failures.inputs)} of {len(audio)} failed: {failed}")
        raise typer.Exit(1)


def _activity(vad: str, audio: list[str]) -> Activity:
    """Where there is speech, when it is not to be detected."""
    if vad == "none":
        from diarize.activity import whole

        return whole
    if not Path(vad).exists():
        raise InputError(f"vad {vad}: not silero, none or an RTTM file that is there")
    import numpy as np

    from diarize.cli.inputs import Turns

    turns = Turns.read(Path(vad), audio)

    def given(recording: Recording, hook: Any = None) -> Any:
        speech = turns.of(recording.uri).get_timeline().support()
        return np.array([[s.start, s.end] for s in speech], np.float64).reshape(-1, 2)

    return given
