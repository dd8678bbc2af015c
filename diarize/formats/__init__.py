"""The formats that results are written in, and read from."""

from __future__ import annotations

from collections.abc import Callable

from diarize.formats.json import json_text
from diarize.formats.rttm import load_annotations, read_rttm, rttm_text
from diarize.formats.uem import read_uem, uem_text

# Name of the format, which is its file suffix too -> text of (annotation, options of the run,
# confidence of its segments and tracks).
FORMATS: dict[str, Callable[..., str]] = {
    "rttm": lambda annotation, options, confidence=None: rttm_text(annotation),
    "json": json_text,
}

__all__ = [
    "FORMATS",
    "json_text",
    "load_annotations",
    "read_rttm",
    "read_uem",
    "rttm_text",
    "uem_text",
]
