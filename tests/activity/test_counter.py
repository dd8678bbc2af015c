from __future__ import annotations

import torch

from diarize.activity.counter import MOST, CounterConfig, VoiceCounter

SMALL = CounterConfig(bands=3, width=5, hidden=4, layers=1)


def test_a_step_answers_for_two_instants() -> None:
    torch.manual_seed(0)
    counter = VoiceCounter(SMALL).eval()
    logits = counter(torch.randn(2, 4 * 7, 3), torch.randn(2, 7, 2))
    assert logits.shape == (2, 14, MOST + 1)


def test_steps_see_their_own_frames_and_hints() -> None:
    """Without the LSTM between them, a step's answer depends on nothing else."""
    torch.manual_seed(0)
    counter = VoiceCounter(SMALL).eval()
    entered = []
    counter.norm.register_forward_hook(lambda _module, _given, found: entered.append(found))
    mel, hints = torch.randn(1, 4 * 6, 3), torch.randn(1, 6, 2)
    counter(mel, hints)
    for changed in (mel.clone(), mel):
        other = hints.clone()
        if changed is mel:
            other[0, 2] += 1
        else:
            changed[0, 8:12] += 1
        counter(changed, other)
        differs = (entered[-1] != entered[0]).any(dim=2)[0]
        assert differs.tolist() == [False, False, True, False, False, False]


def test_bands_are_brought_to_one_scale() -> None:
    torch.manual_seed(0)
    counter = VoiceCounter(SMALL).eval()
    mel, hints = torch.randn(1, 8, 3), torch.zeros(1, 2, 2)
    expected = counter(mel, hints)
    counter.mean += 5.0
    counter.deviation *= 3.0
    assert torch.allclose(counter(3.0 * mel + 5.0, hints), expected, atol=1e-5)
