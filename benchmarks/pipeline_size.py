"""What is installed for some distributions and all that they need. For pipeline.py.

    python pipeline_size.py NAME...      MiB of their files, as JSON

Of what another environment has; extras that are not named are left out.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path


def needed(names: list[str]) -> dict[str, Distribution]:
    """Distributions by name, with those that they need here."""
    found: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue  # of another system, or of an extra
        waiting += [
            re.split(r"[^\w.-]", need, maxsplit=1)[0]
            for need in found[name].requires or []
            if "extra ==" not in need
        ]
    return found


def size(one: Distribution) -> int:
    """Bytes of the files of a distribution."""
    paths = [Path(str(one.locate_file(file))) for file in one.files or []]
    return sum(path.stat().st_size for path in paths if path.is_file())


if __name__ == "__main__":
    sizes = {name: size(one) / 2**20 for name, one in needed(sys.argv[1:]).items()}
    print(json.dumps({"MiB": sum(sizes.values()), "torch": sizes.get("torch", 0.0)}))
