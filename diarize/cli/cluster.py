"""`diarize cluster`: a table of embeddings to sets of speakers."""

from __future__ import annotations

from pathlib import Path

from diarize.cli.layers import Context, PresetOption, preset_params
from diarize.cli.options import SeedOption, argument, as_typed, count, option
from diarize.errors import InputError

# What has an option of its own, by the name that a backend knows it by.
_OWN_OPTIONS = {
    "n_speakers": "--num-speakers",
    "max_set_size": "--max-set-size",
    "random_state": "--seed",
    "compose": "--compose",
    "scatter": "a FILE.npz that names its model",
}


def cluster(
    context: Context,
    file: Path = argument(
        ..., "FILE.npz", "Vectors: an array `embeddings`, as `diarize embed` writes it."
    ),
    out: str = option(..., "FILE.json", "Where the sets go; - is standard output."),
    backend: str = option("ckm", "NAME", "Clustering; see `diarize backends`."),
    num_speakers: int | None = count(None, "Number of speakers.", show_default="inferred"),
    min_speakers: int | None = count(None, "Fewest of them.", show_default="1"),
    max_speakers: int | None = count(None, "Most of them.", show_default="20"),
    max_set_size: int = option(2, "D", "Most speakers of one row; 1: no composition.", min=1),
    param: list[str] | None = option(
        None, "NAME=VALUE", "Option of the backend, of those in docs/backends.md; may repeat.", "-p"
    ),
    preset: PresetOption = None,
    seed: SeedOption = 0,
    compose: str = option(
        "model",
        "model|max|sum|mean",
        "Where several speakers lie: the g of the model that FILE.npz names, or plain.",
    ),
    truth: Path | None = option(None, "FILE.json", "True sets, for backends that need the truth."),
) -> None:
    """Cluster vectors into sets of speakers, one set per row.

    FILE.json gets {"backend": NAME, "n_speakers": k, "sets": [[0], [0, 2], ...]}.
    """
    from diarize import clustering
    from diarize.cli.messages import note, put
    from diarize.cli.params import parse_options
    from diarize.formats.embeddings import read_embeddings
    from diarize.formats.sets import read_sets, sets_text
    from diarize.storage.files import refuse_input, require_writable
    from diarize.tuning.material import composition, require_composition, scatter_of

    require_composition(compose)
    params = {**preset_params(context), **parse_options(backend, param or [], _OWN_OPTIONS)}
    bounds = {"min_speakers": min_speakers, "max_speakers": max_speakers}
    estimator = clustering.make(
        backend,
        n_speakers=num_speakers,
        max_set_size=max_set_size,
        random_state=seed,
        **params | {name: number for name, number in bounds.items() if number is not None},
    )
    true_sets = None if truth is None else read_sets(truth)
    if true_sets is None and estimator.needs_truth:
        raise InputError(f"backend {backend} needs the true sets: give --truth")
    if out != "-":
        require_writable(out)
        read = {"the vectors": file, "the file of --truth": truth, "the preset": preset}
        for what, path in read.items():
            refuse_input(Path(out), [path] if path else [], "the sets", what)
    if true_sets is not None and not estimator.needs_truth:
        note(f"{truth}: not used, since backend {backend} takes no truth")
    content = read_embeddings(file)
    if max_set_size > 1 and estimator.composes:
        estimator.set_params(compose=composition(compose, content, file))
    estimator.set_params(scatter=scatter_of(content, file, note))
    with as_typed():
        estimator.fit(content.embeddings, true_sets)
    if estimator.sampled_ is not None:
        rows = len(content.embeddings)
        note(f"clustered {estimator.sampled_} of {rows} rows; the others went to the nearest set")
    put(sets_text(estimator.sets_, backend), out)
