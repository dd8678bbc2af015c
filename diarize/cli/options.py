"""Options that several commands share, worded once."""

from __future__ import annotations

from typing import Annotated

import typer

BackendOption = Annotated[
    str, typer.Option(metavar="NAME", help="Clustering; see `diarize backends`.")
]

MaxSetSizeOption = Annotated[
    int, typer.Option(metavar="D", min=1, help="Most speakers at one instant; 1 finds no overlap.")
]

ModelOption = Annotated[
    str, typer.Option(metavar="NAME|PATH", help="Embedding: a shipped one, or a weights file.")
]

DeviceOption = Annotated[
    str, typer.Option(metavar="auto|cpu|cuda", help="Where the embedding runs.")
]

SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of all that is drawn.")]

ExclusiveOption = Annotated[
    bool,
    typer.Option(
        "--exclusive", help="Give each instant to one speaker: the one whose turn began first."
    ),
]

OWN_OPTIONS = {
    "n_speakers": "--num-speakers",
    "min_speakers": "--min-speakers",
    "max_speakers": "--max-speakers",
    "max_set_size": "--max-set-size",
    "random_state": "--seed",
    "compose": "--model",
    "scatter": "--model",
}
"""What has an option of its own in `run` and `stream`, by the name that a backend knows it by."""
