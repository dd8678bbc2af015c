"""A result as one web page that needs nothing but itself: no network, no server, no other file."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pyannote.core import Annotation

from diarize.audio import Recording
from diarize.errors import InputError
from diarize.formats.turns import Confidence, written_turns
from diarize.report.errors import error_intervals, partners
from diarize.report.figures import talk_figures
from diarize.report.sound import page_sound
from diarize.scoring import score_files
from diarize.scoring.elements import decompose
from diarize.storage.files import atomic_text, require_writable
from diarize.storage.version import __version__
from diarize.voices.number import possible

_PAGE = Path(__file__).parent / "page"
# In the order in which they build on each other; they share one scope.
_SCRIPTS = (
    "basics.js", "player.js", "timeline.js", "speakers.js", "charts.js", "turns.js", "start.js",
)  # fmt: skip


def write_page(
    path: str | Path,
    recording: Recording,
    annotation: Annotation,
    *,
    confidence: Confidence | None = None,
    reference: Annotation | None = None,
    number: Mapping[int, float] | None = None,
    several: np.ndarray | None = None,
) -> None:
    """Write a page that plays a recording and shows who spoke when.

    The page holds the sound (see `diarize.report.sound` for how much at most), and everything that
    a name could do to it is prevented twice: names reach it as JSON and are shown as text only, and
    its content security policy allows no script but its own, and no network.

    Args:
        path: of the page.
        recording: is decoded once more, block by block.
        annotation: its turns.
        confidence: of segments and tracks of the annotation.
        reference: the true turns, with which errors are marked by kind.
        number: how probable each number of speakers is; None: nobody says.
        several: begin and end, seconds, of where several were heard at once, shape (m, 2).

    Raises:
        InputError: the recording is damaged, or the path cannot be written to.
    """
    sound = page_sound(recording)
    figures = talk_figures(annotation)
    place = {speaker: index for index, speaker in enumerate(figures.speakers)}
    content = {
        "uri": recording.uri,
        "file": recording.label,
        "version": __version__,
        "start": recording.start,
        "end": max([recording.start + recording.duration, *_ends(annotation, reference)]),
        "sound": {
            "start": sound.start,
            "duration": sound.duration,
            "peaks": base64.b64encode(sound.peaks.tobytes()).decode("ascii"),
        },
        "speakers": list(figures.speakers),
        "number": [[n, round(p, 3)] for n, p in sorted((number or {}).items())],
        "possible": possible(number or {}, len(figures.speakers)),
        "turns": [
            [turn.start, turn.end, place[turn.speaker], turn.confidence]
            for turn in written_turns(annotation, confidence)
        ],
        "several": [] if several is None else np.round(several, 3).tolist(),
        "overlap": [[part.start, part.end] for part in annotation.get_overlap()],
        "talk": figures.talk.tolist(),
        "alone": figures.alone.tolist(),
        "atOnce": figures.at_once.tolist(),
        "follows": figures.follows.tolist(),
        "truth": None if reference is None else _truth(recording.uri, annotation, reference),
    }
    atomic_text(path, page_text(content, sound.mp3))


def page_text(content: Mapping[str, Any], mp3: bytes | None) -> str:
    """The page, its parts put into `index.html` in one pass, so that none is searched in turn."""
    licence = _read("vendor/wavesurfer-LICENSE.txt")
    library = f"/*! wavesurfer.js\n{licence}*/\n{_read('vendor/wavesurfer.min.js')}"
    script = "\n".join(['"use strict";', *map(_read, _SCRIPTS)])
    style = _read("style.css")
    data = _json(content)
    # Wavesurfer writes a style of its own, which has to be let in. Nothing else in the page makes
    # markup of anything, so the nonce need not be secret.
    nonce = hashlib.sha256(data.encode("ascii")).hexdigest()[:32]
    policy = (
        f"default-src 'none'; script-src {_hash(library)} {_hash(script)}; "
        f"style-src {_hash(style)} 'nonce-{nonce}'; media-src blob:; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "nonce": nonce,
        "style": style,
        "data": data,
        "mp3": "" if mp3 is None else base64.b64encode(mp3).decode("ascii"),
        "library": library,
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read("index.html"))


def _truth(uri: str, annotation: Annotation, reference: Annotation) -> dict[str, Any]:
    """The reference's turns, the errors against it, and the scores."""
    elements = decompose(reference, annotation)
    speakers = talk_figures(reference).speakers
    labels = [str(label) for label in annotation.labels()]
    true_labels = [str(label) for label in reference.labels()]
    partner = {true_labels[row]: labels[column] for row, column in partners(elements)}
    number = {speaker: index for index, speaker in enumerate(speakers)}
    report = score_files({uri: reference}, {uri: annotation})
    return {
        "speakers": list(speakers),
        "partners": [partner.get(speaker) for speaker in speakers],
        "turns": [
            [turn.start, turn.end, number[turn.speaker]] for turn in written_turns(reference)
        ],
        "errors": error_intervals(elements),
        "scores": report.to_json_dict()["total"],
        "protocol": report.protocol,
    }


def _ends(*annotations: Annotation | None) -> list[float]:
    """Where turns end, of the annotations that are there and not empty."""
    return [float(part.get_timeline().extent().end) for part in annotations if part]


def _json(content: Mapping[str, Any]) -> str:
    """JSON that can stand in a script element: nothing in it ends one, or begins a comment."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)  # ASCII: U+2028 is escaped
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _hash(text: str) -> str:
    """How a content security policy names a script or a style that stands in the page."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def require_page(path: Path) -> None:
    """Refuse a web page that could not be written, or that no browser would open.

    Raises:
        InputError: it cannot be written, or does not end in .html or .htm.
    """
    if path.suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"{path}: a web page ends in .html")
    require_writable(path)
