import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from diarize.audio import Recording, open_recording
from diarize.embedding import windows as module
from diarize.embedding.model import CompositionalEmbedding, EmbeddingConfig
from diarize.embedding.windows import embed_windows, place_windows
from diarize.features import mfcc


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return CompositionalEmbedding(EmbeddingConfig(dim=8, hidden=8, stack=4)).eval()


@pytest.fixture(scope="module")
def samples():
    return (np.random.default_rng(0).standard_normal(16_000 * 9) * 0.05).astype(np.float32)


def test_cells_divide_regions_evenly():
    windows, cells = place_windows(np.array([[0.0, 1.0], [2.0, 2.1]]), length=0.6, step=0.3)
    np.testing.assert_allclose(cells[:, 0], [0, 0.25, 0.5, 0.75, 2.0])
    np.testing.assert_allclose(cells[:, 1], [0.25, 0.5, 0.75, 1.0, 2.1])
    np.testing.assert_allclose(windows[0], [0, 0.425])
    np.testing.assert_allclose(windows[1], [0.075, 0.675])
    np.testing.assert_allclose(windows[-1], [2.0, 2.1])


def test_no_speech_has_no_windows():
    windows, cells = place_windows(np.zeros((0, 2)), 1.6, 0.2)
    assert windows.shape == cells.shape == (0, 2)


@given(
    st.lists(st.tuples(st.floats(0.01, 5), st.floats(0.01, 20)), max_size=8),
    st.floats(0.05, 1.0),
)
def test_cells_cover_the_regions_and_are_no_longer_than_a_step(pieces, step):
    begins = np.cumsum([gap + length for gap, length in pieces])
    regions = np.array([[b - p[1], b] for b, p in zip(begins, pieces, strict=True)]).reshape(-1, 2)
    windows, cells = place_windows(regions, 1.6, step)
    assert (cells[:, 1] - cells[:, 0] <= step + 1e-6).all()
    np.testing.assert_allclose(
        (cells[:, 1] - cells[:, 0]).sum(), (regions[:, 1] - regions[:, 0]).sum(), atol=1e-6
    )
    assert (windows[:, 0] <= cells[:, 0] + 1e-9).all() or step > 1.6


def test_vectors_are_those_of_the_window_s_frames(model, samples):
    windows = np.array([[3.0, 4.6], [0.5, 2.1], [7.0, 8.0]])
    vectors = embed_windows(model, open_recording((samples, 16_000)), windows)
    frames = mfcc(samples)
    for (begin, end), vector in zip(windows, vectors, strict=True):
        n = int(((end - begin) * 16_000 - 512) / 160 + 1) // 4 * 4
        first = round(((begin + end) / 2 * 16_000 - 256) / 160 - (n - 1) / 2)
        own = torch.from_numpy(frames[first : first + n])[None]
        np.testing.assert_allclose(vector, model(own)[0].detach().numpy(), atol=1e-4)


def test_block_length_changes_nothing(model, samples, monkeypatch):
    recording = open_recording((samples, 16_000))
    windows, _ = place_windows(np.array([[0.0, 4.0], [4.5, 9.0]]), 1.6, 0.3)
    whole = embed_windows(model, recording, windows)
    for seconds in (0.05, 0.7, 3.0):
        monkeypatch.setattr(module, "BLOCK_SECONDS", seconds)
        np.testing.assert_allclose(embed_windows(model, recording, windows), whole, atol=1e-4)


def test_threads_change_nothing_and_are_given_back(model, samples):
    recording, windows = open_recording((samples, 16_000)), np.array([[0.0, 1.0], [0.5, 1.2]])
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append(embed_windows(model, recording, np.tile(windows, (300, 1))))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*found)


def test_what_goes_wrong_in_a_thread_is_heard_of(samples):
    class Broken(CompositionalEmbedding):
        def forward(self, features):
            raise RuntimeError("no memory")

    model = Broken(EmbeddingConfig(dim=8, hidden=8, stack=4))
    with pytest.raises(RuntimeError, match="no memory"):
        embed_windows(model, open_recording((samples, 16_000)), np.array([[0.0, 1.0]]))


@pytest.mark.parametrize("n", [1, 100, 320, 700, 3_000])
def test_the_shortest_sounds_have_a_vector(model, samples, n):
    recording = open_recording((samples[:n], 16_000))
    vectors = embed_windows(model, recording, np.array([[0.0, n / 16_000]]))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_windows_keep_the_time_of_the_file(model, samples):
    windows = np.array([[5.0, 6.6]])
    whole = embed_windows(model, open_recording((samples, 16_000)), windows)
    part = embed_windows(model, open_recording((samples, 16_000), start=4.0, end=8.0), windows)
    np.testing.assert_allclose(part, whole, atol=1e-3)


def test_windows_beyond_the_end_are_moved_back(model, samples):
    recording = open_recording((samples, 16_000))
    vectors = embed_windows(model, recording, np.array([[8.5, 10.1], [20.0, 21.6]]))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_nothing_is_read_after_the_last_window(model, samples, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_SECONDS", 1.0)
    monkeypatch.setattr(module, "ahead", lambda blocks: blocks)
    recording, windows = open_recording((samples, 16_000)), np.array([[1.5, 2.5], [0.0, 1.0]])
    whole = embed_windows(model, recording, np.concatenate([windows, [[8.5, 9.5]]]))
    read, told = [], []

    def counted(recording, seconds):
        for block in blocks(recording, seconds):
            read.append(len(block))
            yield block

    blocks = Recording.blocks
    monkeypatch.setattr(Recording, "blocks", counted)
    part = embed_windows(model, recording, windows, lambda *step: told.append(step))
    assert np.array_equal(part, whole[:2])
    assert len(read) == 3
    assert told == [("embedding", 1.0, 9.0), ("embedding", 2.0, 9.0), ("embedding", 9.0, 9.0)]


def test_windows_that_wait_hold_their_own_frames_alone(model, samples, monkeypatch):
    waiting = []
    add = module.Batches.add

    def spy(batches, row, frames):
        waiting.append(frames)
        add(batches, row, frames)

    monkeypatch.setattr(module.Batches, "add", spy)
    embed_windows(model, open_recording((samples, 16_000)), np.array([[0.0, 1.0], [4.0, 5.0]]))
    assert [frames.base for frames in waiting] == [None, None]


def test_few_windows_are_embedded_by_one_thread(samples):
    threads = []

    class Told(CompositionalEmbedding):
        def forward(self, features):
            threads.append(torch.get_num_threads())
            return super().forward(features)

    model, before = Told(EmbeddingConfig(dim=8, hidden=8, stack=4)), torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        embed_windows(model, open_recording((samples, 16_000)), np.array([[0.0, 1.0]]))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert threads == [1]
