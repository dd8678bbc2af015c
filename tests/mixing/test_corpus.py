import numpy as np
import pytest
import soundfile

from diarize.errors import InputError
from diarize.formats.rttm import read_rttm
from diarize.mixing.conversation import ConversationConfig
from diarize.mixing.corpus import Conversations, write_conversations
from diarize.mixing.speech import find_utterances


@pytest.fixture(scope="module")
def utterances(tmp_path_factory):
    """Six speakers, one hum of their own each, in two corpora by name."""
    folder = tmp_path_factory.mktemp("speech")
    rows = ["path\tspeaker\tcorpus"]
    time = np.arange(16_000 * 12) / 16_000
    for i in range(6):
        hum = 0.1 * np.sign(np.sin(2 * np.pi * (90 + 30 * i) * time)) * (time % 1.5 < 1.2)
        soundfile.write(folder / f"{i}.flac", hum, 16_000)
        rows.append(f"{i}.flac\tspeaker{i}\t{'ab'[i % 2]}")
    (folder / "speakers.tsv").write_text("\n".join(rows) + "\n")
    return find_utterances(folder)


def test_conversations_are_written_with_their_reference(utterances, tmp_path):
    drawn = Conversations(utterances, (2, 3), ConversationConfig(seconds=20.0))
    written = list(write_conversations(map(drawn.draw, range(3)), tmp_path / "out"))
    assert [path.name for path, _ in written] == [f"conversation_00{i}.flac" for i in range(3)]
    for path, seconds in written:
        info = soundfile.info(path)
        assert (info.samplerate, info.channels) == (16_000, 1)
        assert info.duration == pytest.approx(seconds)
        ((uri, reference),) = read_rttm(path.with_suffix(".rttm")).items()
        assert uri == path.stem
        assert 2 <= len(reference.labels()) <= 3
        assert reference.get_timeline().extent().end <= seconds


def test_a_conversation_depends_on_seed_and_number_alone(utterances):
    first, second = (Conversations(utterances, (2, 2), seed=3) for _ in range(2))
    first.draw(0)
    np.testing.assert_array_equal(first.draw(1)[0], second.draw(1)[0])


def test_speakers_have_enough_to_say(utterances):
    drawn = Conversations(utterances, (2, 2), ConversationConfig(seconds=20.0), seed=1)
    for audio, _ in map(drawn.draw, range(4)):
        assert len(audio) / 16_000 > 15


@pytest.mark.parametrize("speakers", [(0, 2), (3, 2), (2, 7)])
def test_impossible_numbers_are_refused(utterances, speakers):
    with pytest.raises(InputError):
        Conversations(utterances, speakers)
