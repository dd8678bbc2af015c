"""NAME=VALUE pairs."""

from __future__ import annotations

import pytest

from diarize.cli.params import parse_params, parse_space
from diarize.errors import InputError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-3", -3),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("none", None),
        ("ward", "ward"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_values(text: str, value: object) -> None:
    (found,) = parse_params([f"name={text}"], {}).values()
    assert (type(found), found) == (type(value), value)


def test_names() -> None:
    assert parse_params(["n-restarts=3", " b = 2 "], {}) == {"n_restarts": 3, "b": 2}
    assert parse_params([], {}) == {}


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        (["x"], "-p 'x': NAME=VALUE expected"),
        (["=3"], "-p '=3': NAME=VALUE expected"),
        (["x=1", "x=2"], "-p x: given twice"),
        (["n-speakers=2"], "-p n_speakers: use --num-speakers"),
    ],
)
def test_what_cannot_be_used_is_refused(pairs: list[str], reason: str) -> None:
    with pytest.raises(InputError, match=f"^{reason}$"):
        parse_params(pairs, {"n_speakers": "--num-speakers"})


def test_candidates_of_a_search() -> None:
    pairs = ["k = 2, 3,none", "rate=0.5", "soft=true,false"]
    assert parse_space(pairs, {}) == {"k": (2, 3, None), "rate": (0.5,), "soft": (True, False)}


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        (["k=2,,3"], "-p k: VALUE,VALUE,... expected, not '2,,3'"),
        (["k="], "-p k: VALUE,VALUE,... expected, not ''"),
        (["k=2,2"], "-p k: a value is given twice"),
        (["k=2", "k=3"], "-p k: given twice"),
        (["seed=2"], "-p seed: use --seed"),
    ],
)
def test_a_search_that_cannot_be_read(pairs: list[str], reason: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_space(pairs, {"seed": "--seed"})
    assert str(caught.value) == reason
