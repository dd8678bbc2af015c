"""`diarize tune`: the options of a backend that do best on material whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diarize.cli.options import BackendOption, SeedOption
from diarize.errors import InputError

if TYPE_CHECKING:
    from diarize.tuning import Conversation, Trial, Tuning

_OWN_OPTIONS = {
    "max_set_size": "--max-set-size",
    "random_state": "--seed",
    "compose": "--compose",
    "scatter": "vectors that name their model",
}

_SHOWN = 10  # combinations


def tune(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Folders of NAME.npz (vectors) with NAME.json (true sets), or of recordings with "
            "NAME.rttm.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(metavar="PRESET.json", help="Where the preset goes; - is standard output."),
    ],
    backend: BackendOption = "ckm",
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="cri|ari|accuracy|id-cost|der",
            help="What is optimised, the mean over all: the (compositional or adjusted) Rand index "
            "of vectors, the accuracy of their ids, or the cost of conflated and fractured ones; "
            "the diarization error rate of recordings.",
            show_default="cri for vectors, der for recordings",
        ),
    ] = None,
    budget: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Most combinations tried, drawn by chance if there are more."
        ),
    ] = 100,
    num_speakers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Speakers of each input.", show_default="inferred"),
    ] = None,
    max_set_size: Annotated[
        int, typer.Option(metavar="D", min=1, help="Most speakers of one row or at one instant.")
    ] = 2,
    compose: Annotated[
        str,
        typer.Option(
            metavar="model|max|sum|mean",
            help="Vectors: where several speakers lie; the g of the model they name, or plain.",
        ),
    ] = "model",
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH", help="Recordings: the embedding, a shipped one or a weights file."
        ),
    ] = "lstm-compositional",
    param: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            metavar="NAME=V1,V2,...",
            help="Candidates of an option, in place of those that the backend declares; one value "
            "fixes it; may repeat.",
        ),
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """Find the options that do best, and write them as a preset.

    `diarize run` and `diarize cluster` take the preset with --preset. The best combinations are
    listed on standard error.
    """
    from diarize.cli.params import parse_space
    from diarize.cli.progress import progress
    from diarize.storage.files import atomic_output, require_writable
    from diarize.tuning.presets import Preset, preset_text

    given = parse_space(param or [], _OWN_OPTIONS)
    if out != "-":
        require_writable(out)
    found: Tuning
    if _has_recordings(paths):
        _require_metric(metric, ("der",), "recordings")
        from diarize.pipeline import Diarizer
        from diarize.tuning import tune_recordings
        from diarize.tuning.recordings import recordings_space

        diarizer = Diarizer(
            backend=backend,
            n_speakers=num_speakers,
            max_set_size=max_set_size,
            model=model,
            seed=seed,
        )
        conversations = _read_conversations(paths)
        space = {**recordings_space(diarizer), **given}
        with progress() as hook:
            found = tune_recordings(
                diarizer, conversations, space=space, budget=budget, seed=seed, hook=hook
            )
    else:
        from diarize import clustering
        from diarize.cli.composition import require_composition
        from diarize.tuning import tune as tune_trials
        from diarize.tuning.trials import INDICES, declared_space

        _require_metric(metric, list(INDICES), "vectors")

        counted = num_speakers is not None or "n_speakers" in given
        space = {**declared_space(backend, counted=counted), **given}
        require_composition(compose)
        composes = max_set_size > 1 and clustering.make(backend).composes
        trials, g = _read_trials(paths, compose if composes else None)
        with progress() as hook:
            found = tune_trials(
                backend,
                trials,
                compose=g,
                max_set_size=max_set_size,
                n_speakers=num_speakers,
                space=space,
                metric=metric or "cri",
                budget=budget,
                seed=seed,
                hook=hook,
            )
    name = f"{backend}-tuned" if out == "-" else Path(out).stem
    source = _describe(found, paths, {"max-set-size": max_set_size, "seed": seed})
    text = preset_text(Preset(name, backend, found.params, source))
    if out == "-":
        print(text, end="")
    else:
        with atomic_output(out, "w") as stream:
            stream.write(text)
    _print_best(found)


def _require_metric(metric: str | None, known: Sequence[str], material: str) -> None:
    if metric is not None and metric not in known:
        raise InputError(f"metric {metric}: not one of {', '.join(known)}, which {material} have")


def _has_recordings(folders: Sequence[Path]) -> bool:
    """Whether the folders hold recordings, rather than vectors.

    Raises:
        InputError: not a folder, or folders that hold both or neither.
    """
    kinds = set()
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"{folder}: {'not a' if folder.exists() else 'no such'} folder")
        here = {".npz": "vectors", ".rttm": "recordings"}
        suffixes = {path.suffix for path in folder.iterdir()} & here.keys()
        if not suffixes:
            raise InputError(f"{folder}: neither NAME.npz with NAME.json nor NAME.rttm in it")
        kinds |= {here[suffix] for suffix in suffixes}
    if len(kinds) > 1:
        raise InputError(f"{folders[0]}: tune on vectors or on recordings, not on both at once")
    return kinds == {"recordings"}


def _read_trials(folders: Sequence[Path], compose: str | None) -> tuple[list[Trial], Any]:
    """Vectors with truth, and g; all are to come from one model where g is that model's."""
    from diarize.cli.composition import composition, scatter_of
    from diarize.formats.embeddings import read_embeddings
    from diarize.formats.sets import read_sets
    from diarize.tuning import Trial

    trials = []
    g, first = None, None
    scatters: dict[Any, Any] = {}  # of each model
    for file in _files(folders, ".npz"):
        content = read_embeddings(file)
        maker = (content.model, content.model_sha256)
        if first is None:
            first = maker
            g = None if compose is None else composition(compose, content, file)
        elif compose == "model" and maker != first:
            raise InputError(f"{file}: made with another model than the files before it")
        truth = read_sets(file.with_suffix(".json"))
        if maker not in scatters:
            scatters[maker] = scatter_of(content, file)
        trials.append(Trial(str(file), content.embeddings, truth, scatters[maker]))
    return trials, g


