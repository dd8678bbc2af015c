"""Options of a backend under a name: what tuning found on which material."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from diarize.errors import InputError

TIMELINE = ("switch", "overlap", "min_turn", "min_gap")
"""Options of the timeline (`diarize.timeline.TimelineOptions`) that a preset may hold as well."""

UNSETTLED = {"compose", "random_state"}
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
    def timeline_params(self) -> dict[str, Any]:
        """The options of the timeline."""
        return {name: value for name, value in self.params.items() if name in TIMELINE}


_SHIPPED = (
    # The paper's hyperparameters where it states them; its other values are not published.
    Preset(
        "ckm-librispeech-d2",
        "ckm",
        {"set_penalty": 0.0, "n_restarts": 100},
        "Algorithm 3 as printed: no penalty of sets, 100 restarts; not tuned.",
    ),
    Preset(
        "gcr-librispeech-d2",
        "gcr",
        {"n_base_clusters": 15, "set_penalty": 0.0},
        "Algorithm 4 on as many base clusters as there are sets of at most two of five speakers; "
        "not tuned.",
    ),
    Preset(
        "ac-librispeech-d2",
        "ac",
        {"distance_threshold": 3.0},
        "Within the distances that the paper tries for its table 1; not tuned.",
    ),
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
        content = json.loads(Path(name).read_bytes())
    except FileNotFoundError as error:
        near = get_close_matches(name, PRESETS)
        hint = f" (did you mean {' or '.join(near)}?)" if near else ""
        raise InputError(f"preset {name}: no such file, and none is shipped{hint}") from error
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{name}: not JSON ({error})") from error
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
        if not plain or (isinstance(value, float) and not math.isfinite(value)):
            raise InputError(
                f"{file}: option {name} is no finite number, text, true, false or null"
            )
    texts = {key: content.get(key, "") for key in ("name", "source")}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f"{file}: '{key}' is no text")
    for name in UNSETTLED & params.keys():
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
