"""What a training goes on with: its recipe, and checkpoints in safetensors, without pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from diarize.errors import InputError
from diarize.storage.files import atomic_output


def recipe_text(recipe: Any, **free: int) -> str:
    """A recipe as JSON; what may change of its loop while it goes on is written as `free` says."""
    loop = asdict(replace(recipe.loop, **free))
    return json.dumps(asdict(recipe) | {"loop": loop}, indent=1, default=str, sort_keys=True)


def require_same_recipe(text: str, folder: Path) -> None:
    """Raise InputError where a training by another recipe has begun in the folder."""
    written = folder / "recipe.json"
    if written.is_file() and written.read_text(encoding="utf-8") != text:
        raise InputError(f"{folder}: holds a training by another recipe ({written.name})")


def save_checkpoint(
    path: Path,
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    about: Mapping[str, str],
    further: Mapping[str, Tensor] | None = None,
) -> None:
    """Write the state of a training, whole or not at all.

    Args:
        path: of the file.
        module: its parameters and buffers are written.
        optimiser: of these parameters.
        about: what the file says of itself.
        further: tensors beside the module's.
    """
    tensors = {f"model.{name}": value for name, value in module.state_dict().items()}
    for index, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{index}.{name}": value for name, value in state.items()}
    tensors |= further or {}
    content = save({name: t.contiguous() for name, t in tensors.items()}, metadata=dict(about))
    with atomic_output(path) as file:
        file.write(content)


def read_checkpoint(path: Path, device: str = "cpu") -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read the tensors of a checkpoint, and what it says of itself.

    Raises:
        InputError: the file is damaged.
    """
    try:
        with safe_open(path, framework="pt", device=device) as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, file.metadata() or {}
    except SafetensorError as error:
        raise InputError(f"{path}: a damaged checkpoint ({error})") from None


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
