"""How often is a stranger named, and a known voice missed? A table over the threshold.

    python recipes/conversations/known_voices.py SPEECH SPLIT [CONVERSATIONS]

A clip is each speaker's first utterance (its first 6 s, where there is only one); what is left of
his speech is mixed into conversations of 2 to 5 speakers, in which the speakers are found, their
number inferred. Half of all speakers are enrolled with their clip, the others are strangers; a
recording is given four known voices: its own enrolled speakers, and others who are not there. Found
speakers are those who hold a true one for most of their time.

Linking is told by pairs of found speakers of different recordings, out of groups of three.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from pyannote.core import Annotation

from diarize.audio import SAMPLE_RATE
from diarize.enrolment import enrol
from diarize.mixing.conversation import ConversationConfig, simulate_conversation
from diarize.mixing.corpus import SAME_CORPUS
from diarize.mixing.speech import Utterance, by_speaker, find_utterances, read_samples
from diarize.pipeline import Diarizer
from diarize.scoring.der import speaker_mapping
from diarize.scoring.elements import TICKS_PER_SECOND, decompose
from diarize.voiceprints import Voiceprints, identify, link

CLIP = 6.0  # seconds
SPEAKERS = (2, 5)  # of a conversation
LISTED = 4  # known voices given with a recording
GROUP = 3  # recordings that are linked
DRAWS = 20  # of who is enrolled, and of the groups
THRESHOLDS = np.arange(0.50, 0.86, 0.05)
SEED = 7


class Heard(NamedTuple):
    """The speakers found in a conversation, and who each of them is."""

    voices: Voiceprints
    truth: list[str | None]


def divide(files: Sequence[Utterance]) -> tuple[np.ndarray, list[np.ndarray]]:
    """A speaker's clip, and the rest of his speech."""
    first, *others = [read_samples(file.path) for file in files]
    if others:
        return first, others
    stop = int(CLIP * SAMPLE_RATE)
    return first[:stop], [first[stop:]]


def choose(corpora: Mapping[str, str], rng: np.random.Generator) -> list[str]:
    """Speakers of a conversation, mostly of one corpus."""
    names = sorted(corpora)
    count = int(rng.integers(SPEAKERS[0], SPEAKERS[1] + 1))
    order = rng.permutation(names).tolist()
    if rng.random() < SAME_CORPUS:
        corpus = corpora[str(rng.choice(names))]
        order.sort(key=lambda name: corpora[name] != corpus)
    return order[:count]


def who_is_who(found: Annotation, reference: Annotation, names: Sequence[str]) -> list[str | None]:
    """The true speaker of each found one, if he holds most of its time; one-to-one."""
    elements = decompose(reference, found)
    shared, labels = elements.shared_time() / TICKS_PER_SECOND, reference.labels()
    truth = {
        found.labels()[heard]: labels[said]
        for said, heard in zip(*speaker_mapping(elements), strict=True)
        if shared[said, heard] > 0.5 * found.label_duration(found.labels()[heard])
    }
    return [truth.get(name) for name in names]


def hear(
    diarizer: Diarizer, speech: Mapping[str, list[np.ndarray]], corpora: Mapping[str, str], n: int
) -> Iterator[Heard]:
    """Simulate conversations and find their speakers."""
    for number in range(n):
        rng = np.random.default_rng([SEED, number])
        chosen = {name: speech[name] for name in choose(corpora, rng)}
        samples, reference = simulate_conversation(chosen, ConversationConfig(), rng)
        found = diarizer.diarize((samples, SAMPLE_RATE))
        yield Heard(found.voices, who_is_who(found.annotation, reference, found.voices.names))


def naming_errors(heard: Sequence[Heard], clips: Voiceprints, threshold: float) -> list[float]:
    """Shares of strangers who are named, of known voices who are not, and who are misnamed."""
    rng = np.random.default_rng(SEED)
    strangers = named = known = missed = misnamed = 0
    for _ in range(DRAWS):
        enrolled = rng.permutation(clips.names)[: len(clips.names) // 2].tolist()
        for conversation in heard:
            here = [name for name in conversation.truth if name in enrolled]
            away = [name for name in enrolled if name not in here]
            listed = (here + away)[: max(LISTED, len(here))]
            rows = [clips.names.index(name) for name in listed]
            given = Voiceprints(tuple(listed), clips.centroids[rows])
            answer = identify(conversation.voices, given, threshold)
            for speaker, name in zip(conversation.voices.names, conversation.truth, strict=True):
                said = answer.get(speaker)
                if name in listed:
                    known, missed = known + 1, missed + (said is None)
                    misnamed += said not in (None, name)
                else:
                    strangers, named = strangers + 1, named + (said is not None)
    return [named / strangers, missed / known, misnamed / known]


def linking_errors(heard: Sequence[Heard], threshold: float) -> list[float]:
    """Shares of pairs of two persons that are joined, and of pairs of one person that are not."""
    rng = np.random.default_rng(SEED)
    two = joined = one = missed = 0
    for _ in range(DRAWS):
        order = rng.permutation(len(heard))
        for begin in range(0, len(heard) - GROUP + 1, GROUP):
            group = [heard[i] for i in order[begin : begin + GROUP]]
            truth = [name for conversation in group for name in conversation.truth]
            origin = np.repeat(np.arange(GROUP), [len(c.truth) for c in group])
            persons = link([c.voices for c in group], [None] * len(truth), threshold)
            for i, j in zip(*np.triu_indices(len(truth), 1), strict=True):
                if origin[i] == origin[j] or truth[i] is None or truth[j] is None:
                    continue
                if truth[i] == truth[j]:
                    one, missed = one + 1, missed + (persons[i] != persons[j])
                else:
                    two, joined = two + 1, joined + (persons[i] == persons[j])
    return [joined / two, missed / one]


def main(folder: str, split: str, n: int = 40) -> None:
    """Print the table."""
    files = by_speaker(find_utterances(folder, split))
    divided = {name: divide(of_speaker) for name, of_speaker in files.items()}
    diarizer = Diarizer()
    clips = enrol(diarizer, {name: [(clip, SAMPLE_RATE)] for name, (clip, _) in divided.items()})
    speech = {name: rest for name, (_, rest) in divided.items()}
    corpora = {name: of_speaker[0].corpus for name, of_speaker in files.items()}
    print_table(list(hear(diarizer, speech, corpora, n)), clips)


def print_table(heard: Sequence[Heard], clips: Voiceprints) -> None:
    """Print the errors over the threshold."""
    print("| threshold | strangers named | known missed | known misnamed |"
          " two persons joined | one person not joined |")  # fmt: skip
    print("|---|" + "---|" * 5)
    for threshold in THRESHOLDS:
        rates = naming_errors(heard, clips, threshold) + linking_errors(heard, threshold)
        print(f"| {threshold:.2f} |", " | ".join(f"{100 * rate:.1f}" for rate in rates), "|")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
