"""`diarize cluster`: a table of embeddings to sets of speakers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diarize.cli.layers import Context, PresetOption, preset_params
from diarize.cli.options import SeedOption
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
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.npz", help="Vectors: an array `embeddings`, as `diarize embed` writes it."
        ),
    ],
    out: Annotated[
        str, typer.Option(metavar="FILE.json", help="Where the sets go; - is standard output.")
    ],
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Clustering; see `diarize backends`.")
    ] = "ckm",
    num_speakers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of speakers.", show_default="inferred"),
    ] = None,
    max_set_size: Annotated[
        int, typer.Option(metavar="D", min=1, help="Most speakers of one row; 1: no composition.")
    ] = 2,
    param: Annotated[
        list[str] | None,
        typer.Option("-p", metavar="NAME=VALUE", help="Option of the backend; may repeat."),
    ] = None,
    preset: PresetOption = None,
    seed: SeedOption = 0,
    compose: Annotated[
        str,
        typer.Option(
            metavar="model|max|sum|mean",
            help="Where several speakers lie: the g of the model that FILE.npz names, or plain.",
        ),
    ] = "model",
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="True sets, for backends that need the truth."),
    ] = None,
) -> None:
    """Cluster vectors into sets of speakers, one set per row.

    FILE.json gets {"backend": NAME, "n_speakers": k, "sets": [[0], [0, 2], ...]}.
    """
    from diarize import clustering
    from diarize.cli.composition import composition, require_composition, scatter_of
    from diarize.cli.messages import note
    from diarize.cli.params import parse_params
    from diarize.formats.embeddings import read_embeddings
    from diarize.formats.sets import read_sets, sets_text
    from diarize.storage.files import atomic_output, require_writable

    require_composition(compose)
    params = {**preset_params(context), **parse_params(param or [], _OWN_OPTIONS)}
    estimator = clustering.make(
        backend,
        n_speakers=num_speakers,
        max_set_size=max_set_size,
        random_state=seed,
        **params,
    )
    true_sets = None if truth is None else read_sets(truth)
    if true_sets is None and estimator.needs_truth:
        raise InputError(f"backend {backend} needs the true sets: give --truth")
    if out != "-":
        require_writable(out)
    content = read_embeddings(file)
    if max_set_size > 1 and estimator.composes:
        estimator.set_params(compose=composition(compose, content, file))
    estimator.set_params(scatter=scatter_of(content, file))
    estimator.fit(content.embeddings, true_sets)
    if estimator.sampled_ is not None:
        rows = len(content.embeddings)
        note(f"clustered {estimator.sampled_} of {rows} rows; the others went to the nearest set")
    text = sets_text(estimator.sets_, backend)
    if out == "-":
        print(text, end="")
        return
    with atomic_output(out, "w") as stream:
        stream.write(text)
