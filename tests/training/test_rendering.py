"""The sound of windows: levels, rooms, places."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from diarize.mixing.voices import Voices
from diarize.training.rendering import (
    ROOMS,
    SOURCES,
    Acoustics,
    Renderer,
    Sources,
    fade,
    training_rooms,
)

N = 16_000
DRY = Acoustics(gain=0.0, rooms=0.0, one_place=0.0, noisy=0.0, coded=0.0)


def alone(voices: list[int]) -> Sources:
    """Windows of one voice throughout."""
    voice = np.full((len(voices), SOURCES), -1)
    voice[:, 0] = voices
    shape = voice.shape
    return Sources(voice, np.full(shape, -200), np.full(shape, N + 200), np.ones(len(voice), bool))


def rendered(
    hums: Voices, acoustics: Acoustics, sources: Sources, episodes: int = 1
) -> torch.Tensor:
    renderer = Renderer(hums, [], acoustics, 1.0, seed=0)
    return renderer.render(np.random.default_rng(3), sources, episodes, N)


def spectra(audio: torch.Tensor) -> torch.Tensor:
    """Average power of a few hundred bins, in decibels."""
    frames = audio.unfold(1, 512, 160) * torch.hann_window(512)
    return 10 * torch.fft.rfft(frames).abs().square().mean(dim=1).log10()


def test_a_window_alone_is_a_stretch_of_its_voice(hums: Voices) -> None:
    audio = rendered(hums, DRY, alone([4])).numpy()[0]
    speech = hums.stretch(4)
    audio *= speech.std() / audio.std()
    found = min(np.abs(speech[b : b + N] - audio).max() for b in range(len(speech) - N))
    assert found < 0.02 * np.abs(speech).max()


def test_silence_where_nobody_speaks(hums: Voices) -> None:
    sources = alone([1, 2])
    sources.begin[0, 0], sources.end[1, 0] = 9000, 4000
    audio = rendered(hums, DRY, sources)
    assert (audio[0, :9000] == 0).all() and (audio[0, 9500:] != 0).any()
    assert (audio[1, 4000:] == 0).all() and (audio[1, :3500] != 0).any()


@pytest.mark.parametrize("episodes", [1, 4])
def test_in_one_place_a_voice_sounds_the_same_in_all_windows(hums: Voices, episodes: int) -> None:
    same = replace(DRY, one_place=1.0, one_place_rooms=1.0)
    everywhere = replace(DRY, rooms=1.0)
    sources = alone([5] * 8)
    apart = []
    for acoustics in (same, everywhere):
        heard = spectra(rendered(hums, acoustics, sources, episodes)).unflatten(0, (episodes, -1))
        heard -= heard.mean(dim=-1, keepdim=True)  # levels are drawn
        apart.append(float((heard - heard[:, :1]).abs()[:, 1:].mean()))
    assert apart[0] < 0.5 * apart[1]


def test_noise_lies_at_its_level(hums: Voices) -> None:
    """Noise is drawn after the voices, so both draws hold the same speech, at another level."""
    noisy = replace(DRY, noisy=1.0, snr=(10.0, 10.0))
    clean, with_noise = (rendered(hums, a, alone([0] * 4)) for a in (DRY, noisy))
    speech = clean / clean.square().mean(dim=1, keepdim=True).sqrt()
    for voice, heard in zip(speech, with_noise, strict=True):
        scale = float((voice * heard).mean())  # the noise knows nothing of the voice
        noise = heard / scale - voice
        assert 10 * np.log10(1 / float(noise.square().mean())) == pytest.approx(10.0, abs=0.3)


@pytest.mark.parametrize(("begin", "end"), [(-5, 2000), (300, 1000), (950, 2000), (-5, 40)])
def test_fading(begin: int, end: int) -> None:
    stretch = np.ones(1000, np.float32)
    fade(stretch, begin, end)
    inside = np.zeros(1000, bool)
    inside[max(0, begin) : max(0, end)] = True
    assert (stretch[~inside] == 0).all()
    assert (stretch <= 1).all()
    clear = stretch[
        max(0, begin + 160 if begin > 0 else 0) : max(0, end - 160 if end < 1000 else end)
    ]
    assert (clear == 1).all()


def test_a_telephone_takes_the_high_tones_of_a_whole_episode(hums: Voices) -> None:
    coded = replace(DRY, coded=1.0, telephone=1.0)
    plain, line = (spectra(rendered(hums, a, alone([1, 4]), 1)) for a in (DRY, coded))
    high = slice(round(4500 / 8000 * 256), None)  # bins above a telephone's band
    assert ((plain - line)[:, high].mean(dim=1) > 15).all()
    lossy = rendered(hums, replace(coded, telephone=0.0), alone([1, 4]), 1)
    assert lossy.shape == (2, N)
    assert torch.isfinite(lossy).all()


def test_a_telephone_has_edges_of_its_own(hums: Voices) -> None:
    line = replace(DRY, coded=1.0, telephone=1.0)
    own = replace(line, edges=((1000.0, 1000.0), (2000.0, 2000.0)))
    usual, narrower = (spectra(rendered(hums, a, alone([1, 4]), 1)) for a in (line, own))
    low = slice(round(320 / 8000 * 256), round(600 / 8000 * 256))  # bins that the usual one keeps
    assert ((usual - narrower)[:, low].mean(dim=1) > 15).all()


def test_measured_rooms_come_beside_made_ones(tmp_path: Path) -> None:
    for name, delay in (("a.wav", 400), ("b.wav", 20_000)):
        response = np.zeros(24_000)
        response[100], response[100 + delay] = 0.9, 0.3
        soundfile.write(tmp_path / name, response, 16_000)
    made, rooms = training_rooms(None, 0), training_rooms(tmp_path, 0)
    assert made.shape[:2] == (ROOMS, SOURCES)
    assert rooms.shape == (ROOMS + 4, SOURCES, 8_000)
    np.testing.assert_array_equal(rooms[:ROOMS, :, : made.shape[2]], made)
    assert (np.abs(rooms[ROOMS:]).max(axis=-1) > 0.1).all()
