"""The options of `diarize run`, in the order of its help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from diarize.cli.layers import ConfigOption, Context, PresetOption
from diarize.cli.messages import silence
from diarize.cli.options import (
    BackendOption,
    DeviceOption,
    ExclusiveOption,
    MaxSetSizeOption,
    ModelOption,
    SeedOption,
    VadThresholdOption,
    argument,
    count,
    flag,
    option,
    seconds,
)
from diarize.storage.weights import DEFAULT_MODEL


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

    audio: list[str] = argument(
        ...,
        "AUDIO|DIR|LIST|PATTERN...",
        "Recordings of any format, folders of them, lists (.txt, .lst; a path a line), patterns; -"
        " is standard input.",
    )
    backend: BackendOption = "ckm"
    num_speakers: int | None = count(None, "Number of speakers.", show_default="inferred")
    min_speakers: int | None = count(None, "Fewest speakers.", show_default="1")
    max_speakers: int | None = count(None, "Most speakers.", show_default="20")
    max_set_size: MaxSetSizeOption = 2
    param: list[str] | None = option(
        None, "NAME=VALUE", "Option of the backend, of those in docs/backends.md; may repeat.", "-p"
    )
    config: ConfigOption = None
    preset: PresetOption = None
    vad: str = option(
        "network",
        "network|silero|none|FILE.rttm|FILE.onnx",
        "What tells where there is speech: our network, silero-vad, an RTTM file, or pyannote's "
        "segmentation as ONNX, which also tells how many speak; none: there is speech everywhere.",
    )
    vad_threshold: VadThresholdOption = None
    voices: str = option(
        "network",
        "network|none",
        "What tells how many speak at each instant: our network (or --vad FILE.onnx), or nothing; "
        "then --overlap alone decides how much overlap is found.",
    )
    min_speech: float = seconds(0.1, "Shortest stretch of speech that the detector of --vad gives.")
    min_silence: float = seconds(0.2, "Shortest silence between two such stretches.")
    window: float | None = option(
        None,
        "SECONDS",
        "Length of the windows that are clustered.",
        min=0.5,
        max=5.0,
        show_default="that of the model, 2.0",
    )
    step: float | None = option(
        None,
        "SECONDS",
        "Distance between two of these windows.",
        min=0.05,
        max=2.0,
        show_default="that of the model, 0.5; more in over half an hour of speech",
    )
    switch: float = seconds(
        0.06, "How long another set of speakers must clearly fit better to replace the one before."
    )
    overlap: float = option(
        0.025,
        "COST",
        "Cost of each further speaker at one instant, in units of squared distance between unit "
        "vectors; the larger, the less overlap is found.",
        min=0.0,
    )
    min_turn: float = seconds(
        0.2, "Shortest turn; a shorter one goes to its neighbours, one that stands alone stays."
    )
    min_gap: float = seconds(0.3, "Shortest gap between a speaker's turns.")
    known: list[str] | None = option(
        None,
        "NAME=CLIP|FILE.npz",
        "NAME for the speaker who sounds like CLIP, in which one person speaks alone; may repeat, "
        "and several clips of one name are averaged. FILE.npz is what --export-speakers wrote: all "
        "its voices and their names.",
        show_default="nobody",
    )
    known_threshold: float | None = option(
        None,
        "P",
        "Least probability, between 0 and 1, at which a speaker gets the name of a known voice.",
        show_default="the model's",
    )
    link_speakers: bool = flag(
        "--link-speakers",
        "Give a person the same name in all recordings of this run; no result is written before "
        "all recordings have been heard.",
    )
    link_threshold: float | None = option(
        None,
        "P",
        "Least probability, between 0 and 1, at which --link-speakers takes speakers of two "
        "recordings for one person.",
        show_default="the model's",
    )
    export_speakers: Path | None = option(
        None,
        "FILE.npz",
        "Write the voice of each speaker, one file for all recordings.",
        "--export-speakers",
        show_default="nowhere",
    )
    reference: Path | None = option(
        None, "FILE.rttm", "True turns, for the backends `oracle` and `osc`, and for --report."
    )
    corrections: Path | None = option(
        None,
        "FILE.rttm",
        "What a person says about a few stretches, which binds the result. The speaker of a line "
        "is NAME, who is heard there, !NAME, who is not, or ONLY:NAME, who is and nobody else.",
        show_default="none",
    )
    channels: str = option(
        "mix",
        "mix|separate|per-speaker",
        "Mix all channels into one, take each as a recording of its own, or take each as the "
        "microphone of one speaker, in which the others are heard more quietly.",
    )
    start: float | None = seconds(
        None, "Where to begin; times stay those of the file.", show_default="its beginning"
    )
    end: float | None = seconds(None, "Where to end.", show_default="its end")
    model: ModelOption = DEFAULT_MODEL
    device: DeviceOption = "auto"
    seed: SeedOption = 0
    out: str = option(
        "-",
        "FILE|DIR|-",
        "Where results go; - is standard output, several inputs or formats need a folder.",
    )
    format: list[str] | None = option(
        None,
        "rttm|json|csv|tsv|textgrid|eaf|audacity|srt|vtt|uem",
        "Format of the result; may repeat. uem tells only where somebody speaks.",
        show_default="as the ending of --out says, else rttm",
    )
    clips: Path | None = option(
        None,
        "DIR",
        "Cut each speaker's turns into files, at the recording's own rate; several recordings get "
        "a folder each.",
        show_default="none",
    )
    report: str | None = option(
        None,
        "FILE.html|DIR",
        "A web page that plays the recording and shows who spoke when, in one file that needs no "
        "network; several recordings need a folder. With --reference, errors are marked.",
        show_default="none",
    )
    exclusive: ExclusiveOption = False
    cache: Path | None = option(
        None,
        "DIR",
        "Keep detected speech and vectors in this folder, by the content of recordings, so that "
        "another backend need not hear them anew.",
        show_default="none",
    )
    jobs: int = count(1, "How many recordings are worked on at once.", "-j", "--jobs")
    dask: str | None = option(
        None,
        "ADDRESS",
        "Let the workers of a Dask cluster hear the recordings; the address of its scheduler.",
        show_default="this machine",
    )
    dask_wait: float = seconds(
        300.0, "With --dask: how long to wait while the cluster has no workers."
    )
    again: bool = flag(
        "--again", "Hear all recordings, also those whose results are in the folder --out already."
    )
    quiet: bool = flag(
        "--quiet",
        "Write only results and errors: no notes, no summaries, no progress.",
        is_eager=True,
        callback=_take_quiet,
    )
