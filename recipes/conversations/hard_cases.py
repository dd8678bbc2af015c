"""Recordings that diarizers find hard, out of single-speaker speech: make them, print their scores.

    PYTHONPATH=recipes python recipes/conversations/hard_cases.py make SPEECH SPLIT OUT
        [--noise DIR] [--each 4]
    PYTHONPATH=recipes python recipes/conversations/hard_cases.py print SCORES.json

The second takes what `diarize score --json` said of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile
from pyannote.core import Annotation, Segment
from steps.markdown import percent, print_table
from steps.trained import MODEL

from diarize.audio import SAMPLE_RATE, open_recording
from diarize.embedding import embed_windows, load_model
from diarize.formats.rttm import rttm_text
from diarize.mixing.acoustics import coloured_noise, read_noises
from diarize.mixing.conversation import ConversationConfig, simulate_conversation
from diarize.mixing.speech import by_speaker, find_utterances, read_samples
from diarize.storage.files import atomic_output

Voices = Mapping[str, Sequence[np.ndarray]]
Made = tuple[np.ndarray, Annotation]

COLUMNS = ("case", "DER", "missed", "false alarm", "confusion", "count error")
ENOUGH = 6.0  # seconds that a speaker must have; who has less takes part in no case
SILENCE = 600.0  # seconds between two halves of a conversation
PLAIN = ConversationConfig(seconds=60.0)


class Cases:
    """The cases by name; each draws its speakers and makes one recording."""

    def __init__(self, voices: Voices, noises: Sequence[np.ndarray]) -> None:
        self.voices = {n: v for n, v in voices.items() if seconds(v) >= ENOUGH}
        self.noises = noises
        self.by_name: dict[str, Callable[[np.random.Generator], Made]] = {
            "one_speaker": self.one_speaker,
            "similar_voices": self.similar_voices,
            "one_dominates": self.one_dominates,
            "long_silence": self.long_silence,
            "loud_noise": self.loud_noise,
            "far_microphone": self.far_microphone,
        }

    def one_speaker(self, rng: np.random.Generator) -> Made:
        """One person alone, who pauses."""
        return self._converse(self._draw(rng, 1), rng, replace(PLAIN, overlap=0.0))

    def similar_voices(self, rng: np.random.Generator) -> Made:
        """Two people: somebody, and whom f takes for the nearest."""
        names = sorted(self.voices)
        means = _mean_vectors([self.voices[name] for name in names])
        first = int(rng.integers(len(names)))
        second = int(np.argsort(-(means @ means[first]), kind="stable")[1])
        return self._converse([names[first], names[second]], rng)

    def one_dominates(self, rng: np.random.Generator) -> Made:
        """Three people, of whom two say 3 s each."""
        most = sorted(self.voices, key=lambda name: -seconds(self.voices[name]))[:8]
        first = str(rng.choice(most))
        others = [name for name in self._draw(rng, 3) if name != first][:2]
        speech = {first: self.voices[first]}
        speech |= {name: [self.voices[name][0][: 3 * SAMPLE_RATE]] for name in others}
        return simulate_conversation(speech, PLAIN, rng, self.noises)

    def long_silence(self, rng: np.random.Generator) -> Made:
        """Two people, and ten minutes of nothing but the room between two halves."""
        audio, reference = self._converse(self._draw(rng, 2), rng)
        middle = len(audio) // 2
        quiet = min(
            range(0, len(audio) - 1600, 1600),
            key=lambda at: (_voices_near(reference, at / SAMPLE_RATE), abs(at - middle)),
        )
        level = np.float32(np.percentile(np.abs(audio), 5))
        gap = coloured_noise(rng, round(SILENCE * SAMPLE_RATE)) * level
        return np.concatenate([audio[:quiet], gap, audio[quiet:]]), _shifted(
            reference, quiet / SAMPLE_RATE, SILENCE
        )

    def loud_noise(self, rng: np.random.Generator) -> Made:
        """Three people beside something that is nearly as loud as they are."""
        return self._converse(self._draw(rng, 3), rng, replace(PLAIN, snr=(3.0, 8.0)))

    def far_microphone(self, rng: np.random.Generator) -> Made:
        """Three people in a room, far from a microphone that is set too low."""
        quiet = replace(PLAIN, room=1.0, gain=5.0, level=(-52.0, -46.0), snr=(10.0, 18.0))
        return self._converse(self._draw(rng, 3), rng, quiet)

    def _draw(self, rng: np.random.Generator, count: int) -> list[str]:
        return [str(name) for name in rng.choice(sorted(self.voices), count, replace=False)]

    def _converse(
        self,
        names: Sequence[str],
        rng: np.random.Generator,
        config: ConversationConfig = PLAIN,
    ) -> Made:
        speech = {name: self.voices[name] for name in names}
        return simulate_conversation(speech, config, rng, self.noises)


def seconds(utterances: Sequence[np.ndarray]) -> float:
    """Seconds of audio of one speaker."""
    return sum(len(samples) for samples in utterances) / SAMPLE_RATE


def _mean_vectors(voices: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """Embed each speaker's speech in pieces of 2 s; the mean of each, brought to the sphere."""
    model, found = load_model(MODEL), []
    window = model.knowledge.window
    for utterances in voices:
        begins = np.arange(0.0, seconds(utterances) - window, window)
        windows = np.stack([begins, begins + window], axis=1)
        recording = open_recording((np.concatenate(utterances), SAMPLE_RATE))
        mean = embed_windows(model, recording, windows).mean(axis=0)
        found.append(mean / np.linalg.norm(mean))
    return np.stack(found)


