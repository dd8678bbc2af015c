"""Ours against what a user would otherwise pick, on the same conversations and regions of speech.

    python benchmarks/peer.py CONVERSATIONS [--work DIR]

CONVERSATIONS is a folder of FLAC and RTTM files that `diarize simulate` wrote. The peer,
Resemblyzer 0.1.4 with SpectralCluster 0.2.22, is installed into an environment of its own in the
work folder. The number of speakers is inferred by both; no collar, overlap scored.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from pathlib import Path

from pyannote.core import Annotation

from diarize.activity import SileroActivity
from diarize.audio import open_recording
from diarize.formats.rttm import read_rttm, rttm_text
from diarize.pipeline import Diarizer
from diarize.scoring import Report, score_files
from diarize.scoring.report import Scores

HERE = Path(__file__).resolve().parent
PEER = ["resemblyzer==0.1.4", "spectralcluster==0.2.22", "setuptools<80", "soundfile"]
PARTS = ("der", "missed_detection", "false_alarm", "confusion", "jer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("conversations", type=Path)
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--backend", default="ckm")
    parser.add_argument("--python", type=Path, help="with the peer installed; default: made anew")
    given = parser.parse_args()
    recordings = sorted(given.conversations.glob("*.flac"))
    if not recordings:
        sys.exit(f"{given.conversations}: no FLAC files")
    references: dict[str, Annotation] = {}
    for path in recordings:
        references |= read_rttm(path.with_suffix(".rttm"))
    given.work.mkdir(parents=True, exist_ok=True)
    python = given.python or install(given.work / "peer")
    listing, hypotheses = given.work / "regions.json", given.work / "peer-rttm"
    hypotheses.mkdir(exist_ok=True)
    activity = SileroActivity()
    regions = {path: activity(open_recording(path)) for path in recordings}
    content = [
        {"audio": str(path.resolve()), "uri": path.stem, "regions": regions[path].tolist()}
        for path in recordings
    ]
    listing.write_text(json.dumps(content))
    subprocess.run(
        [str(python), str(HERE / "peer_resemblyzer.py"), str(listing), str(hypotheses)], check=True
    )
    peer = {
        path.stem: read_rttm(hypotheses / f"{path.stem}.rttm")[path.stem] for path in recordings
    }
    ours = {}
    for path in recordings:
        ours[path.stem] = Diarizer(backend=given.backend, activity=regions[path])(path)
        (given.work / f"{path.stem}.rttm").write_text(rttm_text(ours[path.stem]))
    report({name: score_files(references, h) for name, h in (("ours", ours), ("peer", peer))})


def install(folder: Path) -> Path:
    """An environment with the peer in it."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        constraints = HERE.parent / "constraints.txt"
        command = [str(python), "-m", "pip", "install", "--quiet", "torch", *PEER]
        subprocess.run([*command, "--constraint", str(constraints)], check=True)
    return python


def report(scores: dict[str, Report]) -> None:
    """Totals with their parts, then the conversations with what decides each."""
    print("| |", " | ".join(PARTS), "| count error |")
    print("|---|" + "---|" * (len(PARTS) + 1))
    for name, score in scores.items():
        cells = " | ".join(f"{value:.1f}" for value in percent(score.total))
        print(f"| {name} | {cells} | {score.total.speaker_count_error:.2f} |")
    print("\n| conversation | ours | peer | ours - peer: missed, false alarm, confusion |")
    print("|---|---|---|---|")
    wins = 0
    for uri, scored in scores["ours"].files.items():
        ours, peer = percent(scored), percent(scores["peer"].files[uri])
        wins += ours[0] < peer[0]
        parts = ", ".join(f"{a - b:+.1f}" for a, b in zip(ours[1:4], peer[1:4], strict=True))
        print(f"| {uri} | {ours[0]:.1f} | {peer[0]:.1f} | {parts} |")
    print(f"\nOurs has the lower DER in {wins} of {len(scores['ours'].files)}.")


def percent(scores: Scores) -> list[float]:
    """The parts in percent; what is undefined (no speech at all) counts as zero."""
    return [100 * (getattr(scores, part) or 0.0) for part in PARTS]


if __name__ == "__main__":
    main()
