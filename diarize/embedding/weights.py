"""Weights on disk: safetensors; configuration and what is known of f in the header. No pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from diarize.embedding.knowledge import PREFIX, Knowledge
from diarize.embedding.model import CompositionalEmbedding, EmbeddingConfig
from diarize.errors import InputError, require_one_of
from diarize.storage.files import write_weights
from diarize.storage.onnx_network import SUFFIX as ONNX
from diarize.storage.weights import DEFAULT_MODEL, first_line, models_folder, read_weights

TRAINED = "model.safetensors"  # in the folder of a training
SUFFIX = ".safetensors"
CONFIG = "diarize.embedding"  # key of the header under which the configuration stands
DEVICES = ("auto", "cpu", "cuda")
STEP = ".step"  # after a matrix's name: what a step of its eight bits is worth in each of its rows
STEPS = 127  # to either side of 0
LARGE = 2**16  # values of a matrix from which on it is worth it


def find_model(name: str | Path) -> Path:
    """Find a weights file by the name of a shipped model or by its path.

    Raises:
        InputError: neither a shipped model nor a file.
    """
    shipped = models_folder() / f"{name}{SUFFIX}"
    if shipped.is_file():
        return shipped
    path = Path(name)
    if path.is_file():
        return path
    if (path / TRAINED).is_file():
        raise InputError(f"{name}: is a folder; its weights are {path / TRAINED}")
    known = ", ".join(sorted(p.stem for p in models_folder().glob(f"*{SUFFIX}"))) or "none"
    raise InputError(f"{name}: no such model (shipped: {known}) and no such file")


def pick_device(wanted: str) -> str:
    """Choose where f runs: "cuda" where there is one and "cpu" was not asked for.

    Raises:
        InputError: an unknown device, or "cuda" where there is none.
    """
    require_one_of("device", wanted, DEVICES)
    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise InputError("device cuda: there is none that torch can use")
    return "cuda" if there and wanted != "cpu" else "cpu"


def save_model(model: CompositionalEmbedding, path: Path, small: bool = False) -> None:
    """Write f and g, and what is known of them, whole or not at all.

    Small, the file is a quarter as large: large matrices in eight bits, each row with a step of
    its own, and the rest in half precision. What is loaded is float32 again.
    """
    tensors = {name: value.float().cpu() for name, value in model.state_dict().items()}
    if small:
        tensors = _in_eight_bits(tensors)
    header = {CONFIG: json.dumps(asdict(model.config))} | model.knowledge.header()
    write_weights(path, tensors | model.knowledge.tensors(), header)


def load_model(name: str | Path = DEFAULT_MODEL, device: str = "cpu") -> CompositionalEmbedding:
    """Load f and g, ready for inference, by a shipped model's name or the path of a weights file.

    Raises:
        InputError: no such model, or a file that is damaged or made for something else.
    """
    path = find_model(name)
    if path.suffix.lower() == ONNX:
        raise InputError(f"{path}: weights of ours are needed here, not a network of others")
    header, everything = read_weights(path)
    if CONFIG not in header:
        raise InputError(f"{path}: not a compositional embedding (no configuration in it)")
    try:
        config = EmbeddingConfig(**json.loads(header[CONFIG]))
        tensors = {k: value for k, value in everything.items() if not k.startswith(PREFIX)}
        tensors = _in_full(tensors)
        _require_fit(config, tensors)
        beside = {k: value.numpy() for k, value in everything.items()}
        model = CompositionalEmbedding(config, Knowledge.read(header, beside, config.dim))
        model.load_state_dict(tensors)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: weights that do not fit the model ({first_line(error)})"
        ) from None
    if not all(torch.isfinite(value).all() for value in tensors.values()):
        raise InputError(f"{path}: a damaged weights file (values that are not finite)")
    return model.to(device).eval().requires_grad_(False)


def _in_eight_bits(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors for a small file, large matrices as the nearest whole steps."""
    small = {}
    for name, value in tensors.items():
        if value.ndim < 2 or value.numel() < LARGE:
            small[name] = value.half()
            continue
        step = value.abs().amax(dim=-1, keepdim=True).clamp(min=torch.finfo().tiny) / STEPS
        small |= {name: (value / step).round().to(torch.int8), name + STEP: step}
    return small


def _in_full(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What `_in_eight_bits` was given, as nearly as it is known; other tensors as they are.

    Raises:
        ValueError: steps that are not one for each row.
    """
    full = dict(tensors)
    for name, step in tensors.items():
        matrix = name.removesuffix(STEP)
        if matrix == name or matrix not in full:
            continue
        value = full[matrix]
        if step.shape != (*value.shape[:-1], 1):
            raise ValueError(f"{matrix} has other rows than steps")
        full[matrix] = value * full.pop(name)
    return full


def _require_fit(config: EmbeddingConfig, tensors: Mapping[str, Tensor]) -> None:
    """Raise ValueError where a network would be larger than its tensors, before it is made.

    A file of a few bytes may claim a network of many gigabytes.
    """
    sizes = (config.dim, config.hidden, config.layers, config.stack, config.branches)
    counts = all(type(size) is int for size in (*sizes, config.part))
    if not counts or min(sizes) < 1 or config.part < 0:
        raise ValueError(f"its sizes are no counts: {sizes}")
    dim, hidden, layers, _, branches = sizes
    if not config.part and dim % branches:
        raise ValueError(f"{dim} dimensions cannot be shared by {branches} branches")
    each = 4 * hidden * (layers * hidden + config.read) + config.own * config.pooled
    least = branches * each + 2 * dim * dim
    if least > sum(tensor.numel() for tensor in tensors.values()):
        raise ValueError("its tensors are smaller than its configuration says")
