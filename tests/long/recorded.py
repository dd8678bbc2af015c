"""What fixed recordings and options give, byte for byte, before and after code is moved.

    python tests/long/recorded.py make FOLDER [--shared DIR] [--only TEXT]
    python tests/long/recorded.py compare BEFORE AFTER

`make` writes one folder for each case: what the command printed, its exit code, its files. Run it
with each version (`PYTHONPATH=...`), then compare: what differs is listed, and the exit code is 1.
Numbers of floating point depend on processor and libraries: compare what one machine made.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
TALK, TRUTH = "conversation.ogg", "conversation.rttm"
BACKENDS = ("ckm", "gcr", "cap", "links", "ac", "ap", "fcm", "gmm", "dpgmm", "ca", "forest")
FORMATS = ("rttm", "json", "csv", "tsv", "textgrid", "eaf", "audacity", "srt", "vtt", "uem")
SHORT = ("--end", 60)
CORRECTIONS = """SPEAKER conversation 1 2.0 3.0 <NA> <NA> anna <NA> <NA>
SPEAKER conversation 1 30.0 2.0 <NA> <NA> ben <NA> <NA>
SPEAKER conversation 1 41.0 1.5 <NA> <NA> anna <NA> <NA>
"""
Case = tuple[str, Sequence[object]]


def cases(shared: Path | None) -> Iterator[Case]:
    """Name and arguments of every command; {out} is a file or folder of its own."""
    for name in BACKENDS:
        yield f"run-{name}", ("run", TALK, *SHORT, "--backend", name)
        yield f"run-{name}-json", ("run", TALK, *SHORT, "--backend", name, "--format", "json",
                                   "--num-speakers", 4, "--max-set-size", 3)  # fmt: skip
        yield f"cluster-{name}", ("cluster", "rows.npz", "--out", "-", "--backend", name,
                                  "--compose", "sum")  # fmt: skip
        yield f"cluster-{name}-told", ("cluster", "rows.npz", "--out", "-", "--backend", name,
                                       "--num-speakers", 3, "--compose", "mean")  # fmt: skip
    for name in ("oracle", "osc"):
        yield f"run-{name}", ("run", TALK, "--backend", name, "--reference", TRUTH)
        yield f"cluster-{name}", ("cluster", "rows.npz", "--backend", name, "--truth", "sets.json",
                                  "--out", "-", "--compose", "mean")  # fmt: skip
    yield "run-whole", ("run", TALK, "--format", "json")
    yield "formats", ("run", TALK, *SHORT, *(x for f in FORMATS for x in ("--format", f)),
                      "--out", "{out}/")  # fmt: skip
    for name, options in {
        "silero": ("--vad", "silero", "--voices", "none"),
        "silero-counts": ("--vad", "silero", "--vad-threshold", 0.5),
        "no-vad": ("--vad", "none", "--start", 10),
        "vad-file": ("--vad", TRUTH),
        "tight": ("--preset", "tight"),
        "turns": ("--preset", "turns"),
        "exclusive": ("--exclusive", "--format", "json"),
        "corrected": ("--corrections", "told.rttm", "--format", "json"),
        "corrected-told": ("--corrections", "told.rttm", "--num-speakers", 3, "--backend", "cap"),
        "windows": ("--window", 1.5, "--step", 0.25, "--switch", 0.5, "--overlap", 0.2),
        "style": ("--min-turn", 0.5, "--min-gap", 1, "--format", "csv"),
        "few": ("--max-speakers", 2),
        "one": ("--num-speakers", 1, "--max-set-size", 1),
        "many": ("--min-speakers", 7, "--max-speakers", 8, "--max-set-size", 3),
        "known": ("--known", f"anna={TALK}", "--format", "json"),
        "report": ("--report", "{out}/page.html", "--out", "{out}/turns.rttm"),
        "separate": ("--channels", "separate"),
    }.items():
        end = () if name in ("no-vad", "few") else SHORT
        yield f"run-{name}", ("run", TALK, *end, *options)
    yield "linked", ("run", TALK, "part.wav", *SHORT, "--link-speakers", "--out", "{out}/")
    yield "per-speaker", ("run", "part.wav", "--channels", "per-speaker")
    yield "voices", ("run", TALK, *SHORT, "--export-speakers", "{out}/voices.npz",
                     "--out", "{out}/turns.rttm")  # fmt: skip
    for name, options in {
        "live": (),
        "latency": ("--latency", 1, "--max-set-size", 1),
        "refined": ("--refine", 15),
        "told": ("--refine", 20, "--num-speakers", 4, "--refine-backend", "cap"),
        "silero": ("--vad", "silero", "--format", "rttm"),
    }.items():
        yield f"stream-{name}", ("stream", "part.wav", "--speed", "max", *options,
                                 "--out", "{out}/final.rttm")  # fmt: skip
    yield "embed", ("embed", "list.tsv", "--out", "{out}/rows.npz")
    yield "score", ("score", TRUTH, "hypothesis.rttm", "--json")
    yield "score-table", ("score", TRUTH, "hypothesis.rttm", "--collar", 0.25, "--skip-overlap")
    for name in FORMATS[:-1]:
        yield f"convert-{name}", ("convert", TRUTH, "-", "--to", name)
    yield "label", ("label", "words.json", "--turns", TRUTH, "--out", "-", "--format", "txt")
    yield "backends", ("backends",)
    if shared is not None:
        for path in sorted((shared / "meetings").rglob("*.flac")):
            yield f"meeting-{path.stem}", ("run", path, "--format", "json")


def prepare(folder: Path) -> None:
    """Lay out what the commands read."""
    import soundfile

    for name in (TALK, TRUTH):
        shutil.copy(ROOT / "egs" / name, folder)
    samples, rate = soundfile.read(folder / TALK)
    soundfile.write(folder / "part.wav", np.stack([samples, samples[::-1]], 1)[: 45 * rate], rate)
    (folder / "told.rttm").write_text(CORRECTIONS)
    (folder / "list.tsv").write_text("part.wav\t1\t3\npart.wav\t8\t9.5\n")
    rng = np.random.default_rng(0)
    centres, sets = rng.standard_normal((3, 256)), [[0], [1], [2], [0, 1], [1, 2]]
    truth = [sets[i % 5] for i in range(60)]
    rows = np.stack([centres[members].mean(axis=0) for members in truth])
    rows += 0.02 * rng.standard_normal(rows.shape)
    np.savez(folder / "rows.npz", embeddings=rows / np.linalg.norm(rows, axis=1, keepdims=True))
    (folder / "sets.json").write_text(json.dumps({"sets": truth}))
    words = [{"word": f" w{i}", "start": i * 0.7, "end": i * 0.7 + 0.5} for i in range(120)]
    whole = {"start": 0.0, "end": 84.0, "text": "", "words": words}
    (folder / "words.json").write_text(json.dumps({"segments": [whole]}))
    lines = (folder / TRUTH).read_text().splitlines()
    (folder / "hypothesis.rttm").write_text("\n".join(lines[::2] + lines[1::3]) + "\n")


def make(folder: Path, shared: Path | None, only: str) -> None:
    """Run all cases that have not been run."""
    from diarize.cli import run_command

    work = folder / "inputs"
    work.mkdir(parents=True, exist_ok=True)
    prepare(work)
    os.chdir(work)
    for name, arguments in cases(None if shared is None else shared.resolve()):
        out = folder / name
        if only not in name or (out / "said").exists():
            continue
        shutil.rmtree(out, ignore_errors=True)
        shutil.rmtree("out", ignore_errors=True)
        out.mkdir()
        # Paths stand in results: the same for every folder.
        given = [str(argument).replace("{out}", "out") for argument in arguments]
        Path("out").mkdir()
        printed, said = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            status = run_command(given)
        printed.flush()
        (out / "printed").write_bytes(printed.buffer.getvalue())
        notes = [line for line in said.getvalue().splitlines() if line.startswith("diarize: ")]
        shutil.move("out", out / "files")
        (out / "said").write_text("\n".join([f"exit {status}", *notes]) + "\n")
        print(f"{name}: exit {status}", file=sys.stderr)


def compare(before: Path, after: Path) -> int:
    """List what differs; how many cases do."""
    differing = 0
    for name in sorted({p.name for folder in (before, after) for p in folder.iterdir()}):
        pairs = [{p.relative_to(f / name) for p in (f / name).rglob("*") if p.is_file()}
                 for f in (before, after)]  # fmt: skip
        different = [
            str(path)
            for path in sorted(pairs[0] | pairs[1])
            if not _same(before / name / path, after / name / path)
        ]
        if different:
            print(f"{name}: {', '.join(different)}")
            differing += 1
    print(f"{differing} differ")
    return differing


def _same(one: Path, other: Path) -> bool:
    """Whether two files are equal, but for dates, folders and how long it took."""
    if not (one.is_file() and other.is_file()):
        return False
    if one.name.startswith(".diarize"):  # hashes of what lies beside it
        return True
    if one.suffix == ".npz":
        with np.load(one) as a, np.load(other) as b:
            return a.files == b.files and all(np.array_equal(a[k], b[k]) for k in a.files)
    return filecmp.cmp(one, other, shallow=False) or _plain(one) == _plain(other)


def _plain(path: Path) -> str:
    return re.sub(
        r'"?(real_time_factor|DATE=|MEDIA_URL=)"?:?[^,\n>]*', "", path.read_text("utf-8", "replace")
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("folder", type=Path)
    making.add_argument("--shared", type=Path)
    making.add_argument("--only", default="", help="cases whose names hold this")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "make":
        make(given.folder.resolve(), given.shared, given.only)
    else:
        sys.exit(bool(compare(given.before, given.after)))


if __name__ == "__main__":
    main()
