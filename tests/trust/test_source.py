"""What the source never does: unpickle, run text as code, use a shell, write half a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "diarize").rglob("*.py"))
BESIDE = sorted(
    file for part in ("recipes", "egs", "benchmarks") for file in (ROOT / part).rglob("*.py")
)
# Whole files, and the list of what is done, which grows by a line at a time.
WRITERS = {"diarize/storage/files.py", "diarize/batch/manifest.py"}


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Every call, and what is called as it is written."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def keyword(call: ast.Call, name: str) -> object:
    """The constant that a keyword is given; None: none."""
    values = [
        k.value.value for k in call.keywords if k.arg == name and isinstance(k.value, ast.Constant)
    ]
    return values[0] if values else None


def faults(source: str) -> list[str]:
    """What is dangerous in a module."""
    tree = ast.parse(source)
    found = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        found += [
            f"imports {name}"
            for name in names
            if name.partition(".")[0]
            in {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
        ]
    for name, call in calls(tree):
        last = name.rpartition(".")[2]
        if name in {"eval", "exec", "compile", "__import__", "os.system", "os.popen"}:
            found.append(name)
        if name in {"torch.load", "joblib.load"} and keyword(call, "weights_only") is not True:
            found.append(f"{name} of pickles")
        if keyword(call, "allow_pickle") is True or keyword(call, "shell") is True:
            found.append(f"{name} with allow_pickle or shell")
        if name.startswith("yaml.") and last in {"load", "unsafe_load", "full_load"}:
            found.append(name)
        if last in {"extractall", "unpack_archive"}:
            found.append(f"{name}: members may lead elsewhere")
    return found


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from pickle import loads", "eval('1')", "torch.load(p)",
        "torch.load(p, weights_only=False)", "np.load(p, allow_pickle=True)", "os.system('x')",
        "subprocess.run('x', shell=True)", "yaml.load(f)", "z.extractall()",
    ],
)  # fmt: skip
def test_the_check_sees_what_is_dangerous(source: str) -> None:
    assert faults(source)


def test_nothing_dangerous_is_called() -> None:
    found = {
        str(file.relative_to(ROOT)): faults(file.read_text("utf-8")) for file in SHIPPED + BESIDE
    }
    assert len(found) > 200
    assert {file: what for file, what in found.items() if what} == {}


def test_the_package_starts_no_program_and_speaks_to_nobody() -> None:
    forbidden = {"subprocess", "socket", "urllib", "http", "requests", "ssl", "ftplib", "smtplib"}
    found = []
    for file in SHIPPED:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            # What an address means is read by this, and nobody is asked.
            names = [name for name in names if name != "urllib.parse"]
            found += [f"{file}: {name}" for name in names if name.partition(".")[0] in forbidden]
    assert not found


def test_files_are_written_in_one_place() -> None:
    found = []
    for file in SHIPPED:
        for name, call in calls(ast.parse(file.read_text("utf-8"))):
            modes = [a.value for a in call.args[1:2] if isinstance(a, ast.Constant)]
            modes += [keyword(call, "mode") or "r"]
            writes = name in {"open", "io.open"} and any(
                set(str(mode)) & set("wax+") for mode in modes
            )
            if writes or name.rpartition(".")[2] in {"write_text", "write_bytes"}:
                found.append(str(file.relative_to(ROOT)))
    assert set(found) <= WRITERS