def _read_conversations(folders: Sequence[Path]) -> list[Conversation]:
    from diarize.audio import open_recording
    from diarize.audio.suffixes import AUDIO_SUFFIXES
    from diarize.batch.told import Turns
    from diarize.tuning import Conversation

    found = []
    for file in _files(folders, ".rttm"):
        beside = [
            path
            for path in sorted(file.parent.iterdir())
            if path.stem == file.stem and path.suffix.lower() in AUDIO_SUFFIXES
        ]
        if len(beside) != 1:
            many = f"{len(beside)} recordings" if beside else "no recording"
            raise InputError(f"{file}: {many} of this name beside it")
        recording = open_recording(beside[0])
        turns = Turns.read(file, [str(beside[0])])
        found.append(Conversation(recording, turns.of(recording.uri)))
    return found


def _files(folders: Sequence[Path], suffix: str) -> list[Path]:
    return [
        path for folder in folders for path in sorted(folder.iterdir()) if path.suffix == suffix
    ]


def _describe(found: Tuning, folders: Sequence[Path], settings: Mapping[str, object]) -> str:
    """One sentence on where a preset comes from."""
    from diarize.storage.version import __version__

    best = found.table[0]
    spread = "" if best.standard_error != best.standard_error else f" ({best.standard_error:.4f})"
    said = ", ".join(f"{name} {value}" for name, value in settings.items())
    return (
        f"Tuned on {found.n_trials} inputs of {', '.join(map(str, folders))}: "
        f"{found.metric} {best.score:.4f}{spread}, best of {len(found.table)} of "
        f"{found.n_combinations} combinations, {said}, diarize {__version__}."
    )


def _print_best(found: Tuning) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from diarize.cli.messages import note
    from diarize.cli.tables import print_table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
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
            *(Text(_shown(value)) for value in outcome.params.values()),
        )
    print_table(table, stderr=True)
    failed = [outcome for outcome in found.table if outcome.failure is not None]
    if failed:
        note(f"{len(failed)} combinations cannot be used, among others: {failed[0].failure}")
    if len(found.table) < found.n_combinations:
        note(f"tried {len(found.table)} of {found.n_combinations} combinations; see --budget")


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
