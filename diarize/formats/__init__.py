"""The formats that results are written in, and read from."""

from __future__ import annotations

from diarize.formats.json import json_text
from diarize.formats.rttm import read_rttm, rttm_text
from diarize.formats.table import (
    FORMATS,
    Format,
    format_of,
    load_annotations,
    read_turns,
    require_format,
    written_format,
)
from diarize.formats.uem import read_uem, uem_text

__all__ = [
    "FORMATS",
    "Format",
    "format_of",
    "json_text",
    "load_annotations",
    "read_rttm",
    "read_turns",
    "read_uem",
    "require_format",
    "rttm_text",
    "uem_text",
    "written_format",
]
