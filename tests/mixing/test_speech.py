import os

import numpy as np
import pytest
import soundfile

from diarize.errors import InputError
from diarize.mixing.speech import (
    active_frames,
    audio_files,
    by_speaker,
    find_utterances,
    utterances_of,
    without_pauses,
)


def write(path, seconds=0.2):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.zeros(round(seconds * 16_000)), 16_000)


def test_folders_name_the_speakers(tmp_path):
    for name in ("ann/1.wav", "ann/2.flac", "deep/er/bob/1.wav", "ann/notes.txt", "loose.wav"):
        write(tmp_path / name) if not name.endswith("txt") else (tmp_path / name).write_text("x")
    groups = by_speaker(find_utterances(tmp_path))
    assert {name: len(files) for name, files in groups.items()} == {"ann": 2, "deep/er/bob": 1}


def test_a_table_names_speakers_and_splits(tmp_path):
    table = "path\tspeaker\tcorpus\tsex\tseconds\tsplit\na/1.wav\tann\tx\tf\t1\ttrain\n"
    (tmp_path / "speakers.tsv").write_text(table + "b/1.wav\tbob\ty\tm\t1\tdev\n")
    (only,) = find_utterances(tmp_path, "dev")
    assert (only.speaker, only.corpus) == ("bob", "y")
    assert only.path == tmp_path / "b/1.wav"
    assert len(find_utterances(tmp_path)) == 2


def test_a_table_may_have_a_byte_order_mark(tmp_path):
    (tmp_path / "speakers.tsv").write_text("path\tspeaker\nx.wav\tann\n", encoding="utf-8-sig")
    assert [u.speaker for u in find_utterances(tmp_path)] == ["ann"]


def test_several_folders_are_one_set_of_speakers(tmp_path):
    write(tmp_path / "one" / "ann" / "1.wav")
    write(tmp_path / "two" / "bob" / "1.wav")
    found = utterances_of([tmp_path / "one", tmp_path / "two"])
    assert [u.speaker for u in found] == ["ann", "bob"]
    write(tmp_path / "two" / "ann" / "1.wav")
    with pytest.raises(InputError, match=r"two: speaker ann is also in .*one"):
        utterances_of([tmp_path / "one", tmp_path / "two"])


@pytest.mark.parametrize(
    ("prepare", "split", "reason"),
    [
        (lambda p: p.rmdir(), None, "no such folder"),
        (lambda p: None, None, "no utterances"),
        (lambda p: None, "train", "no speakers.tsv"),
        (lambda p: (p / "speakers.tsv").write_text("file\tname\nx\ty\n"), None, "no column"),
        (lambda p: (p / "speakers.tsv").write_text("path\tspeaker\nx\ty\n"), "a", "no column"),
        (lambda p: (p / "speakers.tsv").write_text("path\tspeaker\nx\ty\nz\n"), None, "line 3"),
        (lambda p: (p / "speakers.tsv").write_text("path\tspeaker\n\ty\n"), None, "line 2"),
        (lambda p: (p / "speakers.tsv").write_text("path\tspeaker\n"), None, "no utterances"),
        (lambda p: (p / "speakers.tsv").write_bytes(b"path\tspeaker\nx\t\xe9\n"), None, "UTF-8"),
    ],
)
def test_bad_folders_are_refused(tmp_path, prepare, split, reason):
    folder = tmp_path / "speech"
    folder.mkdir()
    prepare(folder)
    with pytest.raises(InputError, match=reason):
        find_utterances(folder, split)


def test_activity_follows_the_sound_and_pauses_are_cut():
    rng = np.random.default_rng(0)
    samples = rng.standard_normal(48_000).astype(np.float32) * 1e-5
    samples[16_000:24_000] += rng.standard_normal(8_000).astype(np.float32) * 0.1
    samples[40_000:44_000] += rng.standard_normal(4_000).astype(np.float32) * 0.1
    active = active_frames(samples)
    assert active.sum() == 75 and active[100:150].all() and active[250:275].all()
    # 0.75 s of sound and, around each part, half of the longest pause.
    assert len(without_pauses(samples, 0.2)) == 16_000 * (0.75 + 0.4)


def test_silence_and_nothing_are_inactive():
    assert not active_frames(np.zeros(16_000, np.float32)).any()
    assert active_frames(np.zeros(3, np.float32)).shape == (0,)
    assert len(without_pauses(np.zeros(16_000, np.float32))) == 0


def test_recordings_of_a_folder(tmp_path):
    """Not what is hidden, as what macOS leaves beside a file, nor what is no file."""
    for name in ("ann/1.wav", "ann/._1.wav", ".cut/ann/2.wav", "ann/take.wav/3.flac", "b.OGG"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / "pipe.wav")
    (tmp_path / "gone.wav").symlink_to(tmp_path / "nowhere")  # which is told when it is opened
    found = ["ann/1.wav", "ann/take.wav/3.flac", "b.OGG", "gone.wav"]
    assert audio_files(tmp_path) == [tmp_path / name for name in found]
    assert [u.speaker for u in find_utterances(tmp_path)] == ["ann", "ann/take.wav"]
    with pytest.raises(InputError, match=r"no: no such folder$"):
        audio_files(tmp_path / "no")
    with pytest.raises(InputError, match=r"b\.OGG: not a folder$"):
        audio_files(tmp_path / "b.OGG")
