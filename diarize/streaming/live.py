"""What finds speakers live, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from diarize.clustering import require_options
from diarize.embedding.encoder import SpeakerEncoder
from diarize.errors import InputError, as_input, require_one_of
from diarize.streaming.centroids import CentroidOptions, LiveCentroids
from diarize.streaming.live_speakers import LiveClustering, LiveLinks


def make_live(
    name: str,
    model: SpeakerEncoder,
    max_set_size: int,
    most: int | None,
    params: Mapping[str, Any],
) -> LiveClustering:
    """What finds speakers live.

    Raises:
        InputError: there is no such way, or it has no such option.
    """
    known = model.knowledge
    if name == "links":
        own = {
            "max_set_size": max_set_size,
            "compose": model.compose,
            "scatter": known.scatter,
        }
        with as_input():
            require_options(name, params, own, "params has")
            return LiveLinks(model.dim, **own, **params)
    require_one_of("live", name, ("ckm", "links"))
    options = [field.name for field in fields(CentroidOptions)]
    for option in params:
        if option not in options:
            raise InputError(f"live ckm has no option {option!r}; it has {', '.join(options)}")
    scatter = known.scatter.denser(known.step / known.fine_step)
    chosen = CentroidOptions(**params)
    return LiveCentroids(model.dim, max_set_size, model.compose, scatter, most, chosen)
