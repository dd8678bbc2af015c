"""Ship a SplitNet with its card: python card.py FOLDER..., when train_splitnet.py has ended.

Several folders are one training, each of which began with the weights of the one before it. The
weights go to models/dpgmm/splitnet-D.safetensors, the card beside them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors import safe_open
from train_splitnet import (
    TEST_ROWS,
    TEST_SETS,
    drawn_tests,
    network_splitter,
    split_accuracy,
    two_means,
)

from diarize.clustering.dpgmm.splitnet import load_splitnet, shipped_splitnet
from diarize.storage.files import atomic_output


def main(folders: Sequence[Path]) -> None:
    """Measure, write the card, copy the weights."""
    recipes = [read_recipe(folder) for folder in folders]
    content = (folders[-1] / "splitnet.safetensors").read_bytes()
    network = load_splitnet(folders[-1] / "splitnet.safetensors")
    tests = drawn_tests(recipes[0]["dimension"])
    ours, theirs = (split_accuracy(s, tests) for s in (network_splitter(network), two_means))
    text = (
        Path(__file__)
        .with_suffix(".md")
        .read_text(encoding="utf-8")
        .format(
            **{k: v for k, v in recipes[0].items() if k != "rows"},
            parameters=sum(p.numel() for p in network.parameters()) / 1e6,
            megabytes=len(content) / 1e6,
            sets=TEST_SETS,
            rows=TEST_ROWS,
            table="\n".join(
                f"| {name} | {ours[name]:.3f} | {theirs[name]:.3f} |" for name in tests
            ),
            commands="\n".join(f"    {line}" for line in commands(recipes)),
            all_steps=sum(recipe["steps"] for recipe in recipes),
            total=sum(recipe["steps"] * recipe["batch"] for recipe in recipes),
            least=recipes[0]["rows"][0],
            most=recipes[0]["rows"][1],
        )
    )
    path = shipped_splitnet(recipes[0]["dimension"])
    with atomic_output(path) as out:
        out.write(content)
    with atomic_output(path.with_suffix(".md"), "w") as out:
        out.write(text)
    print(text)


def read_recipe(folder: Path) -> dict[str, Any]:
    """What a training was made of."""
    with safe_open(folder / "checkpoint.safetensors", framework="pt") as file:
        return json.loads(file.metadata()["recipe"])


def commands(recipes: Sequence[dict[str, Any]]) -> list[str]:
    """What was called for it, in folders DIR1, DIR2, ..."""
    folders = [f"DIR{n + 1}" for n in range(len(recipes))]
    lines = [
        f"python recipes/dpgmm/train_splitnet.py --dim {recipe['dimension']} "
        f"--steps {recipe['steps']} "
        f"--batch {recipe['batch']}"
        + (f" --start {folders[n - 1]}/splitnet.safetensors" if n else "")
        + f" --out {folders[n]}"
        for n, recipe in enumerate(recipes)
    ]
    return [*lines, f"python recipes/dpgmm/card.py {' '.join(folders)}"]


if __name__ == "__main__":
    main([Path(folder) for folder in sys.argv[1:]])
