"""THIRD_PARTY.md names every library that is installed with the package, and its licence."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PAGE = Path(__file__).parents[2] / "THIRD_PARTY.md"
EXTRAS = ("", "av", "dask", "microphone", "onnx", "plot", "rooms", "serve", "torchaudio")
ALLOWED = re.compile(
    r"(Apache-2\.0|BSD-[23]-Clause|0BSD|BSL-1\.0|MIT(-0)?|ISC|PSF-2\.0|MPL-2\.0|LGPL-2\.1-or-later|Zlib|HPND|"
    r"CC0-1\.0|MIT-CMU|LLVM-exception)"
)


def needed() -> set[str]:
    """The names of all distributions that the package brings along here, itself left out."""
    found: set[str] = set()
    waiting = [("diarize-sets", frozenset(EXTRAS))]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            requirements = distribution(name).requires or []
        except PackageNotFoundError:
            continue  # an extra that is not installed here
        found.add(name)
        for text in requirements:
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
                called = re.sub(r"[-_.]+", "-", requirement.name).lower()
                waiting.append((called, frozenset(requirement.extras) | {""}))
    return found - {"diarize-sets"}


def listed() -> dict[str, str]:
    """Licence by name of the library, as the page has them."""
    table = PAGE.read_text("utf-8").partition("# Libraries installed beside it")[2]
    return dict(re.findall(r"^\| ([\w.-]+) \| ([^|]+?) \|$", table, flags=re.M))


def test_extras_are_listed_or_named() -> None:
    """An extra of the package is in the table, or said to bring something else; tools are not."""
    extras = set(distribution("diarize-sets").metadata.get_all("Provides-Extra") or ())
    others = extras - {*EXTRAS, "train", "test", "docs", "fuzz", "dev"}
    prose = PAGE.read_text("utf-8")
    assert all(f"`{extra}`" in prose for extra in others), others


def test_every_library_is_listed() -> None:
    missing = needed() - listed().keys()
    assert not missing, f"not in THIRD_PARTY.md: {sorted(missing)}"


@pytest.mark.parametrize("name", sorted(listed().keys() - {"library", "---"}))
def test_licences_allow_to_be_used_together(name: str) -> None:
    parts = re.split(r" AND | OR | WITH |[()]", listed()[name])
    assert all(ALLOWED.fullmatch(part.strip()) for part in parts if part.strip()), listed()[name]
