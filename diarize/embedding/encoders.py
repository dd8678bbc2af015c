"""Whichever speaker encoder a name means: one that ships, weights of one's own, an ONNX file.

`NAME.onnx` takes g from `NAME.safetensors` beside it; a file of g alone stands for the network that
it was fitted to, which lies beside it.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path

from diarize.embedding.encoder import SpeakerEncoder
from diarize.embedding.fitted import KEY, header_of, load_fitted
from diarize.embedding.foreign import ForeignEncoder
from diarize.embedding.weights import find_model, load_model
from diarize.errors import InputError
from diarize.storage.files import file_sha256
from diarize.storage.onnx_network import SUFFIX, require_onnx
from diarize.storage.weights import DEFAULT_MODEL
from diarize.torch_modes import usual_modes


def foreign_files(name: str | Path) -> tuple[Path, Path | None] | None:
    """The network that a name means, and the file of its g; None: one of ours.

    Raises:
        InputError: no such model, or a g whose network is not beside it.
    """
    path = find_model(name)
    if path.suffix.lower() == SUFFIX:
        beside = path.with_suffix(".safetensors")
        return path, beside if beside.is_file() else None
    header = header_of(path)
    if KEY not in header:
        return None
    try:
        network = path.with_name(Path(str(json.loads(header[KEY])["network"])).name)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: a composition function that cannot be ({error})") from None
    if not network.is_file():
        raise InputError(f"{path}: g for {network.name}, which is not beside it")
    return network, path


@usual_modes()
def load_encoder(name: str | Path = DEFAULT_MODEL, device: str = "cpu") -> SpeakerEncoder:
    """Load an encoder, ready for inference.

    Warns where a network of others has no g.

    Args:
        name: a shipped model's name, or the path of a weights file or of an ONNX file.
        device: where to put it.

    Raises:
        InputError: no such model, or a file that cannot be used.
    """
    files = foreign_files(name)
    if files is None:
        return load_model(name, device)
    network, composition = files
    require_onnx(network)
    if composition is None:
        encoder = ForeignEncoder(network, None, device)
        warnings.warn(
            f"{network}: no {network.stem}.safetensors beside it: the mean of two voices stands "
            "for both of them; `diarize train composition` does better",
            stacklevel=2,
        )
        return encoder
    fitted = load_fitted(composition)
    if fitted.sha256 != file_sha256(network):
        raise InputError(f"{composition}: g for another network than {network.name} beside it")
    return ForeignEncoder(network, fitted, device)


def identity(name: str | Path) -> str:
    """Name an encoder by the content of all its files.

    Raises:
        InputError: there is no such model.
    """
    files = foreign_files(name)
    if files is None:
        return file_sha256(find_model(name))
    network, composition = files
    require_onnx(network)
    told = network.with_suffix(".toml")
    parts = [network, *([told] if told.is_file() else []), *([composition] if composition else [])]
    return hashlib.sha256("".join(file_sha256(part) for part in parts).encode()).hexdigest()
