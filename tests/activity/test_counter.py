from __future__ import annotations

import torch

from diarize.activity.counter import MOST, CounterConfig, VoiceCounter

SMALL = CounterConfig(bands=3, width=5, hidden=4, layers=1)


def test_a_step_answers_for_two_instants() -> None:
    torch.manual_seed(0)
    counter = VoiceCounter(SMALL).eval()
    logits = counter(torch.randn(2, 2 * 7, 3), torch.randn(2, 7, 2))
    assert logits.shape == (2, 14, MOST + 1)


def test_steps_see_their_own_frames_and_hints() -> None:
    """Without the LSTM between them, a step's answer depends on nothing else."""
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
