"""The script that tells how often known voices are missed, and strangers named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.voiceprints import Voiceprints


@pytest.fixture(scope="module")
def known_voices(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("conversations/known_voices.py")


def voices(*rows: int) -> Voiceprints:
    return Voiceprints(
        tuple(f"s{n}" for n in range(len(rows))), np.eye(8, dtype=np.float32)[[*rows]]
    )


def test_who_is_who(known_voices: ModuleType) -> None:
    reference, found = Annotation(), Annotation()
    for annotation, turns in (
        (reference, [(0, 4, "x"), (5, 8, "y")]),
        (found, [(0, 5, "a"), (6, 12, "b"), (2, 3, "c")]),
    ):
        for begin, end, name in turns:
            annotation[Segment(begin, end), name] = name
    truth = known_voices.who_is_who(found, reference, ["c", "a", "b"])
    assert truth == [None, "x", None]  # b holds y for a third of its time only
    assert known_voices.who_is_who(Annotation(), reference, []) == []


def test_errors_of_voices_that_are_clear(known_voices: ModuleType) -> None:
    names = "abcdefgh"
    clips = Voiceprints(tuple(names), np.eye(8, dtype=np.float32))
    talks = [(0, 1, 2), (2, 3), (4, 5, 0), (6, 7, 1), (3, 5), (7, 2)]
    heard = [known_voices.Heard(voices(*talk), [names[i] for i in talk]) for talk in talks]
    assert known_voices.naming_errors(heard, clips, 0.5) == [0.0, 0.0, 0.0]
    assert known_voices.naming_errors(heard, clips, 1.5) == [0.0, 1.0, 0.0]
    assert known_voices.naming_errors(heard, clips, -0.5)[0] > 0.5
    assert known_voices.linking_errors(heard, 0.5) == [0.0, 0.0]
    assert known_voices.linking_errors(heard, 1.5) == [0.0, 1.0]


def test_speech_is_divided(known_voices: ModuleType, talk: Path) -> None:
    from diarize.mixing.speech import Utterance

    clip, rest = known_voices.divide([Utterance(talk, "x")])
    assert (len(clip), len(rest)) == (6 * 16_000, 1)
    assert len(rest[0]) == 6 * 16_000
    clip, rest = known_voices.divide([Utterance(talk, "x"), Utterance(talk, "x")])
    assert len(clip) == len(rest[0]) == 12 * 16_000