def _voices_near(reference: Annotation, time: float) -> int:
    return len(reference.crop(Segment(time - 0.05, time + 0.15)).labels())


def _shifted(reference: Annotation, since: float, by: float) -> Annotation:
    """What begins after a time, later by so many seconds."""
    later = Annotation(uri=reference.uri)
    for segment, track, name in reference.itertracks(yield_label=True):
        delay = by if segment.start >= since else 0.0
        later[Segment(segment.start + delay, segment.end + delay), track] = name
    return later


def make(speech: Path, split: str, out: Path, noise: Path | None, each: int) -> None:
    """Write CASE_N.flac, and who speaks when in it, CASE_N.rttm."""
    voices = {
        name: [read_samples(file.path) for file in files]
        for name, files in by_speaker(find_utterances(speech, split)).items()
    }
    cases = Cases(voices, read_noises(noise) if noise else [])
    out.mkdir(parents=True, exist_ok=True)
    for number, (name, case) in enumerate(cases.by_name.items()):
        for i in range(each):
            audio, reference = case(np.random.default_rng([number, i]))
            reference.uri = f"{name}_{i}"
            soundfile.write(out / f"{reference.uri}.flac", audio, SAMPLE_RATE)
            with atomic_output(out / f"{reference.uri}.rttm", "w") as file:
                file.write(rttm_text(reference))


def means(scores: Path) -> Iterator[list[str]]:
    """Means over the recordings of each case."""
    files = json.loads(scores.read_text())["files"]
    for name in dict.fromkeys(uri.rpartition("_")[0] for uri in files):
        rows = [row for uri, row in files.items() if uri.rpartition("_")[0] == name]
        weights = [row["reference_seconds"] for row in rows]
        rates = [
            percent(np.average([row[key] for row in rows], weights=weights))
            for key in ("der", "missed_detection", "false_alarm", "confusion")
        ]
        count = np.mean([row["speaker_count_error"] for row in rows])
        yield [name.replace("_", " "), *rates, f"{count:.2f}"]


def main() -> None:
    """Do one of the two."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make")
    maker.add_argument("speech", type=Path)
    maker.add_argument("split")
    maker.add_argument("out", type=Path)
    maker.add_argument("--noise", type=Path)
    maker.add_argument("--each", type=int, default=4)
    commands.add_parser("print").add_argument("scores", type=Path)
    a = parser.parse_args()
    if a.command == "make":
        make(a.speech, a.split, a.out, a.noise, a.each)
    else:
        print_table(COLUMNS, means(a.scores))


if __name__ == "__main__":
    main()
