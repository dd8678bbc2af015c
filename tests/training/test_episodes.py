from dataclasses import replace

import numpy as np
import pytest
import torch

from diarize.errors import InputError
from diarize.training.episodes import EpisodeConfig, EpisodeMaker, _plan
from diarize.training.rendering import SOURCES, Acoustics

QUIET = Acoustics(rooms=0.0, one_place=0.0, noisy=0.0)
CONFIG = EpisodeConfig(
    episodes=2, speakers=4, singles=2, pairs=3, triples=2, starts=4, changes=6, seconds=(0.6, 0.8)
)


def test_a_batch_depends_on_seed_and_step_alone(hums):
    first, second = (EpisodeMaker(hums, [], CONFIG, seed=1) for _ in range(2))
    _ = first[0]
    a, b = first[5], second[5]
    for name in ("features", "voices", "members", "alone"):
        torch.testing.assert_close(getattr(a, name), getattr(b, name), rtol=0, atol=0)
    other = EpisodeMaker(hums, [], CONFIG, seed=2)[5]
    assert not torch.equal(a.voices, other.voices)


def test_a_batch_holds_what_was_asked(hums):
    maker = EpisodeMaker(hums, [np.ones(1000, np.float32)], CONFIG, seed=1)
    for step in range(4):
        batch = maker[step]
        assert batch.features.shape[0] == CONFIG.episodes * CONFIG.windows
        assert torch.isfinite(batch.features).all()
        assert (batch.members.sum(dim=-1) >= 1).all()
        assert batch.alone.sum() == CONFIG.episodes * CONFIG.speakers * CONFIG.singles
        for voices in batch.voices:
            assert len(set(hums.speakers[voices.numpy()])) == CONFIG.speakers


@pytest.mark.parametrize("seed", range(20))
def test_the_label_is_who_is_active_in_the_middle(seed):
    n = 16_000
    plan = _plan(np.random.default_rng(seed), CONFIG, n)
    for row in range(CONFIG.windows):
        active = {
            int(plan.voice[row, s])
            for s in range(SOURCES)
            if plan.voice[row, s] >= 0 and plan.begin[row, s] < n / 2 < plan.end[row, s]
        }
        assert active == set(np.flatnonzero(plan.members[row]))
        assert active
        for s in range(SOURCES):  # nothing changes close to the middle
            for instant in (plan.begin[row, s], plan.end[row, s]):
                assert plan.voice[row, s] < 0 or abs(instant - n / 2) > 0.1 * 16_000
    assert (plan.members[plan.alone].sum(axis=1) == 1).all()


@pytest.mark.parametrize("largest", [1, 2, 3])
def test_sets_are_as_large_as_they_may_be(largest):
    config = EpisodeConfig.up_to(largest)
    assert config.windows == EpisodeConfig().windows
    plan = _plan(np.random.default_rng(0), config, 32_000)
    assert plan.members.sum(axis=1).max() == largest


def test_too_few_voices_are_refused(hums):
    maker = EpisodeMaker(hums, [], EpisodeConfig(speakers=11), seed=0)
    with pytest.raises(InputError, match="fewer than 11"):
        maker[0]


def test_speakers_who_sound_like_one_person_do_not_meet(hums):
    heard = hums.heard.copy()
    heard[1] = heard[0]  # of one corpus
    twins = replace(hums, heard=heard)
    for config in (CONFIG, replace(CONFIG, alike=1.0)):
        maker = EpisodeMaker(twins, [], config, seed=0)
        for rng in map(np.random.default_rng, range(40)):
            assert len({0, 1} & set(maker._choose(rng).tolist())) < 2
    nobody_apart = replace(hums, heard=np.ones_like(heard) / 4)
    chosen = EpisodeMaker(nobody_apart, [], CONFIG, seed=0)[0].voices
    assert all(len(set(episode)) == CONFIG.speakers for episode in chosen.tolist())


def test_labelled_windows_are_cut_from_the_beginning_and_others_from_the_rest(hums):
    config = replace(CONFIG, labelled=0.25, seconds=(0.6,), acoustics=QUIET)
    maker = EpisodeMaker(hums, [], config, seed=1)
    batch = maker[0]
    singles = CONFIG.speakers * CONFIG.singles
    assert batch.known[:, : CONFIG.speakers].all()
    assert not batch.known[:, CONFIG.speakers : singles].any()
    assert batch.known[:, singles:].float().mean() == pytest.approx(0.5, abs=0.1)
    start, end = int(hums.starts[0]), int(hums.ends[0])
    border = start + round(0.25 * (end - start))
    speech = maker.renderer.speech
    assert speech(0, True, 9600) == (start, border)
    assert speech(0, False, 9600) == (border, end)
    # At least one window's worth is labelled, and at least as much is left.
    assert speech(0, True, (end - start) // 2)[1] == start + (end - start) // 2
    assert speech(0, False, end - start) == (start, end)
