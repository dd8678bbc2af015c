"""Bring the teacher's weights out of a checkpoint: teacher.py CHECKPOINT OUT.safetensors.

The checkpoint is the one that lies in the package whisperx (MIT, as its authors state it):

    pip download --no-deps --dest WORK whisperx==3.8.6
    unzip -o WORK/whisperx-3.8.6-py3-none-any.whl 'whisperx/assets/*' -d WORK
    python recipes/activity/teacher.py WORK/whisperx/assets/pytorch_model.bin teacher.safetensors

Nothing of that package is run; of what the checkpoint holds beside tensors nothing is made.
"""

from __future__ import annotations

import collections
import math
import pickletools
import re
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from safetensors.torch import save_file
from torch import Tensor
from torch.torch_version import TorchVersion

from diarize.audio import SAMPLE_RATE
from diarize.training.counting_teacher import TAPS, CountingTeacher

LOWEST = 50.0  # Hz, of a filter's lower edge; also its least width
BUILT_IN = (list, dict, collections.defaultdict, TorchVersion, (int, "builtins.int"))
# What is called how here; the rest of a name stays.
NAMES = (
    (r"sincnet\.wav_norm1d\.", "wave_norm."),
    (r"sincnet\.norm1d\.", "norms."),
    (r"sincnet\.conv1d\.1\.", "convs.0."),
    (r"sincnet\.conv1d\.2\.", "convs.1."),
    (r"classifier\.", "leave."),
)


class Ignored:
    """Stands for every class whose objects we do not need."""

    def __init__(self, *arguments: object) -> None: ...

    def __setstate__(self, state: object) -> None: ...


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Read the tensors of a checkpoint; classes it names are neither imported nor made."""
    with zipfile.ZipFile(path) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("/data.pkl"))
        operations = list(pickletools.genops(archive.read(name)))
    named = {str(argument) for operation, argument, _ in operations if operation.name == "GLOBAL"}
    foreign = [n for n in named if not n.startswith(("torch", "collections", "__builtin__"))]
    ignored = [(Ignored, n.replace(" ", ".")) for n in foreign]
    with torch.serialization.safe_globals([*BUILT_IN, *ignored]):
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    tensors: dict[str, torch.Tensor] = checkpoint["state_dict"]
    return tensors


def band_filters(
    low: Float[Tensor, "filters 1"], width: Float[Tensor, "filters 1"]
) -> Float[Tensor, "twice 1 251"]:
    """Even, then odd band-pass filters under half a Hamming window mirrored, of peak one.

    Args:
        low: the parameters of the lower edges, whose magnitude counts from 50 Hz on.
        width: those of the widths, likewise.
    """
    low = LOWEST + low.abs()
    high = (low + LOWEST + width.abs()).clamp(LOWEST, SAMPLE_RATE / 2)
    half = TAPS // 2
    time = 2 * math.pi * torch.arange(-half, 0.0) / SAMPLE_RATE  # (125,)
    window = torch.from_numpy(np.hamming(TAPS)[:half]).float()
    even = ((high * time).sin() - (low * time).sin()) / (time / 2) * window
    odd = ((low * time).cos() - (high * time).cos()) / (time / 2) * window
    middle = 2 * (high - low)
    filters = torch.cat(
        [
            torch.cat([even, middle, even.flip(1)], dim=1),
            torch.cat([odd, torch.zeros_like(middle), -odd.flip(1)], dim=1),
        ]
    )
    return (filters / torch.cat([middle, middle]))[:, None]


def convert(tensors: dict[str, torch.Tensor]) -> CountingTeacher:
    """Make the teacher of a checkpoint's tensors."""
    sinc = "sincnet.conv1d.0.filterbank."
    ours = {"filters": band_filters(tensors[f"{sinc}low_hz_"], tensors[f"{sinc}band_hz_"])}
    for name, tensor in tensors.items():
        if not name.startswith(sinc):
            for theirs, here in NAMES:
                name = re.sub(f"^{theirs}", here, name)
            ours[name] = tensor
    teacher = CountingTeacher()
    teacher.load_state_dict(ours)
    return teacher


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the teacher's weights."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 2:
        sys.exit("usage: teacher.py CHECKPOINT OUT.safetensors")
    save_file(convert(read_tensors(Path(given[0]))).state_dict(), given[1])


if __name__ == "__main__":
    main()
