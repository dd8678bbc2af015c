"""What builds, ships and checks the package elsewhere refers to things that are there."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture(scope="module")
def project(repo_root: Path) -> Any:
    return tomllib.loads((repo_root / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_image_copies_what_is_there_and_let_in(repo_root: Path) -> None:
    text = (repo_root / "Dockerfile").read_text(encoding="utf-8")
    copied = [
        source
        for line in text.splitlines()
        if line.startswith("COPY ")
        for source in shlex.split(line)[1:-1]
    ]
    assert copied
    allowed = (repo_root / ".dockerignore").read_text(encoding="utf-8").split()
    for source in copied:
        assert (repo_root / source).exists(), source
        assert f"!{source}" in allowed


def test_the_image_has_what_the_build_reads(repo_root: Path, project: Any) -> None:
    text = (repo_root / "Dockerfile").read_text(encoding="utf-8")
    meta = project["project"]
    licences = [name for name in meta["license-files"] if "/" not in name]
    for name in (meta["readme"], *licences, "models", "diarize"):
        assert re.search(rf"^COPY .*\b{re.escape(name)}\b", text, re.MULTILINE), name


def test_actions_are_pinned_by_hash_and_extras_exist(repo_root: Path, project: Any) -> None:
    extras = set(project["project"]["optional-dependencies"])
    for path in (repo_root / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        jobs = yaml.safe_load(text)["jobs"]
        steps = [step for job in jobs.values() for step in job["steps"]]
        uses = [step["uses"] for step in steps if "uses" in step]
        assert uses and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", use) for use in uses)
        for asked in re.findall(r"\.\[([\w,]+)\]", text):
            assert set(asked.split(",")) <= extras


def test_what_is_licensed_otherwise_is_named(repo_root: Path, project: Any) -> None:
    for name in project["project"]["license-files"]:
        assert (repo_root / name).is_file(), name
    named = (repo_root / "THIRD_PARTY.md").read_text(encoding="utf-8")
    vendored = (repo_root / "diarize" / "report" / "page" / "vendor").iterdir()
    assert all(path.name in named for path in vendored)
