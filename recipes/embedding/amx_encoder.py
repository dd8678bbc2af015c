"""f in bfloat16 on a processor, forward and backward: half of the time of torch's LSTM.

Products are torch's (fast where a processor multiplies matrices of bfloat16, as those with AMX do);
all else of a step is one pass over memory.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from jaxtyping import BFloat16, Float
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from torch import Tensor

from diarize.embedding.model import CompositionalEmbedding, Encoder

FAST = {"fastmath": True, "cache": True, "error_model": "numpy"}
f32, i32 = np.float32, np.int32
# Coefficients of 2^x around zero, from the second on.
POWERS = f32(0.69314718), f32(0.24022651), f32(0.05550357), f32(0.00961812), f32(0.00133336)


@intrinsic
def _bits(context: Any, number: Any) -> Any:
    """The bits of a float32 as an int32, or the other way round."""
    other = {types.float32: types.int32, types.int32: types.float32}[number]

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, numbers: Any) -> Any:
        return builder.bitcast(numbers[0], context.get_value_type(signature.return_type))

    return other(number), generate


@numba.njit(inline="always", **FAST)
def _wide(x):
    return _bits(i32(i32(x) << i32(16)))


@numba.njit(inline="always", **FAST)
def _narrow(x):
    bits = _bits(x)
    return np.uint16(i32(bits + i32(0x7FFF) + ((bits >> i32(16)) & i32(1))) >> i32(16))


@numba.njit(inline="always", **FAST)
def _exp(x):
    x = min(max(x, f32(-80)), f32(80)) * f32(1.44269504)
    whole = np.floor(x + f32(0.5))
    t = x - whole
    a, b, c, d, e = POWERS
    power = f32(1) + t * (a + t * (b + t * (c + t * (d + t * e))))
    return _bits(i32(_bits(power) + (i32(whole) << i32(23))))


@numba.njit(inline="always", **FAST)
def _sigmoid(x):
    return f32(1) / (f32(1) + _exp(-x))


@numba.njit(inline="always", **FAST)
def _tanh(x):
    return f32(2) / (f32(1) + _exp(f32(-2) * x)) - f32(1)


@numba.njit(inline="always", **FAST)
def _quarters(row):
    n = len(row) // 4
    return row[:n], row[n : 2 * n], row[2 * n : 3 * n], row[3 * n :]


@numba.njit(**FAST)
def _cell(gates, bias, before, cells, heard):
    """One step: `gates` (b, 4 n), of torch's order, become what is let through."""
    n = cells.shape[1]
    bias_i, bias_f, bias_z, bias_o = _quarters(bias)
    for r in range(len(cells)):
        row, was, cell, out = gates[r], before[r], cells[r], heard[r]
        row_i, row_f, row_z, row_o = _quarters(row)
        for k in range(n):
            i, f = _sigmoid(_wide(row_i[k]) + bias_i[k]), _sigmoid(_wide(row_f[k]) + bias_f[k])
            z, o = _tanh(_wide(row_z[k]) + bias_z[k]), _sigmoid(_wide(row_o[k]) + bias_o[k])
            now = f * was[k] + i * z
            cell[k] = now
            out[k] = _narrow(o * _tanh(now))
            row_i[k], row_f[k] = _narrow(i), _narrow(f)
            row_z[k], row_o[k] = _narrow(z), _narrow(o)


@numba.njit(**FAST)
def _cell_back(gates, before, cells, outer, inner, along, of_bias):
    """One step back: `gates` become their gradients, and `along` (of the cells) that of before."""
    n = cells.shape[1]
    of_i, of_f, of_z, of_o = _quarters(of_bias)
    for r in range(len(cells)):
        row, was, cell, passed = gates[r], before[r], cells[r], along[r]
        above, after = outer[r], inner[r]
        row_i, row_f, row_z, row_o = _quarters(row)
        for k in range(n):
            i, f, z, o = _wide(row_i[k]), _wide(row_f[k]), _wide(row_z[k]), _wide(row_o[k])
            t = _tanh(cell[k])
            heard = _wide(above[k]) + _wide(after[k])
            now = passed[k] + heard * o * (f32(1) - t * t)
            d_i, d_f = now * z * i * (f32(1) - i), now * was[k] * f * (f32(1) - f)
            d_z, d_o = now * i * (f32(1) - z * z), heard * t * o * (f32(1) - o)
            row_i[k], row_f[k] = _narrow(d_i), _narrow(d_f)
            row_z[k], row_o[k] = _narrow(d_z), _narrow(d_o)
            of_i[k] += d_i
            of_f[k] += d_f
            of_z[k] += d_z
            of_o[k] += d_o
            passed[k] = now * f


@numba.njit(**FAST)
def _pool(heard, score, place, weights, mean, square):
    """Mean and mean square over the steps, weighted by the softmax of their scores."""
    steps, rows, n = heard.shape
    for r in range(rows):
        weight, mean_r, square_r = weights[r], mean[r], square[r]
        for t in range(steps):
            row, total = heard[t, r], f32(0)
            for k in range(n):
                total += _wide(row[k]) * score[k]
            weight[t] = total + place[t]
        most, total = weight.max(), f32(0)
        for t in range(steps):
            weight[t] = _exp(weight[t] - most)
            total += weight[t]
        for t in range(steps):
            weight[t] /= total
            row, share = heard[t, r], weight[t]
            for k in range(n):
                value = _wide(row[k])
                mean_r[k] += share * value
                square_r[k] += share * value * value


