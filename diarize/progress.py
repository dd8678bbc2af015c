"""How whoever waits is told how far a long step has come."""

from __future__ import annotations

from collections.abc import Callable

Hook = Callable[[str, float, float], None]
"""Called as `hook(step, done, total)`, whatever the unit of the two is."""
