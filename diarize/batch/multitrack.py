"""One microphone for each speaker: who speaks in which channel, without what leaks between them.

Speech is detected in each channel for itself. Whoever speaks is heard in the other microphones too,
more quietly; a channel holds such cross-talk, and no speaker, as long as another one is louder and
has the same waveform, apart from a delay.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float32, Float64
from scipy.fft import irfft, next_fast_len, rfft
from scipy.ndimage import uniform_filter1d

from diarize.activity.counts import Activity, Heard
from diarize.activity.regions import clip_regions, close_gaps, regions_of, runs
from diarize.audio import SAMPLE_RATE, Recording
from diarize.errors import InputError
from diarize.formats.turns import Turn, annotated
from diarize.progress import Hook
from diarize.timeline import Diarization, TimelineOptions

FRAME = 1600  # samples, 100 ms, of which two waveforms are compared
HOP = 800  # samples between two frames
MAX_LAG = 480  # samples, 30 ms: sound goes ten metres
SMOOTH = 5  # frames over which level and likeness are averaged
LOUDER = 6.0  # dB by which the other channel is louder, at least
ALIKE = 0.5  # its correlation with the quieter one, at least; 1 where one is the other
BLOCK_SECONDS = 30.0


def diarize_channels(
    recording: Recording,
    activity: Activity,
    options: TimelineOptions | None = None,
    hook: Hook | None = None,
) -> Diarization:
    """Say who spoke when in a recording that has a microphone for each speaker.

    Args:
        recording: of two channels or more, at comparable gains.
        activity: finds speech in one channel.
        options: their `min_turn` and `min_gap` hold.
        hook: called as `hook(step, done, total)` now and then.

    Returns:
        Turns of CHANNEL_1, CHANNEL_2, ...; without voices and confidence.

    Raises:
        InputError: the recording has one channel, or is damaged.
    """
    if recording.n_channels < 2:
        raise InputError(f"{recording.label}: has one channel; one for each speaker is needed")
    options = options or TimelineOptions()
    begin, end = recording.start, recording.start + recording.duration
    channels = recording.by_channel()
    detected = []
    for number, channel in enumerate(channels):
        detected.append(clip_regions(Heard.of(activity(channel)).regions, begin, end))
        if hook:
            hook("activity", number + 1, len(channels))
    leaked = np.concatenate(list(_cross_talk(channels, hook)))
    # A frame decides for the hop in its middle.
    times = begin + (np.arange(len(leaked) + 1) * HOP + (FRAME - HOP) / 2) / SAMPLE_RATE
    times[0], times[-1] = begin, max(end, times[-1])
    turns = []
    for number, speech in enumerate(detected):
        own = _without(speech, times, leaked[:, number])
        own = close_gaps(own, options.min_gap)
        turns.append(own[own[:, 1] - own[:, 0] >= options.min_turn])
    named = (
        Turn(begin, end, f"CHANNEL_{number}")
        for number, own in enumerate(turns, start=1)
        for begin, end in own.tolist()
    )
    annotation, _ = annotated(named, recording.uri)
    return Diarization(
        annotation=annotation,
        speech=regions_of(annotation.get_timeline().support()),
        windows=0,
        duration=recording.duration,
        device="cpu",
        notes=_notes(turns),
        number={len(annotation.labels()): 1.0},
    )


def _cross_talk(
    channels: list[Recording], hook: Hook | None
) -> Iterator[Bool[np.ndarray, "frames channels"]]:
    """Say of each frame, block by block, which channels hold what another one holds louder."""
    rest = np.zeros((0, len(channels)), np.float32)
    done = 0.0
    blocks = zip(*(channel.blocks(BLOCK_SECONDS) for channel in channels), strict=True)
    for block in blocks:
        samples = np.concatenate([rest, np.stack(block, axis=1)])
        if len(samples) >= FRAME:
            frames = np.lib.stride_tricks.sliding_window_view(samples, FRAME, axis=0)[::HOP]
            yield leaks(frames)
            rest = samples[len(frames) * HOP :]
        else:
            rest = samples
        done += len(block[0]) / SAMPLE_RATE
        if hook:
            hook("cross-talk", done, max(done, channels[0].duration))
    if len(rest):
        padded = np.zeros((FRAME, len(channels)), np.float32)
        padded[: len(rest)] = rest[:FRAME]
        yield leaks(padded.T[None])


def leaks(
    frames: Float32[np.ndarray, "n channels samples"],
) -> Bool[np.ndarray, "n channels"]:
    """Find the channels of frames that hold what another channel holds louder."""
    n, n_channels, length = frames.shape
    energy = np.square(frames).sum(axis=2, dtype=np.float64) + 1e-12  # (n, channels)
    level = uniform_filter1d(10 * np.log10(energy), SMOOTH, axis=0, mode="nearest")
    size = next_fast_len(length + MAX_LAG, real=True)
    spectra = rfft(frames, size, axis=2)
    leaked = np.zeros((n, n_channels), bool)
    for one in range(n_channels):
        for other in range(one):
            product = irfft(spectra[:, one] * spectra[:, other].conj(), size, axis=1)
            lags = np.concatenate([product[:, : MAX_LAG + 1], product[:, -MAX_LAG:]], axis=1)
            alike = np.abs(lags).max(axis=1) / np.sqrt(energy[:, one] * energy[:, other])
            alike = uniform_filter1d(alike, SMOOTH, mode="nearest") >= ALIKE
            above = level[:, one] - level[:, other]
            leaked[:, other] |= alike & (above >= LOUDER)
            leaked[:, one] |= alike & (above <= -LOUDER)
    return leaked


def _without(
    speech: Float64[np.ndarray, "m 2"],
    times: Float64[np.ndarray, "edges"],
    leaked: Bool[np.ndarray, "frames"],
) -> Float64[np.ndarray, "k 2"]:
    """Regions of speech, less the frames that are cross-talk."""
    kept = times[runs(~leaked)]
    pieces = [clip_regions(speech, begin, end) for begin, end in kept]
    return np.concatenate(pieces) if pieces else np.zeros((0, 2))


def _notes(turns: list[Float64[np.ndarray, "_ 2"]]) -> tuple[str, ...]:
    """What a person should know: which microphones nobody speaks into."""
    silent = [str(number) for number, own in enumerate(turns, start=1) if not len(own)]
    if len(silent) == len(turns):
        return ("no speech found",)
    return tuple(f"nobody speaks in channel {number}" for number in silent)
