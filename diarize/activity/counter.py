"""A small network that hears how many voices there are: none, one, two, three or more.

The spectra of two instants of 20 ms (`diarize/activity/spectra.py`), as they are and as they stand
out of the seconds around, and silero-vad's word on the same 40 ms pass through a linear layer and
three bidirectional LSTM layers; each step answers for both instants, and says how surely it is a
voice that is heard, and no instrument.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from diarize.activity.spectra import BANDS

MOST = 3  # voices; more count as so many
AROUND = 128  # instants on either side, 2.56 s, among which a band stands out
LEAST_VARIANCE = 0.09  # of a band among them; of all training it is 1


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
        self.enter = nn.Linear(2 * config.bands * config.stack + config.hints, config.width)
        self.norm = nn.LayerNorm(config.width)
        self.lstm = nn.LSTM(
            config.width, config.hidden, config.layers, batch_first=True, bidirectional=True
        )
        self.leave = nn.Linear(2 * config.hidden, config.stack * (MOST + 1))
        self.voice = nn.Linear(2 * config.hidden, 1)  # fitted last; until then it says nothing
        nn.init.zeros_(self.voice.weight)
        nn.init.zeros_(self.voice.bias)

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
        return self.count(self.hear(spectra, hints))

    def count(self, heard: Float[Tensor, "b steps twice"]) -> Float[Tensor, "b instants 4"]:
        """The same from what the LSTM made of them."""
        return self.leave(heard).reshape(len(heard), -1, MOST + 1)

    def voiced(self, heard: Float[Tensor, "b steps twice"]) -> Float[Tensor, "b steps"]:
        """Log-odds that what is heard is a voice, and no instrument or machine; if anything is."""
        return self.voice(heard)[..., 0]

    def hear(
        self, spectra: Float[Tensor, "b instants bands"], hints: Float[Tensor, "b steps hints"]
    ) -> Float[Tensor, "b steps twice"]:
        """What the LSTM makes of spectra and hints, of which all answers are made."""
        steps = hints.shape[1]
        seen = (spectra - self.mean) / self.deviation  # (b, instants, bands)
        both = (x.reshape(len(x), steps, -1) for x in (seen, standing_out(seen)))
        entered = self.norm(torch.relu(self.enter(torch.cat([*both, hints], dim=2))))
        heard, _ = self.lstm(entered)  # (b, steps, 2 * hidden)
        return heard


def standing_out(seen: Float[Tensor, "b instants bands"]) -> Float[Tensor, "b instants bands"]:
    """Bring each band to mean 0 and variance 1 among the instants around, as far as there are any.

    So quiet speech between quiet instants looks as loud speech between loud ones does.
    """
    n = seen.shape[1]
    at = torch.arange(n, device=seen.device)
    count = ((at + AROUND + 1).clamp(max=n) - (at - AROUND).clamp(min=0))[:, None]

    def around(x: Tensor) -> Tensor:
        sums = pad(x, (0, 0, AROUND + 1, AROUND)).cumsum(dim=1)
        return (sums[:, 2 * AROUND + 1 :] - sums[:, :n]) / count

    seen = seen - seen.mean(dim=1, keepdim=True)  # keeps the sums small
    mean = around(seen)
    variance = (around(seen.square()) - mean.square()).clamp(min=LEAST_VARIANCE)
    return (seen - mean) * variance.rsqrt()
