"""SplitNet's weights on disk: safetensors in half precision, the sizes in the header."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

import torch

from diarize.clustering.splitnet.network import SplitNet, SplitNetConfig
from diarize.storage.weights import models_folder, require_whole, sealed

CONFIG = "diarize.splitnet"  # key of the header under which the sizes stand
DIMENSIONS = (2, 10, 20)
"""For which there are weights (where they ship)."""


def shipped_splitnet(dimension: int) -> Path:
    """Where the weights for D-dimensional rows ship."""
    return models_folder() / "dpgmm" / f"splitnet-{dimension}.safetensors"


def packed(network: SplitNet) -> bytes:
    """The content of a weights file, in float16."""
    from safetensors.torch import save

    tensors = {
        name: value.detach().to(torch.float16).contiguous()
        for name, value in network.state_dict().items()
    }
    return sealed(save(tensors, metadata={CONFIG: json.dumps(asdict(network.config))}))


@cache
def load_splitnet(path: Path) -> SplitNet:
    """Read the weights, ready for inference.

    Raises:
        ValueError: no such file, or one that is damaged or made for something else.
    """
    from safetensors import SafetensorError, safe_open

    try:
        require_whole(path)
        with safe_open(path, framework="pt") as file:
            header = (file.metadata() or {}).get(CONFIG)
            if header is None:
                raise ValueError(f"{path}: not a SplitNet (no configuration in it)")
            config = SplitNetConfig(**json.loads(header))
            tensors = {key: file.get_tensor(key).float() for key in file.keys()}  # noqa: SIM118
        if config.encoders + config.decoders > len(tensors):
            raise ValueError(f"{path}: a damaged weights file (it holds fewer layers than it says)")
        # A file of a few bytes may claim any sizes: nothing is allocated before tensors fit them.
        with torch.device("meta"):
            network = SplitNet(config)
        network.load_state_dict(tensors, assign=True)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except (SafetensorError, RuntimeError, TypeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{path}: a damaged weights file ({reason})") from None
    return network.eval().requires_grad_(False)
