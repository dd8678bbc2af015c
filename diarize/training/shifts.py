"""More voices out of the same speech: a speaker with another vocal tract and another pitch.

Playing faster or slower (`voices.SPEEDS`) moves formants and pitch together; Praat's "Change
gender" moves each by itself and keeps the tempo. It comes with praat-parselmouth (GPL), which is
needed only here, in training: `pip install diarize-sets[shifts]`.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32

from diarize.audio import SAMPLE_RATE
from diarize.mixing.voices import Voices, levelled, to_int16
from diarize.progress import Hook

PRAAT_SEED = 7
PITCH_RANGE = (75.0, 500.0)  # Hz, in which Praat looks for the pitch
# From and to which factors formants and the median of the pitch are drawn, for each new voice.
SHIFTS = (
    ((1.08, 1.20), (0.75, 0.95)),
    ((0.84, 0.93), (1.05, 1.30)),
    ((1.08, 1.20), (1.00, 1.00)),
    ((0.84, 0.93), (1.00, 1.00)),
)


def shifted_voices(voices: Voices, seed: int, hook: Hook | None = None) -> Voices:
    """Make `len(SHIFTS)` new voices of each.

    Raises:
        ImportError: praat-parselmouth is not installed.
    """
    rng = np.random.default_rng([seed, 7])
    stretches = []
    for voice in range(len(voices)):
        speech = voices.stretch(voice)
        for formants, pitch in SHIFTS:
            changed = change_voice(speech, rng.uniform(*formants), rng.uniform(*pitch))
            stretches.append(to_int16(levelled(changed)))
        if hook:
            hook("shifted voices", voice + 1, len(voices))
    of = np.repeat(np.arange(len(voices)), len(SHIFTS))
    return Voices.of(stretches, voices.speakers[of], voices.corpora[of])


def change_voice(
    samples: Float32[np.ndarray, "samples"], formants: float, pitch: float
) -> Float32[np.ndarray, "changed"]:
    """Move formants and the median of the pitch by factors; what has no pitch stays as it is."""
    import parselmouth
    from parselmouth.praat import call

    lowest, highest = PITCH_RANGE
    sound = parselmouth.Sound(samples.astype(np.float64), SAMPLE_RATE)
    median = call(sound.to_pitch(), "Get quantile", 0, 0, 0.5, "Hertz")
    if not np.isfinite(median):
        return samples
    # Praat draws where it lays periods that have no pitch.
    parselmouth.praat.run(f"random_initializeWithSeedUnsafelyButPredictably ({PRAAT_SEED})")
    changed = call(sound, "Change gender", lowest, highest, formants, median * pitch, 1.0, 1.0)
    return changed.values[0].astype(np.float32)
