"""Ship a SplitNet with its card: python card.py FOLDER, where `diarize train splitnet` has ended.

The weights go to models/dpgmm/splitnet-D.safetensors, the card beside them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from safetensors import safe_open

from diarize.clustering.splitnet.weights import load_splitnet, shipped_splitnet
from diarize.files import atomic_output
from diarize.training.splitnet import (
    TEST_ROWS,
    TEST_SETS,
    drawn_tests,
    network_splitter,
    split_accuracy,
    two_means,
)


def main(folder: Path) -> None:
    """Measure, write the card, copy the weights."""
    with safe_open(folder / "checkpoint.safetensors", framework="pt") as file:
        header = file.metadata()
    recipe, content = json.loads(header["recipe"]), (folder / "splitnet.safetensors").read_bytes()
    network = load_splitnet(folder / "splitnet.safetensors")
    tests = drawn_tests(recipe["dimension"])
    ours, theirs = (split_accuracy(s, tests) for s in (network_splitter(network), two_means))
    text = (
        Path(__file__)
        .with_suffix(".md")
        .read_text(encoding="utf-8")
        .format(
            **{k: v for k, v in recipe.items() if k != "rows"},
            parameters=sum(p.numel() for p in network.parameters()) / 1e6,
            megabytes=len(content) / 1e6,
            sets=TEST_SETS,
            rows=TEST_ROWS,
            table="\n".join(
                f"| {name} | {ours[name]:.3f} | {theirs[name]:.3f} |" for name in tests
            ),
            total=recipe["steps"] * recipe["batch"],
            least=recipe["rows"][0],
            most=recipe["rows"][1],
        )
    )
    path = shipped_splitnet(recipe["dimension"])
    with atomic_output(path) as out:
        out.write(content)
    with atomic_output(path.with_suffix(".md"), "w") as out:
        out.write(text)
    print(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
