"""Makes `conversation.ogg` and its reference `conversation.rttm` out of four synthesised voices.

Needs two programs, which Debian carries under these names: `flite` and `espeak-ng`.

    python egs/make_conversation.py          # writes both files beside this script

The dialogue was written for this example. Every line is synthesised alone, so the reference is
exact: a turn is where the dry voice has sound, split at pauses longer than `PAUSE`. Only then are
the voices put into a room, at slightly different levels, over a quiet noise. Two runs give the same
samples; the container's serial number differs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from pyannote.core import Annotation, Segment

from diarize.audio import SAMPLE_RATE
from diarize.formats.rttm import rttm_text
from diarize.mixing.acoustics import DIRECT, coloured_noise, impulse_response
from diarize.mixing.speech import FRAME, active_frames, read_samples

SEED = 4
PAUSE = 0.3  # seconds; a longer pause inside a line splits the turn
GAP = (0.15, 0.7)  # seconds between two lines, where the dialogue does not say otherwise
MARGIN = 1.0  # seconds of nothing before the first and after the last line
ROOM = 0.25  # seconds of reverberation: a furnished room
DISTANCE_DB = 12.0  # direct sound over the room's, decibels: at arm's length
LEVELS_DB = (-25.0, -21.0)  # each voice's level, decibels of full scale
NOISE_DB = -58.0  # decibels of full scale

VOICES = {
    "anna": ["flite", "-voice", "slt"],
    "ben": ["flite", "-voice", "rms"],
    "carl": ["flite", "-voice", "kal16"],
    "dora": ["espeak-ng", "-v", "en-us+f5", "-s", "165"],
}


@dataclass(frozen=True)
class Line:
    """What somebody says, and when: by default a short pause after the line before.

    `gap` says how many seconds after the end of the line before (negative: barges in); `aside` how
    many seconds after its start, and then the line before keeps the floor.
    """

    speaker: str
    text: str
    gap: float | None = None
    aside: float | None = None


DIALOGUE = (
    Line(
        "anna",
        "Good evening, everybody. Shall we start with the roof? It rained into the hall again.",
    ),
    Line(
        "ben",
        "I was up there this morning. Three tiles are gone above the stage, and the gutter is "
        "full of leaves.",
    ),
    Line(
        "carl",
        "Three tiles? I thought that we replaced that whole corner two years ago.",
        gap=-1.0,
    ),
    Line("ben", "We did the other side. This one has never been touched, as far as I know."),
    Line("dora", "So how much would it cost us, if somebody came this week?"),
    Line("ben", "About four hundred, with the scaffold. Without it I would not let anybody go up."),
    Line("anna", "No, certainly not.", aside=2.2),
    Line(
        "carl",
        "We have six hundred left from the summer fair, so that is possible. But then there "
        "is nothing left for the new curtains.",
    ),
    Line(
        "dora",
        "The curtains can wait! Nobody ever came to a concert to look at the curtains.",
        gap=-1.1,
    ),
    Line("anna", "That is true, although the old ones do smell a little when it is damp."),
    Line("carl", "Everything in that hall smells when it is damp."),
    Line(
        "anna",
        "Fine, then the roof comes first. Ben, would you call the roofer tomorrow, and ask "
        "him for a price in writing?",
    ),
    Line("ben", "Yes, I can do that.", aside=3.3),
    Line(
        "dora",
        "Now, about the concert itself. The string quartet has said yes for the fourteenth, "
        "and they would like to rehearse in the afternoon.",
    ),
    Line("carl", "On the fourteenth? That is the day of the market.", gap=-0.9),
    Line("dora", "Is it? Oh dear. I never looked at that."),
    Line(
        "ben",
        "The market closes at two, so they could unload at half past. I would only have to "
        "keep the side door free.",
    ),
    Line("anna", "And the noise? They take all the stalls down until four o'clock at least."),
    Line("carl", "Last year it took them until five.", aside=2.0),
    Line(
        "dora",
        "They could rehearse in the small room at the back. It is warm, and it has the better "
        "piano anyway.",
    ),
    Line("ben", "It has the only piano that is in tune.", gap=-0.7),
    Line(
        "anna",
        "Good. Then I shall write to them tonight. How many tickets are we going to print?",
    ),
    Line(
        "carl",
        "Last spring we sold one hundred and twenty, and we sent people home. I would print "
        "one hundred and fifty, and put chairs on the balcony.",
    ),
    Line(
        "dora",
        "Are we allowed to use the balcony now? I remember a letter about the railing.",
        gap=-1.2,
    ),
    Line(
        "ben",
        "The railing was mended in March. I have the paper at home, with a stamp and a signature.",
    ),
    Line("anna", "Wonderful. One hundred and fifty tickets, then, and the same price as before."),
    Line("dora", "And children come in for nothing, please.", gap=-0.6),
    Line("carl", "Children, and whoever helps us to carry one hundred and fifty chairs."),
    Line("ben", "I will remind you of that on the fourteenth."),
    Line(
        "anna",
        "I think that is all for tonight. Thank you, and mind the puddle beside the door.",
    ),
)


def main() -> None:
    folder = Path(__file__).parent
    rng = np.random.default_rng(SEED)
    sounds = [synthesise(line) for line in DIALOGUE]
    starts = place(sounds, rng)
    reference = annotate(sounds, starts)
    samples = record(sounds, starts, rng)
    soundfile.write(folder / "conversation.ogg", samples, SAMPLE_RATE, format="OGG", subtype="OPUS")
    (folder / "conversation.rttm").write_text(rttm_text(reference), encoding="utf-8")
    speech = reference.get_timeline().support().duration()
    overlap = reference.get_overlap().duration()
    print(f"{len(samples) / SAMPLE_RATE:.1f} s, {overlap / speech:.1%} of speech is overlap")


def synthesise(line: Line) -> np.ndarray:
    """Let a program speak one line; returns 16 kHz samples that begin and end with sound."""
    program, *options = VOICES[line.speaker]
    if shutil.which(program) is None:
        sys.exit(f"{program} is not installed (a Debian package of that name)")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/line.wav"
        output = ["-t", line.text, "-o", path] if program == "flite" else ["-w", path, line.text]
        subprocess.run([program, *options, *output], check=True)
        samples = read_samples(Path(path))
    sounding = np.flatnonzero(active_frames(samples))
    return samples[sounding[0] * FRAME : (sounding[-1] + 1) * FRAME]


def place(sounds: list[np.ndarray], rng: np.random.Generator) -> list[int]:
    """Find the first sample of each line."""
    starts: list[int] = []
    floor = (0, round(MARGIN * SAMPLE_RATE))  # first and last sample of who has the floor
    free = dict.fromkeys(VOICES, 0)
    for line, sound in zip(DIALOGUE, sounds, strict=True):
        if line.aside is not None:
            start = floor[0] + round(line.aside * SAMPLE_RATE)
        elif line.gap is not None:
            start = floor[1] + round(line.gap * SAMPLE_RATE)
        else:
            start = floor[1] + (round(rng.uniform(*GAP) * SAMPLE_RATE) if starts else 0)
        if start < free[line.speaker]:
            raise ValueError(f"{line.speaker} would speak over themselves: {line.text}")
        starts.append(start)
        free[line.speaker] = start + len(sound)
        if line.aside is None:
            floor = (start, start + len(sound))
    return starts


def annotate(sounds: list[np.ndarray], starts: list[int]) -> Annotation:
    """Write down where each dry voice sounds."""
    reference = Annotation(uri="conversation")
    for line, sound, start in zip(DIALOGUE, sounds, starts, strict=True):
        edges = np.flatnonzero(np.diff(active_frames(sound), prepend=False, append=False))
        for first, last in merge(edges.reshape(-1, 2) * FRAME, round(PAUSE * SAMPLE_RATE)):
            turn = Segment((start + first) / SAMPLE_RATE, (start + last) / SAMPLE_RATE)
            reference[turn, reference.new_track(turn)] = line.speaker
    return reference


def merge(runs: np.ndarray, longest: int) -> list[tuple[int, int]]:
    """Join runs, shape (n, 2), with at most `longest` samples between them."""
    cuts = np.flatnonzero(runs[1:, 0] - runs[:-1, 1] > longest)
    firsts, lasts = runs[np.r_[0, cuts + 1], 0], runs[np.r_[cuts, len(runs) - 1], 1]
    return [(int(first), int(last)) for first, last in zip(firsts, lasts, strict=True)]


def record(sounds: list[np.ndarray], starts: list[int], rng: np.random.Generator) -> np.ndarray:
    """Mix the lines in a room: one place and one level for each voice, and a noise for all."""
    end = max(start + len(sound) for start, sound in zip(starts, sounds, strict=True))
    mixture = decibels(NOISE_DB) * coloured_noise(rng, end + round(MARGIN * SAMPLE_RATE))
    for speaker in VOICES:
        track = np.zeros(len(mixture))
        for line, start, sound in zip(DIALOGUE, starts, sounds, strict=True):
            if line.speaker == speaker:
                track[start : start + len(sound)] = sound
        level = np.sqrt(np.square(track[track != 0]).mean())
        response = impulse_response(rng, ROOM, DISTANCE_DB)
        wet = np.convolve(track, response)[DIRECT : DIRECT + len(track)]
        mixture += wet * decibels(rng.uniform(*LEVELS_DB)) / level
    return mixture


def decibels(level: float) -> float:
    return float(10 ** (level / 20))


if __name__ == "__main__":
    main()
