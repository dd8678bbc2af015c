"""`diarize run`: who spoke when."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diarize.cli.batch import Failures, perform
from diarize.cli.layers import Context, origin, preset_params, taking
from diarize.cli.messages import note
from diarize.cli.options import OWN_OPTIONS, as_typed
from diarize.cli.run_options import RunOptions
from diarize.cli.unused import note_unused, unused_in_run
from diarize.errors import InputError, require_one_of

if TYPE_CHECKING:
    from diarize.activity.counts import Activity
    from diarize.batch import Job, Targets, Work
    from diarize.pipeline import Diarizer


@taking(RunOptions)
def run(context: Context, given: RunOptions) -> None:
    """Say who spoke when, also while people speak at the same time.

    Writes turns to --out or standard output, and a summary to standard error. Where --out is a
    folder, results stay whose recording, options, model and version have not changed.
    """
    from diarize.batch.jobs import find_jobs
    from diarize.batch.results import write_voices
    from diarize.batch.running import altered, unfinished

    _check(given)
    jobs = find_jobs(given.audio, given.clips)
    work = _work(context, given, jobs)
    note_unused(context, unused_in_run(given))
    if (asker := origin(context, "num_speakers")).startswith("preset "):
        note(f"{asker} was tuned on {given.num_speakers} speakers, and asks for as many")
    waiting = jobs if given.again or given.export_speakers else unfinished(work, jobs)
    note(*(f"{path}: was changed since, and is replaced" for path in altered(work, waiting)))
    failures = Failures(several=len(jobs) > 1)
    results = perform(
        work,
        waiting,
        failures,
        workers=given.jobs,
        dask=given.dask,
        dask_wait=given.dask_wait,
    )
    if given.export_speakers is not None and results:
        write_voices(given.export_speakers, results, work.diarizer, linked=given.link_speakers)
    failures.sum_up(len(jobs), len(jobs) - len(waiting))
    if failures.inputs:
        raise typer.Exit(1)


def _check(given: RunOptions) -> None:
    """Refuse options that cannot be, or not together."""
    from diarize.batch.jobs import CHANNELS

    require_one_of("channels", given.channels, CHANNELS)
    voices = given.known or given.link_speakers or given.export_speakers or given.corrections
    if given.channels == "per-speaker" and voices:
        raise InputError("channels per-speaker: its speakers are its channels, and no voices")
    numbers = given.num_speakers or given.min_speakers or given.max_speakers
    if given.channels == "per-speaker" and numbers:
        raise InputError("channels per-speaker: it has as many speakers as channels")
    thresholds = {
        "--vad-threshold": given.vad_threshold,
        "--known-threshold": given.known_threshold,
        "--link-threshold": given.link_threshold,
    }
    for name, least in thresholds.items():
        if least is not None and not 0 < least < 1:
            raise InputError(f"{name} {least:g}: not between 0 and 1")
    require_one_of("voices", given.voices, ("network", "none"))


def _work(context: Context, given: RunOptions, jobs: Sequence[Job]) -> Work:
    """What is done with each recording; refuses before any work is done what cannot be done."""
    from diarize.activity.detectors import is_detector
    from diarize.audio.recording import require_part
    from diarize.batch.annotations import Turns, read_corrections
    from diarize.batch.jobs import name_of, require_distinct, require_files
    from diarize.batch.running import require_dask
    from diarize.batch.targets import Targets
    from diarize.batch.work import Work
    from diarize.cli.progress import progress
    from diarize.storage.files import require_folder
    from diarize.voices.known import learn_known

    sources = [job.source for job in jobs]
    read = _files_read(given)
    several = len(jobs) > 1 or given.audio != sources or given.channels == "separate"
    if several:  # of a single one it is refused by its name
        require_part(given.start, given.end)
    targets = Targets.resolve(
        given.out,
        jobs,
        given.format or None,
        several=several,
        clips=given.clips,
        report=given.report,
    )
    _refuse_replacing(targets, jobs, read)
    if given.cache is not None:
        require_folder(given.cache)
    if given.export_speakers is not None:
        _require_export(given.export_speakers, given.out, sources, read)
    told_by_name = (
        given.link_speakers
        or given.export_speakers
        or given.reference
        or given.corrections
        or not (given.vad == "none" or is_detector(given.vad))
    )
    if told_by_name:
        require_distinct(jobs, "which of them a name means cannot be told")
    if given.dask is not None:
        require_dask(given.jobs)
    if given.jobs > 1 or given.dask is not None:
        require_files(jobs)
    detector = _detector(given)
    activity = _activity(given.vad, sources) or detector
    diarizer = _diarizer(context, given, activity)
    truth = None if given.reference is None else Turns.read(given.reference, sources, note)
    if truth is None and diarizer.needs_reference:
        raise InputError(f"backend {given.backend} needs the true turns: give --reference")
    if truth is not None and not diarizer.needs_reference and given.report is None:
        note(f"backend {given.backend} has no use for --reference")
    elif truth is not None:
        missing = [name for name in map(name_of, sources) if not truth.belonging(name)]
        if missing and not diarizer.needs_reference:
            note(f"{given.reference}: no turns of {', '.join(missing)}")
    corrections = None
    if given.corrections is not None:
        corrections = read_corrections(
            given.corrections, sources, linked=given.link_speakers, note=note
        )
    with as_typed():
        diarizer.prepare()
    known = None
    if given.known:
        with progress() as hook:
            clips = activity if given.vad == "none" else detector
            known = learn_known(given.known, diarizer, clips, hook)
    return Work(
        diarizer=diarizer,
        targets=targets,
        channels=given.channels,
        start=given.start,
        end=given.end,
        truth=truth,
        corrections=corrections,
        known=known,
        linked=given.link_speakers,
        same_person=given.link_threshold,
        exclusive=given.exclusive,
    )


def _diarizer(context: Context, given: RunOptions, activity: Activity) -> Diarizer:
    from diarize.cli.params import parse_options
    from diarize.pipeline import Diarizer
    from diarize.storage.cache import Cache
    from diarize.timeline import TimelineOptions

    return Diarizer(
        backend=given.backend,
        n_speakers=given.num_speakers,
        min_speakers=given.min_speakers,
        max_speakers=given.max_speakers,
        max_set_size=given.max_set_size,
        params={
            **preset_params(context),
            **parse_options(given.backend, given.param or [], OWN_OPTIONS),
        },
        activity=activity,
        counts=given.voices == "network",
        model=given.model,
        device=given.device,
        seed=given.seed,
        window=given.window,
        step=given.step,
        timeline=TimelineOptions(
            switch=given.switch,
            overlap=given.overlap,
            min_turn=given.min_turn,
            min_gap=given.min_gap,
        ),
        known_threshold=given.known_threshold,
        cache=None if given.cache is None else Cache(given.cache),
    )


def _detector(given: RunOptions) -> Any:
    """What detects speech; where that is told, what hears the clips of known voices."""
    from diarize.activity.detectors import is_detector, make_detector
    from diarize.embedding import pick_device

    return make_detector(
        given.vad if is_detector(given.vad) else "network",
        device=pick_device(given.device),
        threshold=given.vad_threshold,
        min_speech=given.min_speech,
        min_silence=given.min_silence,
    )


def _activity(vad: str, sources: Sequence[str]) -> Activity | None:
    """Where there is speech; None: that is to be detected."""
    from diarize.activity import whole
    from diarize.activity.detectors import DETECTORS, is_detector
    from diarize.batch.annotations import Turns

    if is_detector(vad):
        return None
    if vad == "none":
        return whole
    if not Path(vad).exists():
        names = ", ".join(DETECTORS)
        raise InputError(f"vad {vad}: not {names}, none, or an RTTM or ONNX file that is there")
    return Turns.read(Path(vad), sources, note).speech


def _files_read(given: RunOptions) -> dict[str, list[str | Path]]:
    """The files that options name, by what messages call them."""
    from diarize.formats.rttm import ENDING
    from diarize.storage.files import files_in

    told = {
        "the file of --reference": given.reference,
        "the file of --corrections": given.corrections,
        "the file of --vad": given.vad,
        "the preset": given.preset,
        "the file of --config": given.config,
    }
    read: dict[str, list[str | Path]] = {
        what: [path, *(files_in(Path(path), ENDING, below=True) if os.path.isdir(path) else ())]
        for what, path in told.items()
        if path is not None
    }
    # Of NAME=CLIP the part behind it; a FILE.npz may have "=" in its name.
    known = given.known or []
    read["a known voice"] = [*known, *(value.partition("=")[2] for value in known)]
    return read


def _refuse_replacing(
    targets: Targets, jobs: Sequence[Job], read: Mapping[str, Sequence[str | Path]]
) -> None:
    """Refuse results that would replace what is read for them, or each other."""
    from diarize.formats import FORMATS
    from diarize.storage.files import refuse_input

    file, page = targets.file, targets.page
    if file is not None and page is not None and os.path.realpath(file) == os.path.realpath(page):
        raise InputError(f"{page}: is where the result goes, too")
    written = [Path(path) for path in (file, page) if path is not None]
    if targets.folder is not None:
        endings = [FORMATS[name].suffix for name in targets.formats]
        written += [Path(targets.folder, f"{job.place}.{end}") for job in jobs for end in endings]
    places = {os.path.realpath(path): path for path in written}
    for what, inputs in read.items():
        for one in map(os.path.realpath, inputs):
            if one in places:
                refuse_input(places[one], [one], "the result", what)


def _require_export(
    path: Path, out: str, sources: Sequence[str], read: Mapping[str, Sequence[str | Path]]
) -> None:
    """Refuse a file of voices that could not be written, is read, or is where results go."""
    from diarize.storage.files import refuse_input, require_ending, require_writable

    require_ending(path, ".npz", "export-speakers ")
    if out != "-" and os.path.realpath(path) == os.path.realpath(out):
        raise InputError(f"{path}: is where the result goes, too")
    for what, inputs in {"the recording": sources, **read}.items():
        refuse_input(path, inputs, "the voices", what)
    require_writable(path)
