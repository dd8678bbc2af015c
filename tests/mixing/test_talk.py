from pathlib import Path

import numpy as np
import pytest

from diarize.errors import InputError
from diarize.mixing.talk import Talk, find_talks

TURNS = [(4.0, 6.0, "B"), (0.0, 5.0, "A"), (5.5, 7.0, "C"), (8.0, 9.0, "A")]


def write(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        line = f"SPEAKER {name} 1 0.500 1.000 <NA> <NA> {name}1 <NA> <NA>\n"
        (folder / f"{name}.rttm").write_text(line)


def test_turns_are_sorted_and_their_speakers_numbered():
    talk = Talk.of("talk", TURNS)
    assert talk.times[:, 0].tolist() == [0.0, 4.0, 5.5, 8.0]
    assert talk.speakers.tolist() == [0, 1, 2, 0]
    assert (talk.seconds, talk.n_speakers) == (9.0, 3)
    assert talk.overlap == pytest.approx(1.5)


def test_a_talk_without_turns():
    talk = Talk.of("silence", [])
    assert (talk.seconds, talk.n_speakers, talk.overlap) == (0.0, 0, 0.0)
    assert talk.cut(0.0, 1.0).n_speakers == 0


def test_a_stretch_counts_from_its_begin():
    part = Talk.of("talk", TURNS).cut(5.2, 3.3)
    np.testing.assert_allclose(part.times, [[0.0, 0.8], [0.3, 1.8], [2.8, 3.3]])
    assert part.speakers.tolist() == [0, 1, 2]  # B, C, A
    assert part.overlap == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(20))
def test_overlap_is_that_of_instants(seed):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 50, (8, 2)), axis=1) / 10 + [0, 0.1]
    talk = Talk.of("t", [(b, e, str(i)) for i, (b, e) in enumerate(times)])
    held = np.zeros(60, int)
    for begin, end in np.round(times * 10).astype(int):
        held[begin:end] += 1
    assert talk.overlap == pytest.approx(np.maximum(held - 1, 0).sum() / 10)


def test_folders_and_parts_of_them(tmp_path):
    write(tmp_path / "x", "c", "a", "b")
    write(tmp_path / "y", "d")
    assert [talk.uri for talk in find_talks([f"{tmp_path}/x"])] == ["a", "b", "c"]
    assert [talk.uri for talk in find_talks([f"{tmp_path}/x:1/2"])] == ["b"]
    names = [f"{tmp_path}/y", f"{tmp_path}/x:0/2", f"{tmp_path}/y"]
    assert [talk.uri for talk in find_talks(names)] == ["d", "a", "c", "d"]
    write(tmp_path / "z:0", "e")
    assert [talk.uri for talk in find_talks([f"{tmp_path}/z:0"])] == ["e"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("x:2/2", r"x:2/2: parts of 2 are numbered from 0 to 1"),
        ("x:1/2", "no turns to replay in .*x"),
        ("no", "no"),
        ("empty", r"no \.rttm file in this folder"),
    ],
)
def test_what_cannot_be_replayed_is_refused(tmp_path, name, reason):
    write(tmp_path / "x", "a")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=reason):
        find_talks([str(tmp_path / name)])
