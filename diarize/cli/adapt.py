"""`diarize adapt`: the embedding, adapted to somebody's own recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from diarize.cli.options import DeviceOption, ModelOption, SeedOption, argument, option
from diarize.storage.weights import DEFAULT_MODEL

if TYPE_CHECKING:
    from diarize.training.adaptation import Adaptation


def adapt(
    recordings: list[str] = argument(
        ...,
        "RECORDINGS...",
        "Of the kind that is to be diarized, files, folders or lists of them: ten minutes or more, "
        "two speakers or more.",
    ),
    out: Path = option(..., "MODEL.safetensors", "Where the adapted model goes."),
    backend: str = option("ckm", "NAME", "Clustering of the first pass; see `diarize backends`."),
    model: ModelOption = DEFAULT_MODEL,
    device: DeviceOption = "auto",
    seed: SeedOption = 0,
) -> None:
    """Adapt the embedding to your own recordings, without labels; `diarize run --model` takes it.

    Says on standard error what is expected to be gained.
    """
    from diarize.audio import open_recording
    from diarize.batch.jobs import find_jobs
    from diarize.cli.messages import note
    from diarize.cli.progress import progress
    from diarize.embedding import save_model
    from diarize.embedding.weights import SUFFIX
    from diarize.errors import InputError
    from diarize.pipeline import Diarizer
    from diarize.storage.files import refuse_input, require_ending, require_writable
    from diarize.training.adaptation import adapt as adapt_model

    require_writable(out)
    jobs = find_jobs(recordings)
    for job in jobs:
        if job.problem:
            raise InputError(job.problem)
    refuse_input(out, [job.source for job in jobs], "the model")
    require_ending(out, SUFFIX)
    opened = [open_recording(job.source) for job in jobs]
    diarizer = Diarizer(backend=backend, model=model, device=device, seed=seed)
    with progress() as hook:
        found = adapt_model(opened, diarizer, hook)
    save_model(found.model, out)
    changed = "adapted" if found.aligned else "unchanged"
    note(*_told(found), f"the {changed} model is in {out}")


def _told(found: Adaptation) -> list[str]:
    """What was done and learned from, and what is expected of it."""
    if found.aligned:
        share = 100 * found.aligned
        lines = [f"aligned: the sound was moved by {share:.0f} % towards the training's"]
    elif found.measured:
        lines = ["not aligned: by the first pass, windows were told apart worse after it"]
    else:
        lines = ["not aligned: there is no second of speech to measure"]
    if not len(found.before.right):
        return [
            *lines,
            "no recording in which two speakers surely speak alone: nothing to judge by",
        ]
    before, after = (100 * answers.right.mean() for answers in (found.before, found.after))
    return [
        *lines,
        f"expected: {after:.1f} % after {before:.1f} % of held-out windows, alone and mixed, that "
        "go to their speakers, by the first pass",
        f"of {found.speakers} speakers, {found.seconds / 60:.1f} minutes in which one speaker "
        "surely speaks",
    ]
