"""Feed a reader what a fuzzer finds by watching which code runs: fuzz_reader.py NAME SECONDS.

NAME is one of tests/fuzz/readers.py. Needs atheris (pip install 'diarize-sets[fuzz]'). Ends with an
error, and names the file that holds the input, where a reader raises what it does not name.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType

import atheris

WEIGHTS = ("model", "fitted", "splitnet", "checkpoint")


def load_readers() -> ModuleType:
    """tests/fuzz/readers.py, which is in no package."""
    path = Path(__file__).parents[1] / "fuzz" / "readers.py"
    spec = importlib.util.spec_from_file_location("readers", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with atheris.instrument_imports(include=["diarize"]):
        spec.loader.exec_module(module)
    return module


def main() -> None:
    """Read the arguments, and fuzz until the time is over."""
    name, seconds = sys.argv[1:]
    warnings.simplefilter("ignore")
    module = load_readers()
    folder = Path(tempfile.mkdtemp())
    with atheris.instrument_imports(include=["diarize"]):
        table = module.weights_readers(folder) if name in WEIGHTS else module.readers(folder)
    reader = table[name]
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(reader.seeds):
        (corpus / str(number)).write_bytes(seed)
    path = folder / f"talk{reader.suffix}"
    quiet = open(os.devnull, "w")  # noqa: SIM115 - until the process ends

    def once(content: bytes) -> None:
        with contextlib.redirect_stderr(quiet):
            module.refusal(reader, path, content)

    # libFuzzer ends the process: what it prints last is the number of runs.
    options = [
        f"-artifact_prefix={folder}/",
        f"-max_total_time={seconds}",
        "-max_len=8192",
        "-rss_limit_mb=2048",
        "-timeout=20",
    ]
    atheris.Setup(
        [sys.argv[0], str(corpus), *options, "-verbosity=0", "-print_final_stats=1"], once
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
