"""Commands whose processes need not import torch and the like: they are forks of one that has.

A program still runs in a process of its own, with its own arguments, environment, folder and
streams, and imports our modules itself; only what others wrote is there when it begins.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

IMPORTED = (
    "jaxtyping", "matplotlib.pyplot", "pyannote.core", "rich.progress", "safetensors.torch",
    "scipy.optimize", "scipy.signal", "scipy.sparse.csgraph", "scipy.spatial", "scipy.stats",
    "sklearn.cluster", "sklearn.datasets", "sklearn.metrics", "sklearn.mixture", "soundfile",
    "soxr", "torch._dynamo", "typer",
)  # fmt: skip
"""What takes long; torch imports the last but two of these when an optimizer steps."""

COMMAND = """#!{python} -IS
import os, sys
arguments = {first} + sys.argv[1:]
if not arguments or arguments[0].startswith("-") and arguments[0] != "-m":
    os.execv({python!r}, [{python!r}, *arguments])
import json, socket
connection = socket.socket(socket.AF_UNIX)
connection.connect({place!r})
socket.send_fds(connection, [b"0"], [0, 1, 2])
connection.sendall(json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode())
connection.shutdown(socket.SHUT_WR)
answer = connection.recv(1)
sys.exit(answer[0] if answer else "the process was killed")
"""


@contextmanager
def forked_commands() -> Iterator[Path]:
    """A folder with a `python` and a `diarize` for the PATH of scripts, as long as it is needed.

    What takes long is imported when the first of them is called.
    """
    programs = Path(sys.executable).parent
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder, "socket"))
        for name, first in (("python", []), ("diarize", [str(programs / "diarize")])):
            command = Path(folder, name)
            command.write_text(COMMAND.format(python=sys.executable, first=first, place=place))
            command.chmod(0o755)
        server = subprocess.Popen(
            [sys.executable, __file__, place],
            stdin=subprocess.PIPE,  # it ends when this is closed, whatever happens here
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert server.stdin and server.stdout
        with server:
            assert server.stdout.read(1) == b"0", "it listens"
            yield Path(folder)
            server.stdin.close()


def serve(place: str) -> None:
    """Fork for whoever calls, until the standard input ends."""
    own = sys.path[1:]
    imported = False
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        os.write(1, b"0")
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            ready, _, _ = select.select([listener, 0], [], [])
            if listener not in ready:
                return
            connection, _ = listener.accept()
            if not imported:
                for name in IMPORTED:
                    importlib.import_module(name)
                gc.freeze()
                imported = True
            if os.fork() == 0:
                listener.close()
                answer_call(connection, own)
            connection.close()


def answer_call(connection: socket.socket, own: list[str]) -> NoReturn:
    """Be the process that a caller asked for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as file:
        arguments, folder, environment = json.load(file)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        # An old one asked when it was opened whether it can seek, and was another file then.
        old = getattr(sys, name)
        kind = {"encoding": old.encoding, "errors": old.errors, "closefd": False}
        new = open(number, "w" if number else "r", 1 if old.line_buffering else -1, **kind)  # noqa: SIM115
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    module = arguments[0] == "-m"
    sys.argv = arguments[1:] if module else arguments
    given = environment.get("PYTHONPATH", "").split(os.pathsep)
    beside = folder if module else str(Path(arguments[0]).resolve().parent)
    sys.path[:] = [beside, *filter(None, given), *own]
    importlib.invalidate_caches()
    status = 0
    try:
        if module:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        status = 1
        traceback.print_exc()
    # All that an interpreter does at its end, except to take down what was imported.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    connection.send(bytes([status]))
    os._exit(status)


if __name__ == "__main__":
    serve(sys.argv[1])