@numba.njit(**FAST)
def _pool_back(heard, score, weights, d_mean, d_square, d_weights, d_heard, d_score, d_place):
    steps, rows, n = heard.shape
    for r in range(rows):
        d_mean_r, d_square_r, d_weight = d_mean[r], d_square[r], d_weights[r]
        expected = f32(0)
        for t in range(steps):
            row, total = heard[t, r], f32(0)
            for k in range(n):
                value = _wide(row[k])
                total += value * (d_mean_r[k] + value * d_square_r[k])
            d_weight[t] += total
            expected += weights[r, t] * d_weight[t]
        for t in range(steps):
            row, d_row, share = heard[t, r], d_heard[t, r], weights[r, t]
            scored = share * (d_weight[t] - expected)
            d_place[t] += scored
            for k in range(n):
                value = _wide(row[k])
                slope = share * (d_mean_r[k] + f32(2) * value * d_square_r[k])
                d_row[k] = _narrow(slope + scored * score[k])
                d_score[k] += scored * value


def _array(tensor: Tensor) -> np.ndarray:
    """The same memory; bfloat16 as uint16."""
    tensor = tensor.detach()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


class _Layer(torch.autograd.Function):
    """A layer of an LSTM: what enters it in each step, and what it hears then."""

    @staticmethod
    def forward(
        ctx: Any,
        x: BFloat16[Tensor, "steps b size"],
        w_x: Float[Tensor, "gates size"],
        w_h: Float[Tensor, "gates n"],
        bias: Float[Tensor, " gates"],
    ) -> BFloat16[Tensor, "steps b n"]:
        w_x, w_h = w_x.bfloat16(), w_h.bfloat16()
        steps, b, n = *x.shape[:2], w_h.shape[1]
        gates = (x.flatten(0, 1) @ w_x.T).unflatten(0, (steps, b))
        heard = x.new_empty(steps, b, n)
        cells = torch.zeros(steps + 1, b, n)
        across, offset = w_h.T.contiguous(), _array(bias)
        for t in range(steps):
            if t:
                gates[t].addmm_(heard[t - 1], across)
            _cell(_array(gates[t]), offset, *map(_array, (cells[t], cells[t + 1], heard[t])))
        ctx.save_for_backward(x, w_x, w_h, heard, gates, cells)
        return heard

    @staticmethod
    def backward(
        ctx: Any, d_heard: BFloat16[Tensor, "steps b n"]
    ) -> tuple[Tensor | None, Tensor, Tensor, Tensor]:
        x, w_x, w_h, heard, gates, cells = ctx.saved_tensors
        along, inner = torch.zeros_like(cells[0]), torch.zeros_like(heard[0])
        d_bias, outer = torch.zeros(gates.shape[-1]), d_heard.contiguous()
        for t in reversed(range(len(heard))):
            now = gates[t], cells[t], cells[t + 1], outer[t], inner, along, d_bias
            _cell_back(*map(_array, now))
            if t:
                torch.mm(gates[t], w_h, out=inner)
        slopes = gates.flatten(0, 1)
        d_x = (slopes @ w_x).view_as(x) if ctx.needs_input_grad[0] else None
        d_w_x = slopes.T @ x.flatten(0, 1)
        d_w_h = gates[1:].flatten(0, 1).T @ heard[:-1].flatten(0, 1)
        return d_x, d_w_x.float(), d_w_h.float(), d_bias


class _Pooled(torch.autograd.Function):
    """Mean and mean square over the steps, and the weights of the steps."""

    @staticmethod
    def forward(
        ctx: Any,
        heard: BFloat16[Tensor, "steps b n"],
        score: Float[Tensor, " n"],
        place: Float[Tensor, " steps"],
    ) -> tuple[Tensor, Tensor, Tensor]:
        steps, b, n = heard.shape
        weights, mean, square = torch.empty(b, steps), torch.zeros(b, n), torch.zeros(b, n)
        _pool(*map(_array, (heard, score, place, weights, mean, square)))
        ctx.save_for_backward(heard, score, weights)
        return mean, square, weights

    @staticmethod
    def backward(
        ctx: Any, d_mean: Tensor, d_square: Tensor, d_weights: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        heard, score, weights = ctx.saved_tensors
        found = torch.empty_like(heard), torch.zeros_like(score), torch.zeros(len(heard))
        given = d_mean.contiguous(), d_square.contiguous(), d_weights.clone()
        _pool_back(*map(_array, (heard, score, weights, *given, *found)))
        return found


class FastEncoder(Encoder):
    """The same weights, for training."""

    def listen(
        self, entering: Float[Tensor, "b steps read"]
    ) -> tuple[Float[Tensor, "b hidden"], Float[Tensor, "b hidden"], Float[Tensor, "b steps"]]:
        """As `Encoder.listen`, but for bfloat16."""
        heard = entering.bfloat16().transpose(0, 1).contiguous()
        for w_x, w_h, *biases in self.lstm.all_weights:
            heard = _Layer.apply(heard, w_x, w_h, sum(biases))
        place = self.places(len(heard)) + self.score.bias
        mean, square, weights = _Pooled.apply(heard, self.score.weight[0], place)
        return mean, square, weights

    def forward(self, features: Float[Tensor, "b frames 32"]) -> Float[Tensor, "b dim"]:
        """Embed windows; the last layer in float32."""
        with torch.autocast("cpu", enabled=False):
            return super().forward(features)


def hasten(model: CompositionalEmbedding, fast: bool = True) -> None:
    """Let f run so, or as before; weights stay as they are."""
    for encoder in model.encode.encoders:
        encoder.__class__ = FastEncoder if fast else Encoder
