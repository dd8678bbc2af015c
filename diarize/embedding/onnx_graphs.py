"""f and g as ONNX graphs, for those who run them without torch.

The graphs are written out here: traced, f would take windows of one length only, and the exporter
of torch 2.13 gives up on an LSTM over a free number of steps (and needs onnxscript).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32

from diarize.embedding.model import (
    LEAST_VARIANCE,
    TIMBRE,
    CompositionalEmbedding,
    EmbeddingConfig,
    Encoder,
)
from diarize.errors import extra
from diarize.features import N_COEFFICIENTS

if TYPE_CHECKING:
    import onnx

Tensors = Mapping[str, np.ndarray]

_HEADER = '<ir_version: 8, opset_import: ["": 18]>'

# Means over the window's steps, with weights that depend on what is heard and where (pool), and the
# last layer (locate). Time is the first axis from the LSTM on.
_ENCODER = """
    {header}
    f (float[batch, frames, {coefficients}] features) => (float[batch, {dim}] vectors) {{
        frames = Shape <start = 1, end = 2> (features)
        steps = Div (frames, stack)
        whole = Mul (steps, stack)
        cut = Slice (features, zero, whole, one)
        average = ReduceMean <keepdims = 1> (cut, one)
        around = Sub (cut, average)
        scaled = Div (around, spread)
        stacked = Reshape (scaled, grouping)
        colour = Slice (average, one, all, two)
        centred = Sub (colour, average_centre)
        timbre = Div (centred, average_spread)
        times = Concat <axis = 0> (one, steps, one)
        beside = Expand (timbre, times)
        read = Concat <axis = 2> (stacked, beside)
        heard_0 = Transpose <perm = [1, 0, 2]> (read)
        {layers}
        scored = MatMul (heard_{last}, score_weight)
        sizes = Concat <axis = 0> (one, one, steps)
        curve = Resize <mode = "linear", coordinate_transformation_mode = "align_corners">
            (place, , , sizes)
        by_place = Reshape (curve, column)
        biased = Add (scored, score_bias)
        preferred = Add (biased, by_place)
        weights = Softmax <axis = 0> (preferred)
        weighted = Mul (heard_{last}, weights)
        mean = ReduceSum <keepdims = 0> (weighted, zero)
        weighted_squares = Mul (weighted, heard_{last})
        square = ReduceSum <keepdims = 0> (weighted_squares, zero)
        squared_mean = Mul (mean, mean)
        difference = Sub (square, squared_mean)
        variance = Relu (difference)
        some_variance = Add (variance, least_variance)
        deviation = Sqrt (some_variance)
        frames_around = Slice (around, one, all, two)
        frames_by_step = Reshape (frames_around, frame_grouping)
        per_step = ReduceMean <keepdims = 0> (frames_by_step, two)
        by_time = Transpose <perm = [1, 0, 2]> (per_step)
        weighted_frames = Mul (by_time, weights)
        frame = ReduceSum <keepdims = 0> (weighted_frames, zero)
        scaled_frame = Div (frame, average_spread)
        own_timbre = Squeeze (timbre, one)
        coloured = Add (scaled_frame, own_timbre)
        pooled = Concat <axis = 1> (mean, deviation, coloured)
        located = Gemm <transB = 1> (pooled, project_weight, project_bias)
        vectors = LpNormalization <axis = -1, p = 2> (located)
    }}
"""

_LAYER = """
        states_{after} = LSTM <hidden_size = {hidden}>
            (heard_{before}, input_{before}, recurrent_{before}, bias_{before})
        heard_{after} = Squeeze (states_{after}, one)
"""

# g(a, b) = W1 a + W1 b + W2 (a * b), brought back to the sphere.
_COMPOSITION = """
    {header}
    g (float[batch, {dim}] a, float[batch, {dim}] b) => (float[batch, {dim}] vectors) {{
        sum = Add (a, b)
        product = Mul (a, b)
        linear = Gemm <transB = 1> (sum, w1)
        composed = Gemm <transB = 1> (product, w2, linear)
        vectors = LpNormalization <axis = -1, p = 2> (composed)
    }}
"""


# Beside what each branch makes, under its own prefix: their vectors, joined.
_JOIN = """
    {header}
    f (float[batch, frames, {coefficients}] features, {inputs}) => (float[batch, {dim}] vectors) {{
        side_by_side = Concat <axis = 1> ({names})
        {join}
        vectors = LpNormalization <axis = -1, p = 2> (joined)
    }}
