"""`diarize run`: who spoke when."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from diarize.cli.options import (
    OWN_OPTIONS,
    BackendOption,
    DeviceOption,
    ExclusiveOption,
    MaxSetSizeOption,
    ModelOption,
    SeedOption,
)
from diarize.cli.preset import Context, PresetOption, preset_params
from diarize.cli.run_options import (
    AgainOption,
    AudioArgument,
    CacheOption,
    ChannelsOption,
    ClipsOption,
    CorrectionsOption,
    DaskOption,
    DaskWaitOption,
    EndOption,
    ExportSpeakersOption,
    FormatOption,
    JobsOption,
    KnownOption,
    KnownThresholdOption,
    LinkSpeakersOption,
    LinkThresholdOption,
    MaxSpeakersOption,
    MinGapOption,
    MinSilenceOption,
    MinSpeakersOption,
    MinSpeechOption,
    MinTurnOption,
    NumSpeakersOption,
    OutOption,
    OverlapOption,
    ParamOption,
    QuietOption,
    ReferenceOption,
    ReportOption,
    StartOption,
    StepOption,
    SwitchOption,
    VadOption,
    VadThresholdOption,
    VoicesOption,
    WindowOption,
)
from diarize.cli.settings import ConfigOption
from diarize.errors import InputError

if TYPE_CHECKING:
    from diarize.activity import NetworkActivity, SileroActivity
    from diarize.activity.counts import Activity


# The defaults and ranges are those of the library; a test compares them, since importing it here
# would slow `--help` down.
def run(
    context: Context,
    audio: AudioArgument,
    backend: BackendOption = "ckm",
    num_speakers: NumSpeakersOption = None,
    min_speakers: MinSpeakersOption = None,
    max_speakers: MaxSpeakersOption = None,
    max_set_size: MaxSetSizeOption = 2,
    param: ParamOption = None,
    config: ConfigOption = None,
    preset: PresetOption = None,
    vad: VadOption = "network",
    vad_threshold: VadThresholdOption = None,
    voices: VoicesOption = "network",
    min_speech: MinSpeechOption = 0.1,
    min_silence: MinSilenceOption = 0.2,
    window: WindowOption = None,
    step: StepOption = None,
    switch: SwitchOption = 0.1,
    overlap: OverlapOption = 0.05,
    min_turn: MinTurnOption = 0.2,
    min_gap: MinGapOption = 0.3,
    known: KnownOption = None,
    known_threshold: KnownThresholdOption = None,
    link_speakers: LinkSpeakersOption = False,
    link_threshold: LinkThresholdOption = None,
    export_speakers: ExportSpeakersOption = None,
    reference: ReferenceOption = None,
    corrections: CorrectionsOption = None,
    channels: ChannelsOption = "mix",
    start: StartOption = None,
    end: EndOption = None,
    model: ModelOption = "lstm-compositional",
    device: DeviceOption = "auto",
    seed: SeedOption = 0,
    out: OutOption = "-",
    format: FormatOption = None,
    clips: ClipsOption = None,
    report: ReportOption = None,
    exclusive: ExclusiveOption = False,
    cache: CacheOption = None,
    jobs: JobsOption = 1,
    dask: DaskOption = None,
    dask_wait: DaskWaitOption = 300.0,
    again: AgainOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say who spoke when, also while people speak at the same time.

    Writes turns to --out or standard output, and a summary to standard error. In a folder --out,
    results are kept whose recording, options, model and version have not changed.
    """
    from dataclasses import replace

    from diarize.cli.batch import require_dask, require_files, run_batch, unfinished
    from diarize.cli.corrections import read_corrections
    from diarize.cli.gather import gather, require_distinct
    from diarize.cli.inputs import Turns
    from diarize.cli.manifest import Manifest
    from diarize.cli.messages import note
    from diarize.cli.params import parse_params
    from diarize.cli.progress import progress
    from diarize.cli.results import Failures, deliver_linked
    from diarize.cli.speakers import require_export, write_voices
    from diarize.cli.targets import Targets, require_folder
    from diarize.cli.work import Work
    from diarize.pipeline import Diarizer
    from diarize.storage.cache import Cache
    from diarize.timeline import TimelineOptions
    from diarize.voices.known import learn_known

    if channels not in {"mix", "separate", "per-speaker"}:
        raise InputError(f"channels {channels}: not one of mix, separate, per-speaker")
    if channels == "per-speaker" and (known or link_speakers or export_speakers or corrections):
        raise InputError("channels per-speaker: its speakers are its channels, and no voices")
    entries = gather(audio, clips)
    sources = [entry.source for entry in entries]
    several = len(entries) > 1 or audio != sources or channels == "separate"
    targets = Targets.resolve(
        out, entries, format or None, several=several, clips=clips, report=report
    )
    for name, least in (("known", known_threshold), ("link", link_threshold)):
        if least is not None and not 0 < least < 1:
            raise InputError(f"{name}-threshold {least:g}: not between 0 and 1")
    if cache is not None:
        require_folder(cache)
    if export_speakers is not None:
        require_export(export_speakers, out, sources)
    if voices not in {"network", "none"}:
        raise InputError(f"voices {voices}: not one of network, none")
    speech_is_told = vad not in ("network", "silero", "none")
    if link_speakers or export_speakers or reference or corrections or speech_is_told:
        require_distinct(entries, "which of them a name means cannot be told")
    if dask is not None:
        require_dask(jobs)
    if jobs > 1 or dask is not None:
        require_files(entries)
    detector = _detector(vad, vad_threshold, min_speech, min_silence)
    activity = detector if vad in ("network", "silero") else _activity(vad, sources)
    diarizer = Diarizer(
        backend=backend,
        n_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
        max_set_size=max_set_size,
        params={**preset_params(context), **parse_params(param or [], OWN_OPTIONS)},
        activity=activity,
        counts=voices == "network",
        model=model,
        device=device,
        seed=seed,
        window=window,
        step=step,
        timeline=TimelineOptions(
            switch=switch, overlap=overlap, min_turn=min_turn, min_gap=min_gap
        ),
        known_threshold=known_threshold,
        cache=None if cache is None else Cache(cache),
    )
    truth = None if reference is None else Turns.read(reference, sources)
    if truth is None and diarizer.needs_reference:
        raise InputError(f"backend {backend} needs the true turns: give --reference")
    if truth is not None and not diarizer.needs_reference and report is None:
        note(f"backend {backend} has no use for --reference")
    corrected = None
    if corrections is not None:
        corrected = read_corrections(corrections, sources, linked=link_speakers)
    diarizer.prepare()
    enrolled = None
    if known:
        with progress() as hook:
            enrolled = learn_known(known, diarizer, activity if vad == "none" else detector, hook)

    work = Work(
        diarizer=diarizer,
        targets=targets,
        channels=channels,
        start=start,
        end=end,
        truth=truth,
        corrections=corrected,
        known=enrolled,
        linked=link_speakers,
        exclusive=exclusive,
    )
    manifest = Manifest(targets.folder) if targets.folder and work.finishes else None
    waiting = entries
    if manifest is not None and not again and export_speakers is None:
        waiting = unfinished(work, entries, manifest)
    failures = Failures(several=len(entries) > 1)
    results = run_batch(
        work, waiting, failures, jobs=jobs, dask=dask, dask_wait=dask_wait, manifest=manifest
    )
    if link_speakers:
        likeness = diarizer.likeness
        if link_threshold is not None:
            likeness = replace(likeness, same_person=link_threshold)
        results = deliver_linked(results, enrolled, work.options, targets, failures, likeness)
    if export_speakers is not None and results:
        found = [result.found for result in results]
        write_voices(export_speakers, found, diarizer, linked=link_speakers)
    failures.sum_up(len(entries), len(entries) - len(waiting))
    if failures.inputs:
        raise typer.Exit(1)


def _detector(
    vad: str, threshold: float | None, min_speech: float, min_silence: float
) -> NetworkActivity | SileroActivity:
    """What detects speech; where that is told, what hears the clips of known voices."""
    from diarize.activity import NetworkActivity, SileroActivity

    kind = SileroActivity if vad == "silero" else NetworkActivity
    least = kind().threshold if threshold is None else threshold
    return kind(threshold=least, min_speech=min_speech, min_silence=min_silence)


def _activity(vad: str, sources: list[str]) -> Activity:
    """Where there is speech, when it is not to be detected."""
    if vad == "none":
        from diarize.activity import whole

        return whole
    if not Path(vad).exists():
        raise InputError(f"vad {vad}: not network, silero, none or an RTTM file that is there")
    from diarize.cli.inputs import Turns

    return Turns.read(Path(vad), sources).speech
