"""What finds speakers live, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from diarize.errors import InputError
from diarize.streaming.centroids import CentroidOptions, LiveCentroids
from diarize.streaming.voices import LiveClustering, LiveLinks


def make_live(
    name: str,
    dimension: int,
    common: Mapping[str, Any],
    most: int | None,
    params: Mapping[str, Any],
) -> LiveClustering:
    """What finds speakers live.

    Raises:
        InputError: there is no such way, or it has no such option.
    """
    if name == "links":
        return LiveLinks(dimension, **common, **params)
    if name != "ckm":
        raise InputError(f"live {name}: not one of ckm, links")
    known = [field.name for field in fields(CentroidOptions)]
    for option in params:
        if option not in known:
            raise InputError(f"live ckm has no option {option!r}; it has {', '.join(known)}")
    return LiveCentroids(dimension, **common, most=most, options=CentroidOptions(**params))
