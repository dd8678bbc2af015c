"""What a training is made of and goes on with: its recipe, and checkpoints without pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from diarize.errors import InputError
from diarize.storage.files import atomic_text, write_weights


@dataclass(frozen=True, kw_only=True)
class SpeechRecipe:
    """What every training on speech is made of.

    Attributes:
        speech: folders of single-speaker speech.
        split: value of the tables' `split` column to train on; None: everything.
        rooms: folder of measured responses; None: made rooms alone.
        noise: folders of noise recordings.
        seed: of all that is drawn.
    """

    speech: Sequence[Path]
    split: str | None = None
    rooms: Path | None = None
    noise: Sequence[Path] = ()
    seed: int = 0


def recipe_text(recipe: Any, **free: int) -> str:
    """A recipe as JSON; what may change of its loop while it goes on is written as `free` says."""
    loop = asdict(replace(recipe.loop, **free))
    return json.dumps(asdict(recipe) | {"loop": loop}, indent=1, default=str, sort_keys=True)


def has_begun(text: str, folder: Path) -> bool:
    """Whether a training by this recipe has begun in the folder; InputError: one by another has."""
    written = folder / "recipe.json"
    if not written.is_file():
        return False
    before = written.read_text(encoding="utf-8")
    if before != text:
        what = f"{written.name}{_difference(before, text)}"
        raise InputError(f"{folder}: holds a training by another recipe ({what})")
    return True


def _difference(before: str, now: str) -> str:
    """The first thing that two recipes do not have in common, in words; "" if they cannot tell."""
    try:
        old, new = _flat(json.loads(before)), _flat(json.loads(now))
    except ValueError:
        return ""
    for name in old | new:
        if old.get(name) != new.get(name):
            return f": {name} is {old.get(name)} there, {new.get(name)} now"
    return ""


def _flat(recipe: Any, name: str = "") -> dict[str, Any]:
    if not isinstance(recipe, dict):
        return {name: recipe}
    inner = [_flat(value, f"{name}.{key}" if name else str(key)) for key, value in recipe.items()]
    return {key: value for one in inner for key, value in one.items()}


def write_recipe(text: str, folder: Path) -> None:
    """Say that a training has begun; once its voices are there: what fails before leaves none."""
    atomic_text(folder / "recipe.json", text)


def save_checkpoint(
    path: Path,
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    about: Mapping[str, str],
    further: Mapping[str, Tensor] | None = None,
) -> None:
    """Write the state of a training, whole or not at all."""
    tensors = {f"model.{name}": value for name, value in module.state_dict().items()}
    for index, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{index}.{name}": value for name, value in state.items()}
    tensors |= further or {}
    write_weights(path, {name: t.detach().cpu() for name, t in tensors.items()}, about)


def restore(
    tensors: Mapping[str, Tensor], module: nn.Module, optimiser: torch.optim.Optimizer
) -> None:
    """Put a module and its optimiser back into the state that was saved."""
    module.load_state_dict(under("model.", tensors))
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimiser."):
            _, index, part = name.split(".")
            state.setdefault(int(index), {})[part] = tensor
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin so, without that beginning."""
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
