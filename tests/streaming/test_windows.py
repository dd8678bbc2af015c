from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from diarize.audio import open_recording
from diarize.embedding import embed_windows, load_model
from diarize.embedding.encoder import mfcc_rows
from diarize.embedding.windows import place_windows
from diarize.streaming.speech import Region
from diarize.streaming.windows import Frames, Lane, embed, window


def fine() -> Lane:
    return Lane(1.4, 0.2, known=0.2)


@given(st.lists(st.floats(0.01, 0.7), min_size=1, max_size=12), st.floats(0.05, 5))
def test_cells_cover_a_region_however_it_grows(steps: list[float], length: float) -> None:
    region, lane, sure = Region(2.0), fine(), 2.0
    for step in steps:
        sure = min(sure + step, 2.0 + length)
        assert not lane.place(region, sure)
        assert lane.laid(sure) <= sure
    region.end = 2.0 + length
    assert lane.place(region, 10.0)
    edges = [2.0] + [cell.end for cell in lane.waiting]
    assert [cell.begin for cell in lane.waiting] == pytest.approx(edges[:-1])
    assert region.end - edges[-1] < 0.01 + 1e-6
    assert lane.laid(10.0) == 10.0


@given(st.lists(st.floats(0.1, 7.0), min_size=1, max_size=5), st.sampled_from([0.2, 0.5]))
def test_there_are_as_many_windows_as_in_a_recording(lengths: list[float], step: float) -> None:
    """What is clustered counts speakers by how many windows there are."""
    lane, regions, begin = Lane(2.0, step, known=step / 2), [], 0.0
    for length in lengths:
        region = Region(begin)
        lane.place(region, begin + length / 3)
        region.end = begin + length
        lane.place(region, region.end)
        regions.append((begin, region.end))
        begin += length + 0.3
    _, cells = place_windows(np.array(regions), 2.0, step)
    assert len(lane.waiting) in range(len(cells) - len(lengths), len(cells) + 1)
    # Only a last cell of less than a hundredth of a second is none.
    short = sum(0 < length % step < 0.01 + 1e-6 and length > step for length in lengths)
    assert len(lane.waiting) >= len(cells) - short


def test_a_window_waits_for_its_sound_but_not_for_too_long() -> None:
    region, lane = Region(0.0), fine()
    lane.place(region, 1.0)
    assert [cell.begin for cell in lane.ready(0.95, -1.0)] == pytest.approx([0.0])
    assert [cell.begin for cell in lane.ready(0.95, 0.3)] == pytest.approx([0.2])
    (cell, *_) = lane.waiting
    assert window(cell, lane.length, 0.95) == pytest.approx((0.0, 0.95))
    assert window(cell, lane.length, 3.0) == pytest.approx((0.0, 1.2))
    region.end = 1.0
    assert len(lane.ready(1.0, -1.0)) == len([0.4, 0.6, 0.8])
    assert window(cell, lane.length, 3.0) == pytest.approx((0.0, 1.0))


def test_frames_give_the_vectors_of_a_recording(talk: Path, tiny_weights: Path) -> None:
    model = load_model(tiny_weights)
    recording = open_recording(talk)
    windows = [(0.0, 1.4), (9.3, 10.7), (9.5, 10.9), (10.0, 12.0), (11.9, 12.0)]
    frames = Frames(13.0, model.rows)
    for block in recording.blocks(0.37):
        frames.push(block)
    assert 11.95 < frames.until <= 12.0
    found = embed(model, frames.cut(windows))
    expected = embed_windows(model, recording, np.array(windows))
    assert np.allclose(found, expected, atol=1e-4)


def test_only_the_last_seconds_are_kept() -> None:
    frames, samples = Frames(2.0, mfcc_rows(4)), np.zeros(16_000, np.float32)
    for _ in range(5):
        frames.push(samples)
    assert len(frames._held) == 200
    (cut,) = frames.cut([(4.0, 4.5)])
    assert len(cut) == 44  # whole steps of 4 frames


def test_hardly_any_sound_is_filled_up_with_silence() -> None:
    frames = Frames(2.0, mfcc_rows(4))
    frames.push(np.zeros(100, np.float32))
    frames.finish()
    (cut,) = frames.cut([(0.0, 0.006)])
    assert len(cut) == 4


def test_one_vector_for_each_window(tiny_weights: Path) -> None:
    model = load_model(tiny_weights)
    rng = np.random.default_rng(0)
    windows = [rng.normal(size=(n, 32)).astype(np.float32) for n in (8, 12, 8, 4)]
    vectors = embed(model, windows)
    for frames, vector in zip(windows, vectors, strict=True):
        alone = model(torch.from_numpy(frames)[None])[0].numpy()
        assert np.allclose(vector, alone, atol=1e-5)
    assert embed(model, []).shape == (0, 16)
