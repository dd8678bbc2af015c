"""What `diarize cluster` and `tune` know of vectors: g, as `--compose` asks, and their scatter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from diarize.errors import InputError

if TYPE_CHECKING:
    from diarize.embedding import CompositionalEmbedding
    from diarize.formats.embeddings import Embeddings
    from diarize.scatter import Scatter


def require_composition(name: str) -> None:
    """Raise InputError for an unknown name."""
    from diarize.clustering.composition import PLAIN

    if name != "model" and name not in PLAIN:
        raise InputError(f"compose {name}: not one of model, {', '.join(PLAIN)}")


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

    require_composition(name)
    if name in PLAIN:
        return PLAIN[name]
    if content.model is None:
        raise InputError(
            f"{file}: no model is named in it; give --compose {', '.join(PLAIN)}, or "
            "--max-set-size 1"
        )
    return _model(content, file).compose


def scatter_of(content: Embeddings, file: Path) -> Scatter | None:
    """What is known of how the vectors scatter; None: they come from no model that is here.

    Says so where they name one.
    """
    from diarize.cli.messages import note

    if content.model is None:
        return None
    try:
        return _model(content, file).knowledge.scatter
    except InputError as error:
        note(f"{error}: clustered as vectors of which nothing is known")
        return None


def _model(content: Embeddings, file: Path) -> CompositionalEmbedding:
    """The model that the vectors name.

    Raises:
        InputError: it is not here, or another one.
    """
    from diarize.embedding.weights import find_model, load_model, sha256

    assert content.model is not None
    model = load_model(content.model)
    if content.model_sha256 not in (None, sha256(find_model(content.model))):
        raise InputError(f"{file}: made with other weights than those of {content.model} here")
    dimension = content.embeddings.shape[1]
    if dimension != model.config.dim:
        raise InputError(
            f"{file}: vectors of {dimension} dimensions, but {content.model} has {model.config.dim}"
        )
    return model
