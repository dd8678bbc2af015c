"""`diarize info`: what is installed, what it runs on, which models there are, what a file is."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from diarize.cli.options import argument, flag, option
from diarize.storage.version import __version__

# What the results depend on; by the names of the package index.
_PACKAGES = (
    "torch", "numpy", "scipy", "scikit-learn", "librosa", "soundfile", "soxr", "silero-vad",
    "pyannote.core", "safetensors", "av", "onnxruntime", "kaldi-native-fbank", "torchaudio",
    "sounddevice", "matplotlib",
)  # fmt: skip


def info(
    file: str | None = argument(
        None, "FILE|NAME", "Tell what this model or network is, instead.", show_default="none"
    ),
    cache: Path | None = option(
        None,
        "DIR",
        "Tell the size of this cache, as `run --cache` fills it.",
        envvar="DIARIZE_CACHE",
        show_default="none",
    ),
    as_json: bool = flag("--json", "As one object."),
) -> None:
    """Print versions, devices, threads, shipped models, the size of a cache; or what a file is."""
    from rich.table import Table

    from diarize.cli.tables import print_table

    table = Table(show_header=False)
    if file is not None:
        from diarize.embedding.about import about

        told = about(file)
        for name, value in told.items():
            table.add_row(name, str(value))
        print(json.dumps(told, indent=2)) if as_json else print_table(table)
        return
    found = collect(cache)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    for name in ("diarize", "python", "platform"):
        table.add_row(name, found[name])
    for name, version in found["packages"].items():
        table.add_row(name, version or "not installed")
    table.add_row("devices", ", ".join(found["devices"]))
    table.add_row("threads", f"{found['threads']} of {found['processors']} processors")
    for model in found["models"]:
        size = f"{model['bytes'] / 1e6:.1f} MB"
        table.add_row(f"model {model['name']}", f"{size}, SHA-256 {model['sha256']}")
    if found["cache"] is not None:
        kept = found["cache"]
        table.add_row(
            "cache", f"{kept['folder']}: {kept['files']} files, {kept['bytes'] / 1e6:.1f} MB"
        )
    print_table(table)


def collect(cache: Path | None) -> dict[str, Any]:
    """All that the command prints, by name."""
    import torch

    from diarize.embedding.weights import SUFFIX
    from diarize.storage.cache import Cache
    from diarize.storage.files import file_sha256
    from diarize.storage.weights import models_folder

    devices = ["cpu"]
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        devices += [f"cuda ({torch.cuda.get_device_name(n)})" for n in range(count)]
    kept = None
    if cache is not None:
        files, size = Cache(cache).size()
        kept = {"folder": str(cache), "files": files, "bytes": size}
    return {
        "diarize": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "devices": devices,
        "threads": torch.get_num_threads(),
        "processors": os.cpu_count(),
        "models": [
            {"name": path.stem, "bytes": path.stat().st_size, "sha256": file_sha256(path)}
            for path in sorted(models_folder().glob(f"*{SUFFIX}"))
        ],
        "cache": kept,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
