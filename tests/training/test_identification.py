"""The identification test: probes of held-out chunks, with sounds that anybody can tell apart."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from diarize.embedding import CompositionalEmbedding, EmbeddingConfig
from diarize.features import mfcc
from diarize.training.identification import PAIRS, SINGLES, IdentificationTest, cut, heard, mixed
from diarize.training.single_speaker import SingleSpeakerSpeech


def sounds(seed: int, uri: str = "x", speakers: int = 3) -> SingleSpeakerSpeech:
    """Speakers who are noise that comes and goes, each at a rate of its own."""
    rng = np.random.default_rng(seed)
    time = np.arange(40_000) / 16_000
    found = []
    for s in range(speakers):
        chunks = []
        for _ in range(2):
            phase = rng.uniform(0, 2 * np.pi)
            swell = np.exp(3 * np.sin(2 * np.pi * 1.5 * 3**s * time + phase))
            chunk = swell * rng.standard_normal(40_000)
            chunks.append((0.1 * chunk / chunk.std()).astype(np.float32))
        found.append(tuple(chunks))
    return SingleSpeakerSpeech(uri, tuple(found))


def tiny() -> CompositionalEmbedding:
    torch.manual_seed(0)
    model = CompositionalEmbedding(EmbeddingConfig(dim=16, hidden=16, layers=1))
    model.encode.spread.fill_(5.0)
    return model.eval()


def test_answers_are_probabilities_of_the_right_candidate() -> None:
    test = IdentificationTest([sounds(0)], [sounds(1)], tiny().encode, 0)
    assert len(test) == 3 * SINGLES + PAIRS
    answers = test.answer(tiny())
    assert answers.right.shape == answers.log_likelihood.shape == (len(test),)
    assert set(answers.right) <= {0.0, 1.0}
    assert (answers.log_likelihood < 0).all()
    # Six candidates: who is right has at least a sixth.
    assert (answers.log_likelihood[answers.right == 1] > np.log(1 / 6)).all()
    again = IdentificationTest([sounds(0)], [sounds(1)], tiny().encode, 0).answer(tiny())
    assert np.array_equal(answers.log_likelihood, again.log_likelihood)


def test_recordings_without_two_speakers_have_no_probes() -> None:
    alone = sounds(0, speakers=1)
    unprobed = SingleSpeakerSpeech("y", (sounds(0).speakers[0], ()))
    enrolled = [alone, sounds(2, speakers=2)]
    test = IdentificationTest(enrolled, [alone, unprobed], tiny().encode, 0)
    assert len(test) == 0
    assert test.answer(tiny()).right.shape == (0,)


def test_windows() -> None:
    rng = np.random.default_rng(0)
    chunk = np.arange(10, dtype=np.float32)
    begins = {int(cut(chunk, 4, rng)[0]) for _ in range(200)}
    assert begins == set(range(7))
    assert cut(chunk, 13, rng).tolist() == [*range(10), 0, 1, 2]
    one, other = np.full(100, 0.5, np.float32), np.full(100, 0.01, np.float32)
    levels = [20 * np.log10((mixed(one, other, rng)[0] - 0.5) / 0.5) for _ in range(400)]
    assert np.mean(levels) == pytest.approx(0, abs=0.5)
    assert np.std(levels) == pytest.approx(3, abs=0.4)


def test_all_layers_but_the_last() -> None:
    model, rng = tiny(), np.random.default_rng(0)
    windows = [rng.standard_normal(16_000).astype(np.float32) for _ in range(300)]
    features = torch.from_numpy(mfcc(np.stack(windows)))
    found = heard(model.encode, windows)
    assert not found.requires_grad
    assert torch.allclose(model.encode.locate(found), model(features), atol=1e-5)
