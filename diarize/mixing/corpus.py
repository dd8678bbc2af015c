"""Many conversations out of folders of speech: who talks with whom."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import soundfile
from jaxtyping import Float32
from pyannote.core import Annotation

from diarize.audio import SAMPLE_RATE, open_recording
from diarize.formats.rttm import rttm_text
from diarize.mixing.conversation import ConversationConfig, simulate_conversation
from diarize.mixing.speech import Utterance, by_speaker, read_samples, require_range
from diarize.storage.files import atomic_output, atomic_text

SAME_CORPUS = 0.8  # share of conversations whose speakers come from one corpus
ENOUGH = 0.9  # seconds of speech that the speakers must have for each second of conversation


@dataclass
class Conversations:
    """Conversations drawn from utterances; item i depends on the seed and i alone.

    Attributes:
        utterances: single-speaker files.
        speakers: fewest and most speakers of one conversation.
        config: what a conversation is like.
        noises: recordings of noise, at unit power.
        seed: of every draw.
    """

    utterances: Sequence[Utterance]
    speakers: tuple[int, int] = (2, 5)
    config: ConversationConfig = field(default_factory=ConversationConfig)
    noises: Sequence[Float32[np.ndarray, "_"]] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        """Measure how much each speaker has to say.

        Raises:
            InputError: fewer speakers than a conversation may have.
        """
        self._files = by_speaker(self.utterances)
        require_range(self.speakers, len(self._files))
        self._seconds = {
            name: sum(open_recording(u.path).duration for u in files)
            for name, files in self._files.items()
        }

    def draw(self, number: int) -> tuple[Float32[np.ndarray, "samples"], Annotation]:
        """Make conversation `number`: 16 kHz samples, and who speaks when in them."""
        rng = np.random.default_rng([self.seed, number])
        low, high = self.speakers
        names = self._choose(int(rng.integers(low, high + 1)), rng)
        speech = {
            name: [read_samples(u.path) for u in _shuffled(self._files[name], rng)]
            for name in names
        }
        uri = f"conversation_{number:03d}"
        return simulate_conversation(speech, self.config, rng, self.noises, uri)

    def _choose(self, count: int, rng: np.random.Generator) -> list[str]:
        """Choose speakers who have enough to say, mostly of one corpus."""
        names = rng.permutation(sorted(self._files)).tolist()
        if rng.random() < SAME_CORPUS:
            corpus = self._corpus(rng.choice(names))
            names.sort(key=lambda name: self._corpus(name) != corpus)
        chosen = names[:count]
        needed = ENOUGH * self.config.seconds
        for name in names[count:]:
            if sum(self._seconds[c] for c in chosen) >= needed:
                break
            least = min(chosen, key=lambda c: self._seconds[c])
            if self._seconds[name] > self._seconds[least]:
                chosen[chosen.index(least)] = name
        return chosen

    def _corpus(self, name: str) -> str:
        return self._files[name][0].corpus


def _shuffled(files: Sequence[Utterance], rng: np.random.Generator) -> list[Utterance]:
    return [files[i] for i in rng.permutation(len(files))]


def write_conversations(
    conversations: Iterable[tuple[Float32[np.ndarray, "_"], Annotation]], folder: Path
) -> Iterator[tuple[Path, float]]:
    """Write conversations as FLAC with RTTM beside, one after another.

    Yields:
        The path of each recording, and its length in seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for samples, reference in conversations:
        path = folder / f"{reference.uri}.flac"
        encoded = io.BytesIO()
        soundfile.write(encoded, samples, SAMPLE_RATE, format="FLAC", subtype="PCM_16")
        with atomic_output(path, "wb") as file:
            file.write(encoded.getvalue())
        atomic_text(path.with_suffix(".rttm"), rttm_text(reference))
        yield path, len(samples) / SAMPLE_RATE
