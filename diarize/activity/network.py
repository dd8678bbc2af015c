"""The network that counts voices, as a detector: how many speak, and so where anybody does."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diarize.activity.counter import CounterConfig, VoiceCounter
from diarize.activity.counts import INSTANT, STEP, Heard
from diarize.activity.inference import (
    STEP_SECONDS,
    Context,
    CountingStream,
    NetworkInput,
    Posteriors,
)
from diarize.activity.level import as_chunks, measure_gain
from diarize.activity.rejection import reject_non_voices
from diarize.activity.speech import SpeechByCounts
from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.storage.cache import version_of
from diarize.storage.files import file_sha256, write_weights
from diarize.storage.weights import last_line, models_folder, read_weights
from diarize.threads import ahead
from diarize.torch_modes import usual_modes

if TYPE_CHECKING:
    from diarize.audio import Recording
    from diarize.progress import Hook

CONFIG = "diarize.activity"  # key of the header under which the configuration stands
DEFAULT_COUNTER = "voice-counter"
SPAN = 1536  # steps, 61 s, that are answered at a time
CONTEXT = 100  # steps, 4 s, heard on either side of them
ROWS = 8  # spans that the network hears at once


@dataclass(frozen=True, kw_only=True)
class NetworkActivity(SpeechByCounts):
    """Hear how many speak, and where there is speech, whatever the level.

    A first pass over the recording measures its level; in a second one silero-vad and the network
    hear it at a common level.

    Attributes:
        model: name of shipped weights, or path of a file.
    """

    model: str | Path = DEFAULT_COUNTER

    @property
    def identity(self) -> list[Any]:
        """All that the result depends on beside the recording, as JSON knows it."""
        options = {name: value for name, value in asdict(self).items() if name != "model"}
        weights = file_sha256(find_counter(self.model))
        return ["network", options, weights, version_of("silero-vad")]

    def __call__(self, recording: Recording, hook: Hook | None = None) -> Heard:
        """Listen to a recording.

        Args:
            recording: what `diarize.audio.open_recording` gave.
            hook: told progress, `hook("activity", done, total)` in seconds.

        Raises:
            InputError: the recording turns out to be damaged, or there are no such weights.
        """
        answer, seconds = self.answer(recording, hook)
        return self.heard(recording.start, reject_non_voices(*answer), seconds)

    def answer(self, recording: Recording, hook: Hook | None = None) -> tuple[Posteriors, float]:
        """What the network says of a recording before it is doubted, and the seconds heard."""
        counter = load_counter(self.model)
        gain = np.float32(measure_gain(recording))
        parts: list[Posteriors] = []
        seconds = 0.0
        counting = CountingStream(counter, Context(SPAN, CONTEXT, CONTEXT, ROWS))

        def sounds() -> Iterator[tuple[int, NetworkInput]]:
            for block in ahead(recording.blocks(SPAN * STEP_SECONDS / 2)):
                yield len(block), counting.listen(as_chunks(block * gain))

        for n_samples, sound in ahead(sounds(), 2 * ROWS):  # as many as are answered at once
            parts += counting.answer(sound)
            seconds += n_samples / SAMPLE_RATE
            if hook is not None:
                hook(STEP, min(seconds, recording.duration), recording.duration)
        parts += counting.finish()
        n = math.ceil(seconds / INSTANT - 1e-6)
        return Posteriors(*(np.concatenate(part)[:n] for part in zip(*parts, strict=True))), seconds


def find_counter(name: str | Path = DEFAULT_COUNTER) -> Path:
    """Find weights of the network by the name of shipped ones or by their path.

    Raises:
        InputError: neither shipped weights nor a file.
    """
    shipped = models_folder() / "activity" / f"{name}.safetensors"
    path = shipped if shipped.is_file() else Path(name)
    if not path.is_file():
        raise InputError(f"{name}: no such weights of the activity network, and no such file")
    return path


def load_counter(name: str | Path = DEFAULT_COUNTER) -> VoiceCounter:
    """Load the network, ready for inference, by the name of shipped weights or the path of a file.

    It is loaded once, for as long as the file stays as it is, and shared.

    Raises:
        InputError: no such weights, or a file that is damaged or made for something else.
    """
    path = find_counter(name)
    return _loaded(path, file_sha256(path))


@lru_cache(maxsize=2)
@usual_modes()
def _loaded(path: Path, content: str) -> VoiceCounter:
    """The network of a file with this content."""
    header, tensors = read_weights(path)
    if CONFIG not in header:
        raise InputError(f"{path}: not an activity network (no configuration in it)")
    try:
        counter = VoiceCounter(CounterConfig(**json.loads(header[CONFIG])))
        # Older weights do not say what is a voice.
        counter.load_state_dict(counter.voice.state_dict(prefix="voice.") | tensors)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: weights that do not fit the network ({last_line(error)})"
        ) from None
    return counter.eval().requires_grad_(False)


def save_counter(counter: VoiceCounter, path: Path) -> None:
    """Write the network's weights, whole or not at all."""
    tensors = {name: value.cpu() for name, value in counter.state_dict().items()}
    write_weights(path, tensors, {CONFIG: json.dumps(asdict(counter.config))})
