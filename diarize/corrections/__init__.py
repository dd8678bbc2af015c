"""What a person corrects: a few stretches of a recording, which bind its result."""

from __future__ import annotations

from diarize.corrections.claims import Claim, Corrections, Kind

__all__ = ["Claim", "Corrections", "Kind"]
