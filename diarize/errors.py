"""What the toolkit raises when it is handed something that it cannot use."""

from __future__ import annotations


class InputError(ValueError):
    """Input or arguments that cannot be used.

    The message is one plain line that names the file, if there is one, and the reason; the command
    line prints it as it stands and leaves with exit code 2.
    """


class TrainingError(RuntimeError):
    """A training that cannot go on; the message is one plain line."""
