"""Speakers of a recording who sound like known voices get their names."""

from __future__ import annotations

from dataclasses import replace
from operator import eq

from diarize.scatter import Likeness
from diarize.timeline.decoding import Decoded
from diarize.voices.vectors import Voiceprints
from diarize.voices.voiceprints import Match, log_odds, matches, name_speakers


def named_after(
    found: Decoded, known: Voiceprints, likeness: Likeness, narrow: bool = False
) -> tuple[Decoded, tuple[Match, ...]]:
    """Call speakers who sound like known voices by their names; the band may be narrow."""
    voices = found.monologues.voiceprints(narrow)
    (called,) = name_speakers([voices], known, likeness)
    now = replace(voices, names=tuple(called[name] for name in voices.names))
    names = {number: called[name] for number, name in found.names.items()}
    return replace(found, names=names), tuple(
        matches(now, known, eq, log_odds(now, known, likeness))
    )
