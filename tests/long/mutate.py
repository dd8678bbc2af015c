"""Which small faults the tests notice: mutate.py MODULE... [--each N] [--seed S] [--log FILE].

Each mutant is a module with one fault: a comparison, an operator, a number, a text, a condition or
a call that is another one, or a statement left out. It is tried, in a copy of the tree, with the
test file of its module and then with the others of that folder that name the module; the first
test that fails, or an endless loop, has killed it. What is left is printed as a table.

Not mutated: docstrings, annotations, decorators, imports, what an error says, and the numbers of
settings (constants in capitals, defaults of options, `tunables`), which no test holds to the digit.

mutmut and cosmic-ray start an interpreter for each mutant or leave out methods with decorators.
Here a process that has loaded numpy, scipy and the rest forks, so that a mutant takes a second or
two; it needs a system with fork.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOADED = (
    "numpy", "scipy.optimize", "scipy.spatial", "sklearn.cluster", "sklearn.mixture", "torch",
    "hypothesis.strategies", "hypothesis.extra.numpy", "pytest", "beartype.claw", "jaxtyping",
    "pyannote.core", "threadpoolctl",
)  # fmt: skip
OPTIONS = (
    "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",  # of what is loaded
)  # fmt: skip
SAID = "said"  # file with what the tests print
MEMORY = 12 * 2**30  # bytes of addresses that a mutant may take
PATIENCE = 4.0  # an endless loop is what takes this many times as long as without a fault

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
}  # fmt: skip
CALLED = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "argmin": "argmax",
    "argmax": "argmin", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor",
    "zeros": "ones", "ones": "zeros",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A node that may be mutated, as the field of its parent."""

    parent: ast.AST
    field: str
    position: int | None  # in a list
    node: ast.AST
    is_setting: bool

    def put(self, node: ast.AST) -> None:
        """Let another node, or the old one again, stand here."""
        if self.position is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.position] = node


@dataclass(frozen=True)
class Mutant:
    """A fault, and how it is named."""

    module: str  # relative to the root
    line: int
    fault: str  # an expression, and what became of it
    source: str


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: "killed", "endless" or "survived"."""

    module: str
    line: int
    fault: str
    end: str
    seconds: float


def faults(node: ast.AST, is_setting: bool) -> Iterator[ast.AST]:
    """What a node could be by mistake."""
    match node:
        case ast.Compare(ops=[op]):
            yield ast.Compare(node.left, [COMPARED[type(op)]()], node.comparators)
        case ast.BinOp() if type(node.op) in COMPUTED:
            yield ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right)
        case ast.AugAssign():
            yield ast.Pass()
            if type(node.op) in COMPUTED:
                yield ast.AugAssign(node.target, COMPUTED[type(node.op)](), node.value)
        case ast.UnaryOp() if not is_setting:
            yield node.operand
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)) if not is_setting:
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)) if not is_setting:
            yield ast.Constant(2 * value if value else 1.0)
        case ast.Constant(value=str(value)):
            yield ast.Constant(f"{value}X")
        case ast.If() | ast.While() | ast.IfExp():
            # A comparison or a negation is mutated itself.
            if not isinstance(node.test, ast.Compare | ast.UnaryOp):
                yield type(node)(**{**vars(node), "test": ast.UnaryOp(ast.Not(), node.test)})
        case ast.comprehension(ifs=[_, *_]):
            yield ast.comprehension(node.target, node.iter, [], node.is_async)
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Attribute() if node.attr in CALLED:
            yield ast.Attribute(node.value, CALLED[node.attr], node.ctx)
        case ast.Name() if node.id in CALLED:
            yield ast.Name(CALLED[node.id], node.ctx)
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Subscript()]):
            yield ast.Pass()


def places(node: ast.AST, in_raise: bool = False, is_setting: bool = False) -> Iterator[Place]:
    """All nodes below this one that may be mutated."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "format_spec"}:
            continue
        for position, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_left_out(child, in_raise):
                continue
            below_raise = in_raise or isinstance(child, ast.Raise)
            below_setting = is_setting or _is_setting(node, field, child)
            yield Place(node, field, position, child, below_setting)
            yield from places(child, below_raise, below_setting)


def _is_left_out(node: ast.AST, in_raise: bool) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):  # a docstring
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.JoinedStr() | ast.Constant(value=str()):
            return in_raise  # what an error says
    return False


def _is_setting(parent: ast.AST, field: str, node: ast.AST) -> bool:
    if isinstance(parent, ast.FunctionDef) and parent.name == "__init__":
        return field == "args"
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return False
    name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    options = isinstance(parent, ast.ClassDef) and "dataclass" in "".join(
        map(ast.unparse, parent.decorator_list)
    )
    return options or name == "tunables" or (isinstance(parent, ast.Module) and name.isupper())


def mutants(module: str) -> list[Mutant]:
    """All of a module, in the order of the text."""
    tree = ast.parse((ROOT / module).read_text("utf-8"))
    found = []
    for place in list(places(tree)):
        for other in faults(place.node, place.is_setting):
            line = getattr(place.node, "lineno", getattr(place.parent, "lineno", 0))
            before, after = (" ".join(ast.unparse(n).split())[:60] for n in (place.node, other))
            place.put(other)
            source = ast.unparse(ast.fix_missing_locations(tree))
            place.put(place.node)
            found.append(Mutant(module, line, f"{before} → {after}", source))
    return found


