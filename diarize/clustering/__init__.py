"""Clusterings of vectors into sets of speakers: one file or package per algorithm, one contract.

The table below maps a name to its class; nothing is imported before it is asked for. The package
knows nothing of audio or files and can be used on any vectors. What algorithms share: `base` (the
contract), `checks`, `known` (what is known of rows), `composition` (g over sets) and `gradient`
(back through it), `nearest` (rows to centers), `memberships` (degrees of them), `merging`,
`reassignment` (clusters to sets of others), `selection` (how many speakers), `seeding`,
`constraints`, `geometry`.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any

__all__ = ["BACKENDS", "describe", "make"]

BACKENDS: dict[str, str] = {
    "ckm": "diarize.clustering.ckm:CKM",
    "gcr": "diarize.clustering.gcr:GCR",
    "cap": "diarize.clustering.cap:CAP",
    "links": "diarize.clustering.links:Links",
    "ac": "diarize.clustering.agglomerative:Agglomerative",
    "ap": "diarize.clustering.ap:AP",
    "fcm": "diarize.clustering.fcm:FCM",
    "gmm": "diarize.clustering.gmm:GMM",
    "dpgmm": "diarize.clustering.dpgmm.backend:SpeakerDPGMM",
    "ca": "diarize.clustering.ca:CA",
    "forest": "diarize.clustering.forest:SpanningForest",
    "oracle": "diarize.clustering.oracle:Oracle",
    "osc": "diarize.clustering.oracle:OSC",
}
"""Name -> "module:Class"."""


def make(name: str, /, **params: Any) -> Any:
    """The clustering of that name, an estimator that has not been fitted.

    Raises:
        ValueError: there is no such backend, or it has no such option; the message says which
            there are.
    """
    require_options(name, params)
    return _load(name)(**params)


def require_options(
    name: Any, options: Iterable[str], besides: Iterable[str] = (), offer: str = "it has"
) -> None:
    """Refuse an option that the backend of that name lacks; those `besides` are no options of it.

    Raises:
        ValueError: there is no such backend, or no such option; the message offers those there are.
    """
    known = sorted(_load(name)().get_params(deep=False).keys() - set(besides))
    for option in options:
        if option not in known:
            near = get_close_matches(str(option), known)
            raise ValueError(
                f"backend {name} has no option {option!r}"
                + (f" (did you mean {' or '.join(near)}?)" if near else "")
                + f"; {offer} {', '.join(known) or 'none'}"
            )


def describe(name: str) -> str:
    """One line on what the backend does.

    Raises:
        ValueError: there is no such backend.
    """
    return str(_load(name).__doc__).strip().splitlines()[0]


def _load(name: Any) -> Any:
    if not isinstance(name, str) or name not in BACKENDS:
        near = get_close_matches(str(name).lower(), BACKENDS, cutoff=0.5)
        raise ValueError(
            f"there is no backend {name!r}"
            + (f" (did you mean {' or '.join(near)}?)" if near else "")
            + f"; there are {', '.join(BACKENDS)}"
        )
    module, _, class_name = BACKENDS[name].partition(":")
    return getattr(import_module(module), class_name)
