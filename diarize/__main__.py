"""The command line, as `diarize` and as `python -m diarize`."""

from __future__ import annotations

import signal
from typing import NoReturn


def main() -> NoReturn:
    """Load the command line and run it; who interrupts while it loads sees no traceback."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diarize.cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
