"""A small network that hears how many voices there are: none, one, two, three or more.

Log-mel bands of four frames of 10 ms and silero-vad's word on the same 40 ms pass through a linear
layer and two bidirectional LSTM layers; each step answers for two instants of 20 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

MOST = 3  # voices; more count as so many


@dataclass(frozen=True)
class CounterConfig:
    """Sizes of the network."""

    bands: int = 64  # mel bands of a frame
    stack: int = 4  # frames of 10 ms in one step
    answers: int = 2  # instants that a step answers for
    hints: int = 2  # values of silero-vad in one step
    width: int = 192  # outputs of the linear layer before the LSTM
    hidden: int = 128  # units of each direction
    layers: int = 2  # of the LSTM


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
        self.leave = nn.Linear(2 * config.hidden, config.answers * (MOST + 1))

    def forward(
        self, mel: Float[Tensor, "b frames bands"], hints: Float[Tensor, "b steps hints"]
    ) -> Float[Tensor, "b answers 4"]:
        """Count voices.

        Args:
            mel: log-mel bands, `stack` frames for each step.
            hints: silero-vad's log-odds of speech.

        Returns:
            Unnormalised log-probabilities, `answers` for each step.
        """
        steps = hints.shape[1]
        seen = (mel - self.mean) / self.deviation  # (b, frames, bands)
        seen = seen.reshape(len(mel), steps, -1)  # (b, steps, stack * bands)
        entered = self.norm(torch.relu(self.enter(torch.cat([seen, hints], dim=2))))
        heard, _ = self.lstm(entered)  # (b, steps, 2 * hidden)
        return self.leave(heard).reshape(len(mel), -1, MOST + 1)
