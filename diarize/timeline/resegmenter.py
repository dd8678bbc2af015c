"""A small network that says for each speaker when exactly they are heard.

All speakers pass through the same two bidirectional layers; between them each one learns what the
others do. So there may be any number of speakers, in any order.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor, nn

from diarize.errors import InputError
from diarize.storage.files import write_weights
from diarize.storage.weights import last_line, models_folder, read_weights
from diarize.timeline.evidence import OF_CELL, OF_SPEAKER, SLICES, Evidence
from diarize.torch_modes import usual_modes

SEEN = OF_CELL + OF_SPEAKER  # numbers of one speaker in one cell, those of the speaker last
HIDDEN = 48  # units of each direction
DROPPED = 0.3  # of what layers pass on, in training
SPAN = 512  # cells, 100 s, that are answered at a time
CONTEXT = 64  # cells seen on either side of them
ROWS = 8  # spans that are seen at once


class Resegmenter(nn.Module):
    """Log odds that each speaker is heard in each slice of a cell."""

    def __init__(self) -> None:
        super().__init__()
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.zeros(SEEN))
        self.register_buffer("deviation", torch.ones(SEEN))
        self.enter = nn.Linear(SEEN, HIDDEN)
        self.alone = nn.GRU(HIDDEN, HIDDEN, batch_first=True, bidirectional=True)
        self.together = nn.GRU(6 * HIDDEN, HIDDEN, batch_first=True, bidirectional=True)
        self.leave = nn.Linear(2 * HIDDEN, SLICES)
        self.drop = nn.Dropout(DROPPED)
        self.trust = nn.Parameter(torch.tensor(2.0))  # in what was decoded, log odds

    def forward(self, seen: Float[Tensor, "b k n seen"]) -> Float[Tensor, "b k n slices"]:
        """Answer for k speakers of each of b recordings."""
        b, k, n, _ = seen.shape
        entered = self.drop(torch.relu(self.enter((seen - self.mean) / self.deviation)))
        own, _ = self.alone(entered.reshape(b * k, n, -1))
        own = own.reshape(b, k, n, -1)
        everything = self.drop(torch.cat([own, *of_others(own)], dim=3))
        both, _ = self.together(everything.reshape(b * k, n, -1))
        decoded = 2 * seen[..., -SLICES:] - 1
        return self.leave(self.drop(both)).reshape(b, k, n, SLICES) + self.trust * decoded

    @torch.no_grad()
    def log_odds(self, evidence: Evidence) -> Float32[np.ndarray, "slices k"]:
        """The same of one recording, of any length."""
        k, n, _ = evidence.of_speakers.shape
        found = np.zeros((k, n, SLICES), np.float32)
        length = SPAN + 2 * CONTEXT
        last = max(n - length, 0)
        begins = [*range(0, last, SPAN), last]
        for first in range(0, len(begins), ROWS):
            group = begins[first : first + ROWS]
            answers = self(torch.stack([seen(evidence, slice(i, i + length)) for i in group]))
            for i, odds in zip(group, answers, strict=True):
                own = CONTEXT if i else 0  # what comes before has been answered
                found[:, i + own : i + length] = odds[:, own:].numpy()
        return found.reshape(k, -1).T


def of_others(
    own: Float[Tensor, "b k n h"],
) -> tuple[Float[Tensor, "b k n h"], Float[Tensor, "b k n h"]]:
    """The largest and the mean of what is known of all other speakers; of nobody, nothing is."""
    k = own.shape[1]
    if k == 1:
        return torch.zeros_like(own), torch.zeros_like(own)
    best = own.topk(2, dim=1).values
    first, second = best[:, :1], best[:, 1:]
    return (
        torch.where(own == first, second, first),
        (own.sum(dim=1, keepdim=True) - own) / (k - 1),
    )


def seen(evidence: Evidence, cells: slice) -> Float[Tensor, "k n seen"]:
    """What the network sees of some cells."""
    of_speakers = torch.from_numpy(evidence.of_speakers[:, cells])
    of_cells = torch.from_numpy(evidence.of_cells[cells])
    return torch.cat([of_cells.expand(len(of_speakers), -1, -1), of_speakers], dim=2)


def shipped_resegmenter() -> Path:
    """Where the weights that ship are."""
    return models_folder() / "timeline" / "resegmenter.safetensors"


@lru_cache(maxsize=1)
@usual_modes()
def load_resegmenter(path: Path | None = None) -> Resegmenter:
    """Load the network, ready for inference, once: the shipped weights, or those of a file.

    Raises:
        InputError: no such weights, or a file that is damaged or made for something else.
    """
    path = path or shipped_resegmenter()
    _, tensors = read_weights(path)
    network = Resegmenter()
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise InputError(
            f"{path}: weights that do not fit the network ({last_line(error)})"
        ) from None
    return network.eval().requires_grad_(False)


def save_resegmenter(network: Resegmenter, path: Path) -> None:
    """Write the network's weights, whole or not at all."""
    write_weights(path, network.state_dict(), {})
