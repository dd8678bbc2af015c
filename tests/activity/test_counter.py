from __future__ import annotations

import pytest
import torch

from diarize.activity.counter import AROUND, MOST, CounterConfig, VoiceCounter, standing_out

SMALL = CounterConfig(bands=3, width=5, hidden=4, layers=1)


def test_a_step_answers_for_two_instants() -> None:
    torch.manual_seed(0)
    counter = VoiceCounter(SMALL).eval()
    logits = counter(torch.randn(2, 2 * 7, 3), torch.randn(2, 7, 2))
    assert logits.shape == (2, 14, MOST + 1)


def test_steps_see_their_own_frames_and_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the LSTM and the seconds around, a step's answer depends on nothing else."""
    monkeypatch.setattr("diarize.activity.counter.standing_out", torch.zeros_like)
    torch.manual_seed(0)
    counter = VoiceCounter(SMALL).eval()
    entered = []
    counter.norm.register_forward_hook(lambda _module, _given, found: entered.append(found))
    spectra, hints = torch.randn(1, 2 * 6, 3), torch.randn(1, 6, 2)
    counter(spectra, hints)
    for changed in (spectra.clone(), spectra):
        other = hints.clone()
        if changed is spectra:
            other[0, 2] += 1
        else:
            changed[0, 4:6] += 1
        counter(changed, other)
        differs = (entered[-1] != entered[0]).any(dim=2)[0]
        assert differs.tolist() == [False, False, True, False, False, False]


def test_bands_are_brought_to_one_scale() -> None:
    torch.manual_seed(0)
    counter = VoiceCounter(SMALL).eval()
    spectra, hints = torch.randn(1, 4, 3), torch.zeros(1, 2, 2)
    expected = counter(spectra, hints)
    counter.mean += 5.0
    counter.deviation *= 3.0
    assert torch.allclose(counter(3.0 * spectra + 5.0, hints), expected, atol=1e-5)


def test_bands_stand_out_of_the_seconds_around() -> None:
    torch.manual_seed(0)
    seen = torch.randn(2, 1000, 3)
    found = standing_out(seen)
    for at in (0, 100, 500, 999):
        around = seen[:, max(0, at - AROUND) : at + AROUND + 1]
        expected = (seen[:, at] - around.mean(dim=1)) / around.std(dim=1, correction=0)
        torch.testing.assert_close(found[:, at], expected, rtol=1e-3, atol=1e-3)


def test_a_level_that_changes_is_no_level_soon() -> None:
    torch.manual_seed(0)
    seen = torch.randn(1, 1000, 3)
    quieter = seen - 5 * (torch.arange(1000) >= 500)[None, :, None]
    away = (torch.arange(1000) - 500).abs() > AROUND
    torch.testing.assert_close(
        standing_out(quieter)[:, away], standing_out(seen)[:, away], rtol=1e-3, atol=1e-3
    )
    still = torch.full((1, 300, 3), 2.0)
    assert not standing_out(still).any()