def tests_of(module: str) -> list[str]:
    """The test file of the module, then those beside it that name the module."""
    inside = Path(module).relative_to("diarize")
    mirror = ROOT / "tests" / inside.with_name(f"test_{inside.name}")
    dotted = module.removesuffix(".py").replace("/", ".")
    package = dotted.rpartition(".")[0]
    names = (f"{dotted} import", f"from {package} import {inside.stem}")
    others = [
        path
        for path in sorted(mirror.parent.glob("test_*.py"))
        if path != mirror and any(name in path.read_text("utf-8") for name in names)
    ]
    return [str(path.relative_to(ROOT)) for path in [mirror, *others] if path.is_file()]


class Hasty:
    """A plugin: an example that fails need not be the shortest one."""

    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.reuse, Phase.generate)
        settings.register_profile("mutants", settings.get_profile("diarize"), phases=phases)
        settings.load_profile("mutants")


def run_tests(tests: list[str], folder: Path, limit: float) -> tuple[str, float]:
    """Run tests in a process of its own; how they ended, as `Outcome` calls it, and the seconds."""
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.chdir(folder)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            said = os.open(SAID, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            sys.path.insert(0, str(folder))
            os.environ["PYTHONPATH"] = str(folder)
            import pytest

            os._exit(int(pytest.main([*OPTIONS, *tests], plugins=[Hasty()])))
        finally:
            os._exit(3)
    while time.monotonic() - began < limit:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            passed = os.waitstatus_to_exitcode(status) == 0
            return "survived" if passed else "killed", time.monotonic() - began
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "endless", time.monotonic() - began


def try_mutants(chosen: list[Mutant], folder: Path, until: float) -> Iterator[Outcome]:
    """Try them one by one, until the time is over."""
    limits: dict[str, float] = {}
    for mutant in chosen:
        if time.monotonic() > until:
            return
        tests = tests_of(mutant.module)
        if mutant.module not in limits:
            end, seconds = run_tests(tests, folder, 600)
            if end != "survived":
                said = (folder / SAID).read_text("utf-8", "replace")[-3000:]
                raise SystemExit(f"{said}\n{mutant.module}: its tests fail without a fault")
            limits[mutant.module] = 20 + PATIENCE * seconds
        target = folder / mutant.module
        kept = target.read_bytes()
        target.write_text(mutant.source, encoding="utf-8")
        end, seconds = run_tests(tests, folder, limits[mutant.module])
        target.write_bytes(kept)
        yield Outcome(mutant.module, mutant.line, mutant.fault, end, round(seconds, 1))


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    from scipy.stats import binomtest

    found = binomtest(killed, tried).proportion_ci(method="wilson")
    return found.low, found.high


def table(total: Counter[str], outcomes: list[Outcome]) -> str:
    """Modules with what was killed, and those that survived, in Markdown."""
    lines = ["| module | mutants | tried | killed | share | 95 % |", "|---|---|---|---|---|---|"]
    for module in [*total, "all"]:
        mine = [o for o in outcomes if module in (o.module, "all")]
        if not mine:
            continue
        killed = sum(o.end != "survived" for o in mine)
        low, high = interval(killed, len(mine))
        made = total.total() if module == "all" else total[module]
        lines.append(
            f"| {module} | {made} | {len(mine)} | {killed} | {killed / len(mine):.0%} "
            f"| {low:.0%} to {high:.0%} |"
        )
    left = [o for o in outcomes if o.end == "survived"]
    return "\n".join([*lines, "", *(f"- {o.module}:{o.line}: `{o.fault}`" for o in left)])


def main() -> None:
    """Read the arguments, and try the mutants."""
    parser = argparse.ArgumentParser(description="Which small faults the tests notice.")
    parser.add_argument("modules", nargs="*", help="files below diarize/, from the root")
    parser.add_argument("--each", type=int, help="mutants of each module, drawn by chance")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after these")
    parser.add_argument("--log", type=Path, help="add a JSON line for each mutant")
    parser.add_argument("--again", type=Path, help="only those that survived in this log")
    arguments = parser.parse_args()
    until = time.monotonic() + 60 * arguments.minutes
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.dont_write_bytecode = True  # a mutant may be as old and as long as another

    modules, survivors = arguments.modules, set()
    if arguments.again:
        logged = [json.loads(line) for line in arguments.again.read_text("utf-8").splitlines()]
        survivors = {(o["module"], o["line"], o["fault"]) for o in logged if o["end"] == "survived"}
        modules = sorted({module for module, *_ in survivors})
    total: Counter[str] = Counter()
    chosen: list[Mutant] = []
    generator = random.Random(arguments.seed)
    for module in modules:
        found = mutants(module)
        total[module] = len(found)
        if arguments.again:
            found = [m for m in found if (module, m.line, m.fault) in survivors]
        elif arguments.each and arguments.each < len(found):
            found = generator.sample(found, arguments.each)
        chosen += found
    generator.shuffle(chosen)  # so that a part of them says something about all modules

    for name in LOADED:
        importlib.import_module(name)
    outcomes = []
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "tree"
        ignored = shutil.ignore_patterns(".git", ".*cache", ".venv", "__pycache__", "site")
        shutil.copytree(ROOT, folder, ignore=ignored)
        for outcome in try_mutants(chosen, folder, until):
            outcomes.append(outcome)
            if arguments.log:
                with arguments.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")
    print(table(total, outcomes))


if __name__ == "__main__":
    main()
