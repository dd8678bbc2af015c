"""Resemblyzer's speaker encoder as an ONNX file.

    python recipes/encoders/export_resemblyzer.py resemblyzer.onnx

The package (Apache-2.0, extra `teacher`) brings its weights: an LSTM of 3 layers with 256 units,
trained with GE2E on LibriSpeech and VoxCeleb, thousands of voices. Its front end goes into the
graph: windows of samples are brought to -30 dBFS, 40 mel bands of 25 ms every 10 ms as librosa
makes them, no logarithm; the last output of the LSTM passes a linear layer and a ReLU.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import librosa
import numpy as np
import onnx
import onnx.checker
import onnx.helper
import onnx.numpy_helper
import onnx.parser
import torch
from scipy.signal.windows import hann

from diarize.storage.files import atomic_output

RATE, N_FFT, STEP, BANDS = 16_000, 400, 160, 40
HIDDEN, LAYERS = 256, 3
LEVEL = 10 ** (-30 / 20)  # root mean square to which the package brings what is quieter
QUIETEST = 1e-5  # root mean square below which nothing is raised any further

GRAPH = """
    <ir_version: 8, opset_import: ["": 18]>
    resemblyzer (float[batch, samples] samples) => (float[batch, 256] vectors) {
        squares = Mul (samples, samples)
        power = ReduceMean <keepdims = 1> (squares, one)
        loudness = Sqrt (power)
        audible = Max (loudness, quietest)
        gain = Div (level, audible)
        levelled = Mul (samples, gain)
        channel = Unsqueeze (levelled, one)
        waves = Conv <strides = [160], pads = [200, 200]> (channel, waves_weight)
        energies = Mul (waves, waves)
        cosines, sines = Split <axis = 1, num_outputs = 2> (energies)
        spectrum = Add (cosines, sines)
        mel = MatMul (bands, spectrum)
        heard_0 = Transpose <perm = [2, 0, 1]> (mel)
        LAYERS
        last = Squeeze (final_3, zero)
        linear = Gemm <transB = 1> (last, linear_weight, linear_bias)
        positive = Relu (linear)
        vectors = LpNormalization <axis = -1, p = 2> (positive)
    }
"""

LAYER = """
        states_{after}, final_{after} = LSTM <hidden_size = 256>
            (heard_{before}, input_{before}, recurrent_{before}, bias_{before})
        heard_{after} = Squeeze (states_{after}, one)
"""


def weights() -> dict[str, np.ndarray]:
    """The weights that the package brings; it is not imported, since it wants a detector too."""
    package = find_spec("resemblyzer")
    assert package is not None and package.submodule_search_locations, "pip install resemblyzer"
    path = Path(package.submodule_search_locations[0]) / "pretrained.pt"
    state = torch.load(path, map_location="cpu", weights_only=True)["model_state"]
    return {name: value.numpy() for name, value in state.items()}


def graph(state: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Samples, (batch, samples) at 16 kHz, to unit vectors."""
    text = GRAPH.replace(
        "LAYERS", "".join(LAYER.format(before=i, after=i + 1) for i in range(LAYERS))
    )
    angles = 2 * np.pi / N_FFT * np.outer(np.arange(N_FFT // 2 + 1), np.arange(N_FFT))
    waves = np.concatenate([np.cos(angles), np.sin(angles)]) * hann(N_FFT, sym=False)
    constants = {
        "zero": np.array([0], np.int64),
        "one": np.array([1], np.int64),
        "level": np.array([LEVEL], np.float32),
        "quietest": np.array([QUIETEST], np.float32),
        "waves_weight": waves[:, None].astype(np.float32),
        "bands": librosa.filters.mel(sr=RATE, n_fft=N_FFT, n_mels=BANDS),
        "linear_weight": state["linear.weight"],
        "linear_bias": state["linear.bias"],
    }
    for i in range(LAYERS):
        constants[f"input_{i}"] = gates(state[f"lstm.weight_ih_l{i}"])[None]
        constants[f"recurrent_{i}"] = gates(state[f"lstm.weight_hh_l{i}"])[None]
        both = [gates(state[f"lstm.bias_{kind}_l{i}"]) for kind in ("ih", "hh")]
        constants[f"bias_{i}"] = np.concatenate(both)[None]
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.ascontiguousarray(value), name)
        for name, value in constants.items()
    )
    told = {
        "framework": "samples",
        "sample_rate": "16000",
        "output_dim": "256",
        "license": "Apache-2.0",
    }
    onnx.helper.set_model_props(model, told)
    onnx.checker.check_model(model, full_check=True)
    return model


def gates(rows: np.ndarray) -> np.ndarray:
    """Bring the gates of an LSTM from torch's order (input, forget, cell, output) to ONNX's."""
    i, f, c, o = np.split(rows, 4)
    return np.concatenate([i, o, f, c])


def main(out: Path) -> None:
    """Write the file."""
    with atomic_output(out) as file:
        file.write(graph(weights()).SerializeToString(deterministic=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
