"""A small network that hears how many voices there are: none, one, two, three or more.

The spectra of two instants of 20 ms (`diarize/activity/spectra.py`) and silero-vad's word on the
same 40 ms pass through a linear layer and three bidirectional LSTM layers; each step answers for
both instants.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from diarize.activity.spectra import BANDS

MOST = 3  # voices; more count as so many


@dataclass(frozen=True)
class CounterConfig:
    """Sizes of the network."""

    bands: int = BANDS  # numbers that are seen of an instant
    stack: int = 2  # instants of 20 ms in one step, for each of which it answers
    hints: int = 2  # values of silero-vad in one step
    width: int = 192  # outputs of the linear layer before the LSTM
    hidden: int = 128  # units of each direction
    layers: int = 3  # of the LSTM


class VoiceCounter(nn.Module):
    """Log-probabilities of 0, 1, 2, 3 or more voices every 20 ms."""

    def __init__(self, config: CounterConfig) -> None:
        super().__init__()
        self.config = config
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.zeros(config.bands))
        self.register_buffer("deviation", torch.ones(config.bands))
        self.enter = nn.Linear(config.bands * config.stack + config.hints, config.width)
        self.norm = nn.LayerNorm(config.width)
        self.lstm = nn.LSTM(
            config.width, config.hidden, config.layers, batch_first=True, bidirectional=True
        )
        self.leave = nn.Linear(2 * config.hidden, config.stack * (MOST + 1))

    def forward(
        self, spectra: Float[Tensor, "b instants bands"], hints: Float[Tensor, "b steps hints"]
    ) -> Float[Tensor, "b instants 4"]:
        """Count voices.

        Args:
            spectra: of `stack` instants for each step.
            hints: silero-vad's log-odds of speech.

        Returns:
            Unnormalised log-probabilities.
        """
        steps = hints.shape[1]
        seen = (spectra - self.mean) / self.deviation  # (b, instants, bands)
        seen = seen.reshape(len(seen), steps, -1)  # (b, steps, stack * bands)
        entered = self.norm(torch.relu(self.enter(torch.cat([seen, hints], dim=2))))
        heard, _ = self.lstm(entered)  # (b, steps, 2 * hidden)
        return self.leave(heard).reshape(len(seen), -1, MOST + 1)
