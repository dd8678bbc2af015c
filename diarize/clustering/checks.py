"""What rows and options of a clustering must be; one line says what is wrong with others."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse

from diarize.scatter import Scatter

Rows = Float[np.ndarray, "n p"]

LARGEST = 1e100
"""Largest value of a row: sums of squares of larger ones may overflow."""

LEAST_SINGLE, MOST_SINGLE = 1e-12, 1e15
"""Between these lies the largest value of rows that are worked on in float32."""


def check_rows(X: Any) -> Rows:
    """X as float32 (kept, unless squares would leave its range) or float64, shape (n, p), finite.

    Raises:
        ValueError: X is not a 2-D array of real numbers, has no column, or holds a value that is
            not finite or above `LARGEST`; the message names the row.
        TypeError: X holds objects that are no numbers.
    """
    if issparse(X):
        raise ValueError("X is sparse, but dense data is required: give X.toarray()")
    rows = np.asarray(X)
    if rows.ndim != 2:
        raise ValueError(f"X must be a 2-D array (rows, dimensions), got {rows.ndim}-D")
    if rows.shape[1] == 0:
        raise ValueError("X has no columns")
    if rows.dtype.kind == "O":
        rows = rows.astype(np.float64)  # scikit-learn wants Python's own TypeError of others
    if rows.dtype.kind not in "fiub":
        reason = "Complex data not supported: " if rows.dtype.kind == "c" else ""
        raise ValueError(f"{reason}X must hold real numbers, got {rows.dtype}")
    if rows.dtype != np.float32:
        rows = rows.astype(np.float64)
    # A sum that is finite says the same of its terms; only others are looked at one by one.
    with np.errstate(over="ignore", invalid="ignore"):
        total = rows.sum(dtype=np.float64)
    if not np.isfinite(total):
        bad = ~np.isfinite(rows)
        if bad.any():
            row = int(np.argmax(bad.any(axis=1)))
            what = "NaN" if np.isnan(rows[row]).any() else "an infinite value"
            raise ValueError(f"row {row} of X holds {what}")
    # The squared distances of float32 rows are float32 too.
    size = max(-float(rows.min(initial=0)), float(rows.max(initial=0)))
    if size > LARGEST:
        row = int(np.argmax((np.abs(rows) > LARGEST).any(axis=1)))
        raise ValueError(f"row {row} of X holds a value beyond {LARGEST:g}")
    if rows.dtype == np.float32 and size > 0 and not LEAST_SINGLE < size < MOST_SINGLE:
        return rows.astype(np.float64)
    return rows


def check_scatter(scatter: Any, dimension: int) -> None:
    """Raise ValueError unless it is one of vectors of this dimension, or nothing is known."""
    if not isinstance(scatter, Scatter | None):
        raise ValueError(f"scatter must be a Scatter or None, got {scatter!r}")
    if scatter is not None and scatter.axes is not None:
        p = len(scatter.axes.mean)
        if p != dimension:
            raise ValueError(f"scatter is of vectors of {p} dimensions, but X has {dimension}")


def check_integer(name: str, value: Any, least: int = 1) -> None:
    """Raise ValueError unless the option is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")


def check_preference(preference: Any) -> None:
    """Raise ValueError unless it is None, or a finite number that is not above 0."""
    if preference is not None:
        check_number("preference", preference, least=-sys.float_info.max)
        if preference > 0:
            raise ValueError(f"preference must be at most 0, got {preference!r}")


def check_number(name: str, value: Any, least: float = 0.0) -> None:
    """Raise ValueError unless the option is a finite number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # an integer may be beyond all floating-point numbers
        number = math.inf
    if not least <= number < math.inf:
        raise ValueError(f"{name} must be a finite number of at least {least:g}, got {value!r}")
