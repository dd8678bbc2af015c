"""What is tuned on: vectors with their true sets, or recordings with their turns; g for vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from diarize.clustering.composition import PLAIN
from diarize.embedding import SpeakerEncoder, load_encoder
from diarize.embedding.encoders import identity
from diarize.errors import InputError, require_one_of
from diarize.formats.embeddings import Embeddings, read_embeddings
from diarize.formats.sets import read_sets
from diarize.scatter import Scatter
from diarize.tuning.trials import Trial


def require_composition(name: str) -> None:
    """Raise InputError for an unknown name."""
    require_one_of("compose", name, ("model", *PLAIN))


def composition(name: str, content: Embeddings, file: Path) -> Any:
    """Find g.

    Raises:
        InputError: an unknown name, or a model that is not named or not the one at hand.
    """
    require_composition(name)
    if name in PLAIN:
        return PLAIN[name]
    if content.model is None:
        raise InputError(
            f"{file}: no model is named in it; give --compose {', '.join(PLAIN)}, or "
            "--max-set-size 1"
        )
    return _model(content, file).compose


def scatter_of(content: Embeddings, file: Path, note: Callable[[str], None]) -> Scatter | None:
    """What is known of how the vectors scatter; None: they come from no model that is here.

    `note` is told so where they name one.
    """
    if content.model is None:
        return None
    try:
        return _model(content, file).knowledge.scatter
    except InputError as error:
        note(f"{error}: clustered as vectors of which nothing is known")
        return None


def _model(content: Embeddings, file: Path) -> SpeakerEncoder:
    """The model that the vectors name.

    Raises:
        InputError: it is not here, or another one.
    """
    assert content.model is not None
    model = load_encoder(content.model)
    if content.model_sha256 not in (None, identity(content.model)):
        raise InputError(f"{file}: made with other weights than those of {content.model} here")
    dimension = content.embeddings.shape[1]
    if dimension != model.dim:
        raise InputError(
            f"{file}: vectors of {dimension} dimensions, but {content.model} has {model.dim}"
        )
    return model


def hold_recordings(folders: Sequence[Path]) -> bool:
    """Whether the folders hold recordings, rather than vectors.

    Raises:
        InputError: not a folder, or folders that hold both or neither.
    """
    kinds = set()
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"{folder}: {'not a' if folder.exists() else 'no such'} folder")
        here = {".npz": "vectors", ".rttm": "recordings"}
        suffixes = {path.suffix for path in folder.iterdir()} & here.keys()
        if not suffixes:
            raise InputError(f"{folder}: neither NAME.npz with NAME.json nor NAME.rttm in it")
        kinds |= {here[suffix] for suffix in suffixes}
    if len(kinds) > 1:
        raise InputError(f"{folders[0]}: tune on vectors or on recordings, not on both at once")
    return kinds == {"recordings"}


def read_trials(
    folders: Sequence[Path], compose: str | None, note: Callable[[str], None]
) -> tuple[list[Trial], Any]:
    """Read NAME.npz with NAME.json.

    Raises:
        InputError: a file that cannot be used, or, where g is the model's, several models.
    """
    trials = []
    g, first = None, None
    scatters: dict[Any, Any] = {}  # of each model
    for file in (f for d in folders for f in sorted(d.iterdir()) if f.suffix == ".npz"):
        content = read_embeddings(file)
        maker = (content.model, content.model_sha256)
        if first is None:
            first = maker
            g = None if compose is None else composition(compose, content, file)
        elif compose == "model" and maker != first:
            raise InputError(f"{file}: made with another model than the files before it")
        truth = read_sets(file.with_suffix(".json"))
        if maker not in scatters:
            scatters[maker] = scatter_of(content, file, note)
        trials.append(Trial(str(file), content.embeddings, truth, scatters[maker]))
    return trials, g
