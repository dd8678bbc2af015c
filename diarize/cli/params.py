"""NAME=VALUE pairs of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from diarize.errors import InputError

Value = int | float | bool | str | None

_WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}


def parse_params(pairs: Iterable[str], elsewhere: Mapping[str, str]) -> dict[str, Value]:
    """Parameters of a backend, as ``-p NAME=VALUE`` gives them; blanks around both are dropped.

    A value is read as an integer, a number, ``true``, ``false`` or ``none``, else as text; a hyphen
    in a name stands for an underscore.

    Args:
        pairs: the texts.
        elsewhere: parameters that the command has an option of its own for, and its spelling.

    Raises:
        InputError: no ``=``, no name, a name given twice, or one that belongs elsewhere.
    """
    params: dict[str, Value] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise InputError(f"-p {pair!r}: NAME=VALUE expected")
        if name in elsewhere:
            raise InputError(f"-p {name}: use {elsewhere[name]}")
        if name in params:
            raise InputError(f"-p {name}: given twice")
        params[name] = _parse_value(text.strip())
    return params


def _parse_value(text: str) -> Value:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
