"""NAME=VALUE pairs of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from diarize.errors import InputError

Value = int | float | bool | str | None

IN_PYTHON = {"base": "GCR in Python"}
"""Options whose values cannot be typed."""

_WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}


def parse_params(pairs: Iterable[str], elsewhere: Mapping[str, str]) -> dict[str, Value]:
    """Parameters of a backend, as ``-p NAME=VALUE`` gives them; blanks around both are dropped.

    A value is read as an integer, a number, ``true``, ``false`` or ``none``, else as text; a hyphen
    in a name stands for an underscore.

    Raises:
        InputError: no ``=``, no name, a name given twice, or one that belongs elsewhere.
    """
    return {name: _parse_value(text) for name, text in _named_texts(pairs, elsewhere)}


def parse_options(
    backend: str, pairs: Iterable[str], elsewhere: Mapping[str, str]
) -> dict[str, Value]:
    """As `parse_params`, of a backend that is known.

    Raises:
        InputError, ValueError: as there, or the backend has no such option; says which there are.
    """
    from diarize import clustering

    params = parse_params(pairs, elsewhere)
    clustering.require_options(backend, params, {**elsewhere, **IN_PYTHON}, "-p takes")
    return params


def parse_space(pairs: Iterable[str], elsewhere: Mapping[str, str]) -> dict[str, tuple[Value, ...]]:
    """Candidates of parameters, as ``-p NAME=V1,V2,...`` gives them; else as `parse_params`.

    Raises:
        InputError: as there, a candidate given twice, or an empty one.
    """
    space: dict[str, tuple[Value, ...]] = {}
    for name, text in _named_texts(pairs, elsewhere):
        texts = [part.strip() for part in text.split(",")]
        if "" in texts:
            raise InputError(f"-p {name}: VALUE,VALUE,... expected, not {text!r}")
        values = tuple(_parse_value(part) for part in texts)
        if len(set(values)) < len(values):
            raise InputError(f"-p {name}: a value is given twice")
        space[name] = values
    return space


def _named_texts(pairs: Iterable[str], elsewhere: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Name and text of each pair."""
    names = set()
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise InputError(f"-p {pair!r}: NAME=VALUE expected")
        if (instead := elsewhere.get(name) or IN_PYTHON.get(name)) is not None:
            raise InputError(f"-p {name}: use {instead}")
        if name in names:
            raise InputError(f"-p {name}: given twice")
        names.add(name)
        yield name, text.strip()


def _parse_value(text: str) -> Value:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
