"""The function g that `--compose` asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from diarize.errors import InputError

if TYPE_CHECKING:
    from diarize.formats.embeddings import Embeddings


def composition(name: str, content: Embeddings, file: Path) -> Any:
    """Find g.

    Args:
        name: "model", or a plain composition.
        content: the vectors, which may name their model.
        file: where they come from, for messages.

    Raises:
        InputError: an unknown name, or a model that is not named or not the one at hand.
    """
    from diarize.clustering.composition import PLAIN

    if name in PLAIN:
        return PLAIN[name]
    if name != "model":
        raise InputError(f"compose {name}: not one of model, {', '.join(PLAIN)}")
    if content.model is None:
        raise InputError(
            f"{file}: no model is named in it; give --compose {', '.join(PLAIN)}, or "
            "--max-set-size 1"
        )
    from diarize.embedding.weights import find_model, load_model, sha256

    model = load_model(content.model)
    if content.model_sha256 not in (None, sha256(find_model(content.model))):
        raise InputError(f"{file}: made with other weights than those of {content.model} here")
    dimension = content.embeddings.shape[1]
    if dimension != model.config.dim:
        raise InputError(
            f"{file}: vectors of {dimension} dimensions, but {content.model} has {model.config.dim}"
        )
    return model.compose
