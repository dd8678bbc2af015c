"""Recordings with their turns: what is found, what is refused, whose voices they hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diarize.errors import InputError
from diarize.formats.labelled import labelled_recordings
from diarize.training.labelled import identifiable_seconds, require_labels, voices_of
from diarize.training.single_speaker import SingleSpeakerSpeech

from ..making import annotation, turns_of, write_hum


def label(folder: Path, stem: str, uri: str | None = None) -> None:
    write_hum(folder / f"{stem}.wav", 100)
    line = f"SPEAKER {uri or stem} 1 0.5 2.0 <NA> <NA> ann <NA> <NA>\n"
    (folder / f"{stem}.rttm").write_text(line)


def test_recordings_and_turns_of_one_stem(tmp_path: Path) -> None:
    label(tmp_path, "monday", uri="another")
    label(tmp_path, "friday")
    (tmp_path / "friday.rttm").rename(tmp_path / "friday.RTTM")  # as older recorders name files
    (tmp_path / "talks.wav").mkdir()
    for hidden in ("._friday.wav", "._friday.rttm"):  # as macOS leaves them
        (tmp_path / hidden).write_bytes(b"\0\5\x16\7")
    found = labelled_recordings([tmp_path])
    assert [recording.uri for recording, _ in found] == ["friday", "monday"]
    assert [turns_of(truth) for _, truth in found] == [[(0.5, 2.5, "ann")]] * 2
    require_labels([tmp_path])


def test_labels_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such folder"):
        require_labels([tmp_path / "nowhere"])
    with pytest.raises(InputError, match="nowhere: no such folder"):
        labelled_recordings([tmp_path / "nowhere"])
    with pytest.raises(InputError, match=r"no recordings"):
        require_labels([tmp_path])
    label(tmp_path, "monday")
    with pytest.raises(InputError, match=r"monday.wav: not a folder"):
        require_labels([tmp_path / "monday.wav"])
    with pytest.raises(InputError, match="named twice"):
        require_labels([tmp_path, tmp_path / "." / ""])
    (tmp_path / "monday.rttm").rename(tmp_path / "tuesday.rttm")
    with pytest.raises(InputError, match=r"monday.wav: no monday.rttm beside it"):
        require_labels([tmp_path])
    with pytest.raises(InputError, match=r"tuesday.rttm: no recording of this name beside it"):
        labelled_recordings([tmp_path])


def test_what_can_be_asked_about() -> None:
    turns = [(0, 6, "ann"), (4, 5, "ben"), (10, 15.5, "ben"), (20, 24, "cleo"), (30, 31, "cleo")]
    # Of ann 3.8 s are left beside ben, one stretch; of cleo's second turn less than is asked for.
    assert identifiable_seconds(annotation(*turns)) == 0.0
    assert identifiable_seconds(annotation(*turns, (40, 43, "cleo"))) == pytest.approx(
        5.3 + 3.8 + 2.8
    )


def test_every_speaker_of_every_recording_is_a_voice() -> None:
    rng = np.random.default_rng(0)
    chunk = rng.normal(scale=0.1, size=16_000).astype(np.float32)
    one = SingleSpeakerSpeech("x", ((chunk, chunk), (chunk,)))
    voices = voices_of([one, one], (1.0, 0.8))
    assert len(voices) == 8
    assert len({*voices.speakers}) == 8
    assert list(voices.corpora[:4]) == ["0 at 1", "0 at 0.8", "0 at 1", "0 at 0.8"]
    assert len({*voices.corpora}) == 4
    seconds = (voices.ends - voices.starts) / 16_000
    assert seconds[:4] == pytest.approx([2.0, 2.5, 1.0, 1.25], abs=0.05)
