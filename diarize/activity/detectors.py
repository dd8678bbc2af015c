"""Detectors of speech by name: the table that `--vad` reads."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from diarize.storage.onnx_network import SUFFIX

DETECTORS: dict[str, str] = {
    "network": "diarize.activity.network:NetworkActivity",
    "silero": "diarize.activity.silero:SileroActivity",
}
"""Name -> "module:Class"; streams know these as well (`diarize.streaming.hearing`)."""


def is_detector(name: str) -> bool:
    """Whether that names a detector, or a file that is one."""
    return name in DETECTORS or name.lower().endswith(SUFFIX)


def make_detector(name: str, device: str = "cpu", **options: Any) -> Any:
    """The detector of that name, or in that file, ready to be called.

    Args:
        name: of `DETECTORS`, or the path of an ONNX file.
        device: that a network of others runs on: "cpu" or "cuda".
        options: of the detector; those that are None are left out.

    Raises:
        InputError: options out of bounds, or a file that is no segmentation that can be used.
    """
    told = {option: value for option, value in options.items() if value is not None}
    if name in DETECTORS:
        module, _, class_name = DETECTORS[name].partition(":")
        return getattr(import_module(module), class_name)(**told)
    from diarize.activity.segmentation import SegmentationActivity

    foreign = SegmentationActivity(model=name, device=device, **told)
    foreign.prepare()
    return foreign
