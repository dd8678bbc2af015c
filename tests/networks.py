"""Small ONNX networks with the inputs, outputs and metadata of those that people have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

HEADER = '<ir_version: 8, opset_import: ["": 18]>'
DIM = 16

SAMPLES = """
    f (float[batch, samples] x) => (float[batch, 16] vectors) {
        channel = Unsqueeze (x, one)
        waves = Conv <strides = [32]> (channel, kernel)
        sizes = Abs (waves)
        vectors = ReduceMean <keepdims = 0> (sizes, two)
    }
"""

BANDS = """
    f (float[batch, frames, 80] x) => (float[batch, 16] embs) {
        seen = MatMul (x, weight)
        bent = Tanh (seen)
        embs = ReduceMean <keepdims = 0> (bent, one)
    }
"""

NEMO = """
    f (float[batch, 80, frames] audio_signal, int64[batch] length)
        => (float[batch, 5] logits, float[batch, 16] embs) {
        rows = Transpose <perm = [0, 2, 1]> (audio_signal)
        seen = MatMul (rows, weight)
        bent = Tanh (seen)
        sum = ReduceSum <keepdims = 0> (bent, one)
        many = Cast <to = 1> (length)
        column = Unsqueeze (many, one)
        embs = Div (sum, column)
        logits = MatMul (embs, classes)
    }
"""

SEGMENTATION = """
    f (float[N, 1, T] x) => (float[N, frames, 7] y) {
        sizes = Abs (x)
        level = AveragePool <kernel_shape = [991], strides = [270]> (sizes)
        column = Transpose <perm = [0, 2, 1]> (level)
        scaled = MatMul (column, slopes)
        scores = Add (scaled, offsets)
        y = LogSoftmax <axis = -1> (scores)
    }
"""

WESPEAKER = {"framework": "wespeaker", "sample_rate": 16000, "output_dim": 16}
SPEAKER_3D = {
    "framework": "3d-speaker", "sample_rate": 16000, "output_dim": 16, "normalize_samples": 1,
    "feature_normalize_type": "global-mean",
}  # fmt: skip
TITANET = {
    "framework": "nemo", "sample_rate": 16000, "output_dim": 16, "feat_dim": 80,
    "feature_normalize_type": "per_feature", "window_size_ms": 25, "window_stride_ms": 10,
    "window_type": "hann",
}  # fmt: skip
PYANNOTE = {
    "num_speakers": 3, "powerset_max_classes": 2, "num_classes": 7, "sample_rate": 16000,
    "window_size": 160000, "receptive_field_size": 991, "receptive_field_shift": 270,
}  # fmt: skip


def write(path: Path, text: str, told: Mapping[str, Any] | None = None, **more: Any) -> Path:
    """Write a network with drawn weights, or the constants that are given."""
    rng = np.random.default_rng(0)
    constants = {
        "one": np.array([1], np.int64),
        "two": np.array([2], np.int64),
        "kernel": rng.normal(0, 0.2, (DIM, 1, 64)),
        "weight": rng.normal(0, 0.2, (80, DIM)),
        "classes": rng.normal(0, 1, (DIM, 5)),
        # The louder it is, the more speak: nobody, the second of three, the first with the third.
        "slopes": np.array([[0.0, 200, 400, 200, 400, 600, 400]]),
        "offsets": np.array([0, -60, -6, -60, -60, -30, -60.0]),
    } | more
    model = onnx.parser.parse_model(f"{HEADER}\n{text}")
    for name, value in constants.items():
        if name in text:
            kind = value.dtype if value.dtype == np.int64 else np.float32
            model.graph.initializer.append(
                onnx.numpy_helper.from_array(np.asarray(value, kind), name)
            )
    onnx.helper.set_model_props(model, {key: str(value) for key, value in (told or {}).items()})
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString(deterministic=True))
    return path
