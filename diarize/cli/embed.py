"""`diarize embed`: the vectors of stretches of audio."""

from __future__ import annotations

from pathlib import Path

from diarize.cli.options import DeviceOption, ModelOption, argument, option
from diarize.storage.weights import DEFAULT_MODEL


def embed(
    listing: Path = argument(
        ..., "LIST", "TSV without header: path [start end], seconds; no times: the whole file."
    ),
    out: Path = option(..., "FILE.npz", "Where the vectors go."),
    model: ModelOption = DEFAULT_MODEL,
    device: DeviceOption = "auto",
) -> None:
    """Embed stretches of audio, one line of LIST one row.

    FILE.npz holds `embeddings` (n, p), `path`, `start`, `end`, `model` and `model_sha256`.
    """
    from diarize.cli.progress import progress
    from diarize.embedding.stretches import embed_stretches, read_stretches, write_vectors
    from diarize.storage.files import refuse_input, require_ending, require_writable

    require_writable(out)
    refuse_input(out, [listing], "the vectors", "the list")
    stretches = read_stretches(listing)
    refuse_input(out, {stretch.path for stretch in stretches}, "the vectors")
    require_ending(out, ".npz")
    with progress() as hook:
        heard, vectors = embed_stretches(stretches, model, device, hook)
    write_vectors(out, heard, vectors, model)
