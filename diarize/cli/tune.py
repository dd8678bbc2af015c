"""`diarize tune`: the options of a backend that do best on material whose truth is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from diarize.cli.messages import note, put
from diarize.cli.options import BackendOption, SeedOption, argument, count, option
from diarize.errors import InputError
from diarize.storage.weights import DEFAULT_MODEL

if TYPE_CHECKING:
    from diarize.tuning import Tuning

_OWN_OPTIONS = {
    "max_set_size": "--max-set-size",
    "random_state": "--seed",
    "compose": "--compose",
    "scatter": "vectors that name their model",
}

_SHOWN = 10  # combinations


def tune(
    paths: list[Path] = argument(
        ...,
        "PATH...",
        "Folders of NAME.npz (vectors) with NAME.json (true sets), or of recordings with "
        "NAME.rttm.",
    ),
    out: str = option(..., "PRESET.json", "Where the preset goes; - is standard output."),
    backend: BackendOption = "ckm",
    metric: str | None = option(
        None,
        "cri|ari|accuracy|id-cost|der",
        "What is optimised, the mean over all: the (compositional or adjusted) Rand index of "
        "vectors, the accuracy of their ids, or the cost of conflated and fractured ones; the "
        "diarization error rate of recordings.",
        show_default="cri for vectors, der for recordings",
    ),
    budget: int = count(100, "Most combinations tried, drawn by chance if there are more."),
    num_speakers: int | None = count(None, "Speakers of each input.", show_default="inferred"),
    max_set_size: int = option(2, "D", "Most speakers of one row or at one instant.", min=1),
    compose: str = option(
        "model",
        "model|max|sum|mean",
        "Vectors: where several speakers lie; the g of the model they name, or plain.",
    ),
    model: str = option(
        DEFAULT_MODEL,
        "NAME|PATH",
        "Recordings: the embedding, a shipped one or a weights file.",
    ),
    param: list[str] | None = option(
        None,
        "NAME=V1,V2,...",
        "Candidates of an option, in place of those that the backend declares; one value fixes it;"
        " may repeat.",
        "-p",
    ),
    seed: SeedOption = 0,
) -> None:
    """Find the options that do best, and write them as a preset.

    `diarize run` and `diarize cluster` take the preset with --preset. The best combinations are
    listed on standard error.
    """
    from diarize.cli.params import parse_space
    from diarize.cli.progress import progress
    from diarize.storage.files import files_in, refuse_input, require_writable
    from diarize.tuning.material import hold_recordings, read_trials, require_composition
    from diarize.tuning.presets import Preset, preset_text

    given = parse_space(param or [], _OWN_OPTIONS)
    if out != "-":
        require_writable(out)
        there = [file for path in paths if path.is_dir() for file in files_in(path, "")]
        stems = Counter(file.with_suffix("") for file in there)
        pairs = [file for file in there if stems[file.with_suffix("")] > 1]
        refuse_input(Path(out), pairs, "the preset", "what it is tuned on")
    search: Callable[..., Tuning]
    if hold_recordings(paths):
        _require_metric(metric, ("der",), "recordings")
        from diarize.formats.labelled import labelled_recordings
        from diarize.pipeline import Diarizer
        from diarize.tuning import Conversation, tune_recordings
        from diarize.tuning.recordings import recordings_space

        diarizer = Diarizer(
            backend=backend,
            n_speakers=num_speakers,
            max_set_size=max_set_size,
            model=model,
            seed=seed,
        )
        conversations = [Conversation(*one) for one in labelled_recordings(paths)]
        space = recordings_space(diarizer)
        search = partial(tune_recordings, diarizer, conversations)
    else:
        from diarize import clustering
        from diarize.tuning import tune as tune_trials
        from diarize.tuning.trials import INDICES, declared_space

        _require_metric(metric, list(INDICES), "vectors")

        counted = num_speakers is not None or "n_speakers" in given
        space = declared_space(backend, counted=counted)
        require_composition(compose)
        composes = max_set_size > 1 and clustering.make(backend).composes
        trials, g = read_trials(paths, compose if composes else None, note)
        search = partial(
            tune_trials,
            backend,
            trials,
            compose=g,
            max_set_size=max_set_size,
            n_speakers=num_speakers,
            metric=metric or "cri",
        )
    with progress() as hook:
        found = search(space={**space, **given}, budget=budget, seed=seed, hook=hook)
    name = f"{backend}-tuned" if out == "-" else Path(out).stem
    settings = f"max-set-size {max_set_size}, seed {seed}"
    put(preset_text(Preset(name, backend, found.params, _describe(found, paths, settings))), out)
    _print_best(found)


def _require_metric(metric: str | None, known: Sequence[str], material: str) -> None:
    if metric is not None and metric not in known:
        raise InputError(f"metric {metric}: not one of {', '.join(known)}, which {material} have")


def _describe(found: Tuning, folders: Sequence[Path], settings: str) -> str:
    """One sentence on where a preset comes from."""
    from diarize.storage.version import __version__

    best = found.table[0]
    spread = "" if best.standard_error != best.standard_error else f" ({best.standard_error:.4f})"
    return (
        f"Tuned on {found.n_trials} inputs of {', '.join(map(str, folders))}: "
        f"{found.metric} {best.score:.4f}{spread}, best of {len(found.table)} of "
        f"{found.n_combinations} combinations, {settings}, diarize {__version__}."
    )


def _print_best(found: Tuning) -> None:
    from diarize.cli.tables import plain, print_table

    table = plain()
    table.add_column(found.metric.upper(), justify="right", no_wrap=True)
    table.add_column("(s.e.)", justify="right", no_wrap=True)
    for name in found.params:
        table.add_column(name, justify="right")
    usable = [outcome for outcome in found.table if outcome.failure is None]
    for outcome in usable[:_SHOWN]:
        deviation = outcome.standard_error
        table.add_row(
            f"{100 * outcome.score:.2f}",
            "-" if deviation != deviation else f"({100 * deviation:.2f})",
            *("none" if value is None else str(value) for value in outcome.params.values()),
        )
    print_table(table, stderr=True)
    failed = [outcome for outcome in found.table if outcome.failure is not None]
    if failed:
        note(f"{len(failed)} combinations cannot be used, among others: {failed[0].failure}")
    if len(found.table) < found.n_combinations:
        note(f"tried {len(found.table)} of {found.n_combinations} combinations; see --budget")
