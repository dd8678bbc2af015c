"""The script that tells how often known voices are missed, and strangers named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.voices.vectors import Voiceprints


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
    corpus = known_voices.Corpus(clips, heard)
    none, all_of_them = 1e-25, 1 - 1e-15  # thresholds below and above whatever is found
    assert known_voices.naming_errors(corpus, 0.5) == [0.0, 0.0, 0.0]
    assert known_voices.naming_errors(corpus, all_of_them) == [0.0, 1.0, 0.0]
    assert known_voices.naming_errors(corpus, none)[0] > 0.5
    assert known_voices.linking_errors(heard, 0.5) == [0.0, 0.0]
    assert known_voices.linking_errors(heard, all_of_them) == [0.0, 1.0]


def test_what_was_heard_is_written_and_read(known_voices: ModuleType, tmp_path: Path) -> None:
    clips = Voiceprints(("x", "y"), np.eye(2, 8, dtype=np.float32), np.array([3.0, 6.0]))
    talk = Voiceprints(("x", "SPEAKER_01"), np.eye(2, 8, dtype=np.float32), np.array([9.0, 1.0]))
    corpus = known_voices.Corpus(clips, [known_voices.Heard(talk, ["x", None])])
    known_voices.save(tmp_path / "a.npz", {"hums": corpus})
    read = known_voices.load([tmp_path / "a.npz"])["hums"]
    assert read.clips.names == ("x", "y") and read.clips.seconds.tolist() == [3.0, 6.0]
    ((voices, truth),) = read.heard
    assert (voices.names, truth, voices.seconds.tolist()) == (talk.names, ["x", None], [9.0, 1.0])
    np.testing.assert_array_equal(voices.centroids, talk.centroids)


def test_pairs_and_the_fit(
    known_voices: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs drawn by known log odds give them back."""
    rng = np.random.default_rng(0)
    rows = np.stack([rng.uniform(0, 1, 20_000), rng.uniform(0.1, 1, 20_000)], axis=1)
    odds = -6 + 10 * rows[:, 0] + 2 * rows[:, 1]
    same = rng.random(len(rows)) < 1 / (1 + np.exp(-odds))
    with monkeypatch.context() as patched:
        patched.setattr(known_voices, "pairs", lambda _: (rows, same))
        known_voices.fit({"hums": None})
    found = [float(x) for x in capsys.readouterr().out.partition("= ")[2].split(",")]
    prior = np.log(same.mean() / (1 - same.mean()))  # is taken off: answers count alike
    np.testing.assert_allclose(found, [-6 - prior, 10, 2], atol=0.4)
    clips = Voiceprints(("x", "y"), np.eye(2, 8, dtype=np.float32), np.array([2.0, 4.0]))
    heard = [known_voices.Heard(clips, ["x", "y"]), known_voices.Heard(clips, ["y", None])]
    told, alike = known_voices.pairs(known_voices.Corpus(clips, heard))
    assert len(told) == 4 + 2 + 2 and alike.sum() == 4
    assert told[0].tolist() == [1.0, 1.0]


def test_speech_is_divided(known_voices: ModuleType) -> None:
    long, short = np.arange(5 * 16_000), np.arange(16_000)
    for files, seconds, clip, rest in (
        ([long], 3.0, 2.5, [2.5]),
        ([short, short, short, long], 3.0, 3.0, [5.0]),
        ([short, long], 6.0, 3.0, [3.0]),
    ):
        found, left = known_voices.divide(files, seconds)
        assert len(found) == clip * 16_000
        assert [len(part) / 16_000 for part in left] == rest


def test_small_corpora_are_taken_together(known_voices: ModuleType) -> None:
    from diarize.mixing.speech import Utterance

    files = [Utterance(Path(f"{n}.wav"), f"{c}{n}", c) for c in "ab" for n in range(2)]
    files += [Utterance(Path(f"l{n}.wav"), f"l{n}", "librispeech-dev") for n in range(3)]
    files += [Utterance(Path(f"v{n}.wav"), f"v{n}", "vctk") for n in range(2)]
    found = known_voices.corpora(files)
    assert {name: len(own) for name, own in found.items()} == {"librispeech, vctk": 5, "others": 4}