"""


def encoder_graph(model: CompositionalEmbedding) -> onnx.ModelProto:
    """f: `features` (batch, frames, 32), MFCC, to unit `vectors` (batch, dim).

    Both batch and frames are free; there are at least `stack` frames.

    Raises:
        InputError: onnx is not installed.
    """
    config, encoders = model.config, model.encode.encoders
    if len(encoders) == 1:
        return _checked(_branch(encoders[0], config), config)
    prefixes = [f"branch_{i}_" for i in range(len(encoders))]
    names = [f"{prefix}vectors" for prefix in prefixes]
    text = _JOIN.format(
        header=_HEADER,
        coefficients=N_COEFFICIENTS,
        dim=config.dim,
        inputs=", ".join(f"float[batch, {config.own}] {name}" for name in names),
        names=", ".join(names),
        join="joined = Gemm <transB = 1> (side_by_side, join_weight)"
        if config.part
        else "joined = Identity (side_by_side)",
    )
    join_weight = {"join_weight": _weights(model.encode)["join.weight"]} if config.part else {}
    whole = _parsed(text, join_weight)
    from onnx.compose import add_prefix

    join = list(whole.graph.node)
    del whole.graph.node[:], whole.graph.input[1:]
    for encoder, prefix in zip(encoders, prefixes, strict=True):
        own = add_prefix(_branch(encoder, config), prefix, rename_inputs=False)
        whole.graph.node.extend(own.graph.node)
        whole.graph.initializer.extend(own.graph.initializer)
    whole.graph.node.extend(join)
    return _checked(whole, config)


def _branch(encoder: Encoder, config: EmbeddingConfig) -> onnx.ModelProto:
    weights = _weights(encoder)
    layers = "".join(
        _LAYER.format(before=i, after=i + 1, hidden=config.hidden) for i in range(config.layers)
    )
    text = _ENCODER.format(
        header=_HEADER,
        coefficients=N_COEFFICIENTS,
        dim=config.own,
        layers=layers,
        last=config.layers,
    )
    constants: dict[str, np.ndarray] = {
        "zero": np.array([0], np.int64),
        "one": np.array([1], np.int64),
        "two": np.array([2], np.int64),
        "all": np.array([N_COEFFICIENTS], np.int64),
        "stack": np.array([config.stack], np.int64),
        "grouping": np.array([0, -1, N_COEFFICIENTS * config.stack], np.int64),
        "frame_grouping": np.array([0, -1, config.stack, TIMBRE], np.int64),
        "least_variance": np.array([LEAST_VARIANCE], np.float32),
        "column": np.array([-1, 1, 1], np.int64),
        "spread": weights["spread"],
        "average_centre": weights["average_centre"],
        "average_spread": weights["average_spread"],
        "place": weights["place"][None, None],
        "score_weight": weights["score.weight"].T,
        "score_bias": weights["score.bias"],
        "project_weight": weights["project.weight"],
        "project_bias": weights["project.bias"],
    }
    for i in range(config.layers):
        constants[f"input_{i}"] = _gates(weights[f"lstm.weight_ih_l{i}"])[None]
        constants[f"recurrent_{i}"] = _gates(weights[f"lstm.weight_hh_l{i}"])[None]
        biases = [_gates(weights[f"lstm.bias_{kind}_l{i}"]) for kind in ("ih", "hh")]
        constants[f"bias_{i}"] = np.concatenate(biases)[None]
    return _parsed(text, constants)


def composition_graph(model: CompositionalEmbedding) -> onnx.ModelProto:
    """g: unit vectors `a` and `b` (batch, dim) to the unit `vectors` of their unions.

    Raises:
        InputError: onnx is not installed.
    """
    weights = _weights(model.compose)
    text = _COMPOSITION.format(header=_HEADER, dim=model.config.dim)
    graph = _parsed(text, {"w1": weights["w1.weight"], "w2": weights["w2.weight"]})
    return _checked(graph, model.config)


def _weights(module: Any) -> dict[str, Float32[np.ndarray, "..."]]:
    return {name: value.float().cpu().numpy() for name, value in module.state_dict().items()}


def _gates(rows: Float32[np.ndarray, "gates ..."]) -> Float32[np.ndarray, "gates ..."]:
    """Bring the gates of an LSTM from torch's order (input, forget, cell, output) to ONNX's."""
    i, f, c, o = np.split(rows, 4)
    return np.concatenate([i, o, f, c])


def _parsed(text: str, constants: Tensors) -> onnx.ModelProto:
    extra("onnx", "ONNX graphs need onnx", "onnx")
    import onnx.numpy_helper
    import onnx.parser

    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.ascontiguousarray(value), name)
        for name, value in constants.items()
    )
    return model


def _checked(model: onnx.ModelProto, config: EmbeddingConfig) -> onnx.ModelProto:
    import onnx.checker
    import onnx.helper

    onnx.helper.set_model_props(
        model, {f"diarize.{key}": str(value) for key, value in asdict(config).items()}
    )
    onnx.checker.check_model(model, full_check=True)
    return model
