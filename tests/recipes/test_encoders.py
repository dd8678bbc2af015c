"""Resemblyzer's encoder as an ONNX graph, with drawn weights, beside torch and librosa."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import librosa
import numpy as np
import pytest
import torch
from torch import nn

from diarize.embedding.foreign import ForeignEncoder


class Encoder(nn.Module):
    """As the package defines it: of mel bands, the last output, a linear layer and a ReLU."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(40, 256, 3, batch_first=True)
        self.linear = nn.Linear(256, 256)

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        _, (hidden, _) = self.lstm(mel)
        positive = self.linear(hidden[-1]).relu()
        return positive / positive.norm(dim=1, keepdim=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_graph_is_the_encoder_behind_its_mel_bands(
    recipe_module: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    recipe = recipe_module("encoders/export_resemblyzer.py")
    torch.manual_seed(0)
    encoder = Encoder().eval()
    state = {name: value.numpy() for name, value in encoder.state_dict().items()}
    path = tmp_path / "resemblyzer.onnx"
    path.write_bytes(recipe.graph(state).SerializeToString())
    foreign = ForeignEncoder(path)
    rng = np.random.default_rng(0)
    windows = (rng.normal(size=(2, 20_800)) * [[0.001], [0.3]]).astype(np.float32)
    mels = []
    for window in windows:
        loud = window * (10 ** (-30 / 20) / np.sqrt(np.square(window).mean()))
        mels.append(librosa.feature.melspectrogram(
            y=loud, sr=16_000, n_fft=400, hop_length=160, n_mels=40
        ).T)  # fmt: skip
    with torch.inference_mode():
        expected = encoder(torch.from_numpy(np.stack(mels))).numpy()
    found = foreign.own_vectors(windows.reshape(2, -1, 160))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert foreign.family.framework == "samples" and foreign.dim == 256
