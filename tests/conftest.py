"""What all tests share: checked shapes, places, small sounds."""

from __future__ import annotations

import functools
import gc
import importlib.util
import inspect
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Self, get_type_hints

import jaxtyping
import numpy as np
import pytest
from beartype import BeartypeConf, beartype
from hypothesis import HealthCheck, settings

# One thread each, before torch and numpy start: pytest-xdist has a worker on every core.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# An int will do for a float (PEP 484), which beartype must be told.
_beartype = beartype(conf=BeartypeConf(is_pep484_tower=True))
_jaxtyped, _sizes = jaxtyping.jaxtyped, jaxtyping.jaxtyped("context")


def _typecheck(function: Callable[..., Any]) -> Callable[..., Any]:
    # beartype knows `Self` only in classes that it decorates, and the hook decorates functions.
    hints = function.__annotations__
    for name in [name for name, hint in hints.items() if hint in (Self, "Self")]:
        del hints[name]
    return _beartype(function)


def _hint(annotation: Any, namespace: dict[str, Any]) -> Any:
    """What an annotation means; anything, if its names are there for mypy alone."""

    def bearer() -> None: ...

    bearer.__annotations__ = {"it": annotation}
    try:
        found = get_type_hints(bearer, namespace, include_extras=True)["it"]
    except Exception:
        return Any
    return Any if found is Self else found


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check arguments and answer of each call, in which a size has one meaning.

    As jaxtyping's own decorator, which looks at the arguments twice and binds them by name, and so
    takes half of the time of all tests.
    """
    known = _known.get(key := (function.__module__, function.__qualname__, function.__code__))
    if known is not None:
        return _sized(function, _also_for(function, known))
    written = function.__annotations__
    hints = {name: _hint(one, function.__globals__) for name, one in written.items()}
    function.__annotations__ = hints
    checked = _beartype(function)
    function.__annotations__ = written
    if "<locals>" in function.__qualname__ and WRAPPED in (checked.__kwdefaults__ or {}):
        _known[key] = checked
    return _sized(function, checked)


# A function in a function is another one at each call, and to write its checks takes a millisecond.
_known: dict[tuple[str, str, CodeType], Any] = {}
WRAPPED = "__beartype_func"  # the keyword by which beartype's checks know their function


def _also_for(function: Callable[..., Any], checked: Any) -> Callable[..., Any]:
    """The checks of a function around another one, that differs in what surrounds it alone."""
    again = FunctionType(checked.__code__, checked.__globals__, closure=checked.__closure__)
    again.__kwdefaults__ = {**checked.__kwdefaults__, WRAPPED: function}
    return again


def _sized(function: Callable[..., Any], checked: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        with _sizes:
            return checked(*arguments, **named)

    return call


def _decorator(typechecker: Any) -> Callable[[Any], Any]:
    def decorate(one: Any) -> Any:
        # The arguments of a generator are checked when it begins: that is in nobody's call.
        if isinstance(one, type) or inspect.isgeneratorfunction(one):
            return _jaxtyped(one, typechecker=_typecheck)
        return _checked(one)

    return decorate


# Before anything imports the package: from here on every annotated shape is checked at each call.
# The hook puts `@jaxtyping.jaxtyped(typechecker=...)` before each function and class.
jaxtyping.jaxtyped = _decorator  # type: ignore[assignment]
jaxtyping.install_import_hook("diarize", None)

REPO_ROOT = Path(__file__).resolve().parents[1]
SHARED = REPO_ROOT.parent / "shared"


# How much is tried: tests that draw cases multiply their numbers by it (tests/long/run).
EFFORT = int(os.environ.get("TEST_EFFORT", "1"))

# Nothing is timed: a busy machine must not fail a property.
settings.register_profile(
    "diarize",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=100 * EFFORT,
)
settings.load_profile("diarize")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let the collector of garbage pass over all that is imported: it stays, and is large."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs something that is not here, and say what."""
    reasons = {}
    if not (SHARED / "speech" / "speakers.tsv").is_file():
        reasons["needs_speech"] = "needs the speech corpora, and ../shared/speech is absent"
    if any(item.get_closest_marker("needs_torchaudio") for item in items):
        try:
            importlib.import_module("torchaudio")
        except (ImportError, OSError) as error:
            reasons["needs_torchaudio"] = f"torchaudio does not import: {error}"
    if not (shutil.which("chromedriver") and importlib.util.find_spec("selenium")):
        reasons["needs_chromium"] = "needs chromium, chromedriver and selenium"
    for item in items:
        for marker, reason in reasons.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests recorded, where more than usual was tried."""
    figures = [
        text
        for report in terminalreporter.stats.get("passed", [])
        for name, text in report.user_properties
        if name == "figure"
    ]
    if figures and EFFORT > 1:
        terminalreporter.section("figures")
        for text in sorted(figures):
            terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def effort() -> int:
    """How many times the usual number of random cases is to be tried."""
    return EFFORT


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The folder of `pyproject.toml`."""
    return REPO_ROOT


@pytest.fixture(scope="session")
def forked() -> Iterator[Path]:
    """A folder with a `python` and a `diarize` that begin at once (see `forked.py`)."""
    from .forked import forked_commands

    with forked_commands() as folder:
        yield folder


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of the corpora; only for tests marked `needs_speech`."""
    return SHARED


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whoever looks for another machine fail the test; processes may still speak."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked for")

    connect = socket.socket.connect

    def connect_locally(self: socket.socket, address: Any) -> None:
        if self.family not in (socket.AF_INET, socket.AF_INET6):
            return connect(self, address)
        return refuse()

    monkeypatch.setattr(socket.socket, "connect", connect_locally)
    monkeypatch.setattr(socket.socket, "connect_ex", connect_locally)
    monkeypatch.setattr(socket.socket, "sendto", refuse)
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)


@pytest.fixture
def write_tone(tmp_path: Path) -> Callable[..., Path]:
    """Write a sine of 220 Hz at half scale, one octave higher per channel; returns its path."""

    def write(
        name: str = "tone.wav", seconds: float = 1.0, rate: int = 16_000, channels: int = 1
    ) -> Path:
        import soundfile

        path = tmp_path / name
        time = np.arange(round(seconds * rate))[:, None] / rate
        octaves = 2.0 ** np.arange(channels)
        soundfile.write(path, 0.5 * np.sin(2 * np.pi * 220 * octaves * time), rate)
        return path

    return write


@pytest.fixture(scope="session")
def tiny_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights file of a small embedding that has learned nothing."""
    import torch

    from diarize.embedding import CompositionalEmbedding, EmbeddingConfig, save_model

    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "tiny.safetensors"
    save_model(CompositionalEmbedding(EmbeddingConfig(dim=16, hidden=8, layers=1)), path)
    return path


@pytest.fixture(scope="session")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 12 seconds of the conversation that ships, as 16 kHz wav: three people."""
    import soundfile

    from diarize.audio import open_recording

    path = tmp_path_factory.mktemp("talk") / "talk.wav"
    recording = open_recording(REPO_ROOT / "egs" / "conversation.ogg", end=12.0)
    soundfile.write(path, np.concatenate(list(recording.blocks())), 16_000)
    return path


@pytest.fixture
def furnished(
    repo_root: Path,
    talk: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Go into a folder with the files that the pages speak of, where their commands run.

    What one command has heard in a recording, the next need not hear again.
    """
    from .pages import furnish

    furnish(tmp_path, repo_root, talk)
    monkeypatch.chdir(tmp_path)
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    monkeypatch.setenv("DIARIZE_CACHE", str(base / "heard"))
