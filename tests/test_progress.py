"""Whoever takes a hook calls it by one name and one type."""

from __future__ import annotations

import ast
from pathlib import Path


def test_hooks_are_declared_alike(repo_root: Path) -> None:
    wrong = []
    for path in (repo_root / "diarize").rglob("*.py"):
        spelled = "Callable[[str, float, float], None]" in path.read_text(encoding="utf-8")
        if spelled and path.name != "progress.py":
            wrong.append(f"{path}: spells Hook out")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.arg) and node.arg == "hook" and node.annotation is not None:
                declared = ast.unparse(node.annotation)
                if declared not in ("Hook", "Hook | None", "Any"):
                    wrong.append(f"{path}: hook: {declared}")
    assert not wrong, "\n".join(wrong)
