"""What `diarize stream` shows on a terminal: who speaks now, the last minute, talk time each."""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from diarize.cli.listening import JsonLines, RttmLines, Sink

if TYPE_CHECKING:
    from diarize.streaming import Turn

SHOWN = 60.0  # seconds of the timeline
NOW = 0.5  # seconds before the end of what is decided that count as now
PER_SECOND = 8  # pictures, at most
LEAST_COLUMNS, MOST_COLUMNS = 10, 120  # of the timeline
COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")


def make_sink(format: str | None, uri: str) -> contextlib.AbstractContextManager[Sink]:
    """What `--format` asks for; without it, a live view on a terminal and else JSON lines."""
    if format == "rttm":
        return contextlib.nullcontext(RttmLines(uri))
    if format is None and sys.stdout is not None and sys.stdout.isatty():
        return LiveView(Console(), uri)
    return contextlib.nullcontext(JsonLines())


class LiveView:
    """Keeps a picture of the stream on the terminal up to date."""

    def __init__(self, console: Console, name: str) -> None:
        self.console, self.name = console, name
        self._recent: deque[Turn] = deque()
        self._seconds: dict[str, float] = {}
        self._heard = self._decided = 0.0
        self._live = Live(
            console=console, auto_refresh=False, transient=True, get_renderable=self.picture
        )
        self._drawn = -1.0

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()
        self.console.print(self.picture())  # the last picture stays, in full

    def show(self, turns: Sequence[Turn], heard: float, decided: float) -> None:
        """Take in what was said; what was settled changes nothing of the present."""
        self._heard, self._decided = heard, decided
        for turn in turns:
            if not turn.final:
                self._recent.append(turn)
                for name in turn.speakers:
                    self._seconds[name] = self._seconds.get(name, 0.0) + turn.end - turn.start
        while self._recent and self._recent[0].end < decided - SHOWN:
            self._recent.popleft()
        if not 0 <= heard - self._drawn < 1 / PER_SECOND:
            self._drawn = heard
            self._live.refresh()

    def rename(self, names: dict[str, str]) -> None:
        """Two names that became one have one row."""
        for gone, stays in names.items():
            self._seconds[stays] = self._seconds.get(stays, 0.0) + self._seconds.pop(gone, 0.0)
            self._recent = deque(
                turn._replace(
                    speakers=tuple(sorted({stays if n == gone else n for n in turn.speakers}))
                )
                for turn in self._recent
            )

    def tell_map(self, names: dict[str, str | None]) -> None:
        """The picture is of the live names."""

    def picture(self) -> RenderableType:
        """A line on the present, and a row for each speaker."""
        now = {
            name
            for turn in self._recent
            if turn.end > self._decided - NOW
            for name in turn.speakers
        }
        head = Text(f"{self.name}  {_clock(self._heard)}  ", style="bold")
        head.append(" + ".join(sorted(now)) or "nobody", style="bold reverse" if now else "dim")
        head.append(" speaks" if len(now) < 2 else " speak", style="bold")
        width = max(LEAST_COLUMNS, min(MOST_COLUMNS, self.console.width - 24))
        table = Table.grid(padding=(0, 1))
        for row, (name, seconds) in enumerate(self._seconds.items()):
            style = COLOURS[row % len(COLOURS)]
            table.add_row(
                Text("●" if name in now else " ", style=style),
                Text(name, style=style),
                Text(self._lane(name, width), style=style, no_wrap=True),
                Text(_clock(seconds)),
            )
        if self._seconds:
            ruler = f"-{SHOWN:.0f} s".ljust(width - 3) + "now"
            table.add_row("", "", Text(ruler, style="dim", no_wrap=True), Text("talk", style="dim"))
        return Group(head, table)

    def _lane(self, name: str, width: int) -> str:
        """One speaker's part of the timeline, one character for each slice of time."""
        begin = self._decided - SHOWN
        cells = [" "] * width
        for turn in self._recent:
            if name not in turn.speakers:
                continue
            first = max(0, int((turn.start - begin) / SHOWN * width))
            last = min(width - 1, int((turn.end - begin) / SHOWN * width - 1e-9))
            mark = "█" if len(turn.speakers) == 1 else "▓"
            for column in range(first, last + 1):
                cells[column] = mark
        return "".join(cells)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
