"""Options of a backend under a name: what tuning found on which material."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from diarize.errors import InputError
from diarize.formats.lines import parse_json

TIMELINE = ("switch", "overlap", "min_turn", "min_gap")
"""Options of the timeline (`diarize.timeline.TimelineOptions`) that a preset may hold as well."""

UNSETTLED = {"compose", "scatter", "random_state"}
"""Options of every backend that are no part of a preset."""


@dataclass(frozen=True)
class Preset:
    """Options of one backend; what a preset does not name keeps its default.

    Attributes:
        name: what it is called.
        backend: a name of the table of clusterings.
        params: options of that backend and, where it was tuned on recordings, of the timeline
            (`TIMELINE`); read-only.
        source: one sentence: from which experiment it comes, tuned on which material.
    """

    name: str
    backend: str
    params: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", MappingProxyType(dict(self.params)))

    @property
    def clustering_params(self) -> dict[str, Any]:
        """The options of the backend."""
        return {name: value for name, value in self.params.items() if name not in TIMELINE}

    @property
    def suits_any(self) -> bool:
        """Whether it is of the timeline alone, so that any backend may stand beside it."""
        return bool(self.timeline_params) and not self.clustering_params

    @property
    def timeline_params(self) -> dict[str, Any]:
        """The options of the timeline."""
        return {name: value for name, value in self.params.items() if name in TIMELINE}


def _tuned(experiment: str, backend: str, cri: float, **params: Any) -> Preset:
    """What `recipes/` found on the validation trials of one of the paper's experiments."""
    return Preset(
        f"{backend}-{experiment}-d2",
        backend,
        params,
        f"Tuned on 10 validation trials of {_EXPERIMENTS[experiment]}: mean CRI {cri} %.",
    )


_EXPERIMENTS = {
    "librispeech": "150 mixtures of up to two speakers (recipes/librispeech_mixtures)",
    "omniglot": "150 images of up to two characters (recipes/omniglot)",
}

_SHIPPED = (
    Preset(
        "tight",
        "ckm",
        {"min_turn": 0.1, "min_gap": 0.2},
        "Turns end with every pause of 0.2 s, as in references that were cut by words.",
    ),
    Preset(
        "turns",
        "ckm",
        {"min_turn": 0.2, "min_gap": 1.0},
        "A speaker's pauses of up to a second belong to the turn, as in many that people marked.",
    ),
    _tuned("librispeech", "ckm", 99.6, n_speakers=5),
    _tuned("librispeech", "gcr", 98.5, order="elimination", n_base_clusters=17, threshold=0.7),
    _tuned("librispeech", "cap", 98.9, preference=-4.5, squared=True),
    _tuned("librispeech", "ac", 90.0, distance_threshold=1.25),
    _tuned("librispeech", "ap", 89.5, preference=-1.25),
    _tuned("librispeech", "fcm", 89.7, n_speakers=20, fuzzifier=1.1),
    _tuned("librispeech", "gmm", 89.4, n_speakers=18, covariance_type="full"),
    _tuned("omniglot", "ckm", 93.3, n_speakers=5),
    _tuned("omniglot", "gcr", 91.2, order="elimination", n_base_clusters=25, threshold=0.4),
    _tuned("omniglot", "cap", 93.5, preference=-2.0, squared=False),
    _tuned("omniglot", "ac", 86.7, distance_threshold=0.75),
    _tuned("omniglot", "ap", 85.9, preference=-0.5),
    _tuned("omniglot", "fcm", 86.7, n_speakers=25, fuzzifier=1.15),
    _tuned("omniglot", "gmm", 86.6, n_speakers=25, covariance_type="full"),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in _SHIPPED})
"""The shipped presets by name."""


def read_preset(source: str | os.PathLike[str]) -> Preset:
    """A shipped preset by its name, or else one that a file holds.

    Raises:
        InputError: there is no such preset or file, or the file holds no preset of options that
            there are.
    """
    name = os.fspath(source)
    if name in PRESETS:
        return PRESETS[name]
    try:
        content = parse_json(name, Path(name).read_bytes())
    except FileNotFoundError as error:
        near = get_close_matches(name, PRESETS)
        hint = f" (did you mean {' or '.join(near)}?)" if near else ""
        raise InputError(f"preset {name}: no such file, and none is shipped{hint}") from error
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    return _checked(content, name)


def preset_text(preset: Preset) -> str:
    """``{"name": ..., "backend": ..., "params": {...}, "source": ...}`` as JSON."""
    content = {
        "name": preset.name,
        "backend": preset.backend,
        "params": dict(preset.params),
        "source": preset.source,
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _checked(content: Any, file: str) -> Preset:
    """The preset that JSON holds, if it is one."""
    from diarize import clustering

    if not isinstance(content, dict) or not isinstance(content.get("backend"), str):
        raise InputError(f"{file}: no preset: 'backend' must name a clustering")
    params = content.get("params", {})
    if not isinstance(params, dict):
        raise InputError(f"{file}: 'params' must map options to values")
    for name, value in params.items():
        plain = value is None or isinstance(value, bool | int | float | str)
        # An integer may be finite, and beyond all floating-point numbers.
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not plain or (number and not abs(value) <= sys.float_info.max):
            raise InputError(
                f"{file}: option {name} is no finite number, text, true, false or null"
            )
    texts = {key: content.get(key, "") for key in ("name", "source")}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f"{file}: '{key}' is no text")
    for name in sorted(UNSETTLED & params.keys()):
        raise InputError(f"{file}: a preset cannot hold {name}")
    preset = Preset(
        texts["name"] or Path(file).stem, content["backend"], params, source=texts["source"]
    )
    try:
        clustering.make(preset.backend, **preset.clustering_params)
        for name, value in preset.timeline_params.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise ValueError(f"{name} is a number of at least 0, not {value!r}")
    except ValueError as error:
        raise InputError(f"{file}: {error}") from error
    return preset
