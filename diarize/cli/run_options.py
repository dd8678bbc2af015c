"""The options of `diarize run`, in the order of its help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from diarize.cli.layers import ConfigOption, Context, PresetOption
from diarize.cli.messages import silence
from diarize.cli.options import (
    BackendOption,
    DeviceOption,
    ExclusiveOption,
    MaxSetSizeOption,
    ModelOption,
    SeedOption,
)


def _take_quiet(context: Context, value: bool) -> bool:
    if value:
        context.with_resource(silence())
    return value


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What `diarize run` is asked for.

    Defaults and ranges are those of the library; a test compares them, since importing it here
    would slow `--help` down.
    """

    audio: Annotated[
        list[str],
        typer.Argument(
            metavar="AUDIO|DIR|LIST|PATTERN...",
            help="Recordings of any format, folders of them, lists (.txt, .lst; a path a line), "
            "patterns; - is standard input.",
        ),
    ]
    backend: BackendOption = "ckm"
    num_speakers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of speakers.", show_default="inferred"),
    ] = None
    min_speakers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Fewest speakers.", show_default="1")
    ] = None
    max_speakers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Most speakers.", show_default="20"),
    ] = None
    max_set_size: MaxSetSizeOption = 2
    param: Annotated[
        list[str] | None,
        typer.Option("-p", metavar="NAME=VALUE", help="Option of the backend; may repeat."),
    ] = None
    config: ConfigOption = None
    preset: PresetOption = None
    vad: Annotated[
        str,
        typer.Option(
            metavar="network|silero|none|FILE.rttm",
            help="Where there is speech: as our network or silero-vad hear it, everywhere, or as a "
            "file says.",
        ),
    ] = "network"
    vad_threshold: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.0,
            max=1.0,
            help="Probability from which on it is speech.",
            show_default="network 0.4, silero 0.1",
        ),
    ] = None
    voices: Annotated[
        str,
        typer.Option(
            metavar="network|none",
            help="Who says how many speak at each instant: our network, or nobody; then --overlap "
            "alone keeps sets small.",
        ),
    ] = "network"
    min_speech: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.0, help="network, silero: shortest stretch of speech."
        ),
    ] = 0.1
    min_silence: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="network, silero: shortest silence between two stretches.",
        ),
    ] = 0.2
    window: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.5,
            max=5.0,
            help="Length of the windows that are clustered.",
            show_default="that of the model, 2.0",
        ),
    ] = None
    step: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.05,
            max=2.0,
            help="Distance between two of these windows.",
            show_default="that of the model, 0.5",
        ),
    ] = None
    switch: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="How long another set must clearly fit better to be worth a change of speakers.",
        ),
    ] = 0.1
    overlap: Annotated[
        float,
        typer.Option(
            metavar="COST",
            min=0.0,
            help="Of each further speaker at one instant, in units of squared distance between "
            "unit vectors; larger: less overlap.",
        ),
    ] = 0.05
    min_turn: Annotated[float, typer.Option(metavar="SECONDS", min=0.0, help="Shortest turn.")] = (
        0.2
    )
    min_gap: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.0, help="Shortest gap between a speaker's turns."),
    ] = 0.3
    known: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=CLIP|FILE.npz",
            help="Call a speaker who sounds like this recording of one person by name; may repeat, "
            "several clips of one name are averaged. A file that --export-speakers wrote gives "
            "all its voices and their names.",
            show_default="nobody",
        ),
    ] = None
    known_threshold: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            show_default="the model's",
            help="Least probability, between 0 and 1, that a speaker is the known voice whose name "
            "he gets.",
        ),
    ] = None
    link_speakers: Annotated[
        bool,
        typer.Option(
            "--link-speakers",
            help="Give a person the same name in all recordings of this run; no result is written "
            "before all recordings have been heard.",
        ),
    ] = False
    link_threshold: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            show_default="the model's",
            help="Least probability, between 0 and 1, that speakers of two recordings are one "
            "person for --link-speakers.",
        ),
    ] = None
    export_speakers: Annotated[
        Path | None,
        typer.Option(
            "--export-speakers",
            metavar="FILE.npz",
            help="Write the voice of each speaker, one file for all recordings.",
            show_default="nowhere",
        ),
    ] = None
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.rttm", help="True turns, for the backend `oracle` and for --report."
        ),
    ] = None
    corrections: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.rttm",
            help="What a person says of a few stretches, which binds the result: a speaker NAME is "
            "heard there, !NAME is not, ONLY:NAME is and nobody else.",
            show_default="none",
        ),
    ] = None
    channels: Annotated[
        str,
        typer.Option(
            metavar="mix|separate|per-speaker",
            help="Mix channels down, or take each as its own recording, or as the microphone of "
            "one speaker, in which the others are heard more quietly.",
        ),
    ] = "mix"
    start: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="Where to begin; times stay those of the file.",
            show_default="its beginning",
        ),
    ] = None
    end: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.0, help="Where to end.", show_default="its end"),
    ] = None
    model: ModelOption = "lstm-compositional"
    device: DeviceOption = "auto"
    seed: SeedOption = 0
    out: Annotated[
        str,
        typer.Option(
            metavar="FILE|DIR|-",
            help="Where results go; - is standard output, several inputs or formats need a folder.",
        ),
    ] = "-"
    format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="rttm|json|csv|tsv|textgrid|eaf|audacity|srt|vtt|uem",
            help="Format of the result; may repeat. uem tells only where somebody speaks.",
            show_default="as the ending of --out says, else rttm",
        ),
    ] = None
    clips: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Cut each speaker's turns into files, at the recording's own rate; several "
            "recordings get a folder each.",
            show_default="none",
        ),
    ] = None
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.html|DIR",
            help="A web page that plays the recording and shows who spoke when, in one file that "
            "needs no network; several recordings need a folder. With --reference, errors are "
            "marked.",
            show_default="none",
        ),
    ] = None
    exclusive: ExclusiveOption = False
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep detected speech and vectors there by the content of recordings, so that "
            "another backend hears nothing anew.",
            show_default="none",
        ),
    ] = None
    jobs: Annotated[
        int,
        typer.Option(
            "-j", "--jobs", metavar="N", min=1, help="Recordings that are worked on at once."
        ),
    ] = 1
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Let the workers of a Dask cluster hear the recordings; the address of its "
            "scheduler.",
            show_default="this machine",
        ),
    ] = None
    dask_wait: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="--dask: how long to wait while the cluster has no workers.",
        ),
    ] = 300.0
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Hear all recordings, also those whose results in the folder --out are finished.",
        ),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            is_eager=True,  # so that what is said of other options is not said either
            callback=_take_quiet,
            help="Write results and errors alone: no notes, no summaries, no progress.",
        ),
    ] = False
