"""DER and its parts against NIST's md-eval, over random pairs of reference and hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from diarize.formats import load_annotations, read_uem
from diarize.scoring import score_files

from .md_eval import MD_EVAL, NEEDS_MD_EVAL, Case, draw_case, md_eval, rttm, uem

PARTS = ("missed_detection", "false_alarm", "confusion")
# Of 0.01 points, md-eval's own rounding takes half: it prints hundredths, and hundredths of a
# second, of which there are at least 100 seconds here.
TOLERANCE = 0.01 / 100
LEAST_SECONDS = 100.0
PER_BATCH = 250  # recordings in one call of md-eval

needs_md_eval = pytest.mark.skipif(MD_EVAL is None, reason=NEEDS_MD_EVAL)


def write(folder: Path, cases: dict[str, Case]) -> None:
    (folder / "ref.rttm").write_text(rttm({uri: case.reference for uri, case in cases.items()}))
    (folder / "sys.rttm").write_text(rttm({uri: case.hypothesis for uri, case in cases.items()}))
    (folder / "all.uem").write_text(uem({uri: case.regions for uri, case in cases.items()}))


@needs_md_eval
@pytest.mark.parametrize("collar", [0.0, 0.25])
@pytest.mark.parametrize("skip_overlap", [False, True], ids=["overlap", "no-overlap"])
def test_equals_md_eval(
    tmp_path: Path,
    effort: int,
    record_property: Callable[[str, object], None],
    collar: float,
    skip_overlap: bool,
) -> None:
    generator = np.random.default_rng([int(collar * 100), skip_overlap])
    compared, largest = 0, 0.0
    for batch in range(effort):
        folder = tmp_path / str(batch)
        folder.mkdir()
        cases = {
            # With -1 md-eval scores on after a region that ends where an overlap does.
            f"talk{n}": draw_case(generator, empty_turns=not collar, odd_regions=skip_overlap)
            for n in range(PER_BATCH)
        }
        write(folder, cases)
        report = score_files(
            load_annotations(folder / "ref.rttm"),
            load_annotations(folder / "sys.rttm"),
            uem=read_uem(folder / "all.uem"),
            collar=collar,
            skip_overlap=skip_overlap,
        )
        enough = {u for u, s in report.files.items() if s.reference_seconds >= LEAST_SECONDS}
        write(folder, {uri: case for uri, case in cases.items() if uri in enough})
        theirs = md_eval(folder, "-c", str(collar), *["-1"] * skip_overlap)
        assert theirs.keys() == enough
        for uri, times in theirs.items():
            ours = report.files[uri]
            assert ours.reference_seconds == pytest.approx(times["reference"], abs=0.006), uri
            assert ours.der is not None
            differences = [abs(ours.der - times["der"])]
            for part in PARTS:
                share = times[part] / times["reference"]
                differences.append(abs(getattr(ours, part) - share))
            assert max(differences) < TOLERANCE, (folder, uri, ours, times)
            largest = max(largest, *differences)
        compared += len(theirs)
    assert compared > effort * PER_BATCH / 2  # the others are too short for such figures
    record_property(
        "figure",
        f"md-eval, collar {collar:g} s, overlap {'skipped' if skip_overlap else 'scored'}: "
        f"{compared} random pairs, largest difference {100 * largest:.4f} points",
    )
