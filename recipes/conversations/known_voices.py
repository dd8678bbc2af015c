"""How often is a stranger named, a known voice missed, and two persons taken for one? By corpus.

    PYTHONPATH=recipes python recipes/conversations/known_voices.py hear SPLIT OUT.npz SPEECH...
        [--conversations N] [--corpus NAME]
    PYTHONPATH=recipes python recipes/conversations/known_voices.py fit OUT.npz...
    PYTHONPATH=recipes python recipes/conversations/known_voices.py table OUT.npz...

`hear`: of each speaker the first 3, 6 or 12 s, at most half of what he says, are his clip. The rest
is mixed into conversations of 2 to 5 speakers of one corpus, in rooms and noise, in which the
speakers are found, their number inferred. Small corpora are taken together. `fit` prints the
constants of diarize/voices/voiceprints.py; `table` the errors over the thresholds.

Half of all speakers are enrolled, the others are strangers; a recording is given four known voices:
its own enrolled speakers, and others of the corpus who are not there. Found speakers are those who
hold a true one for most of their time. Linking is told by pairs of found speakers of different
recordings, out of groups of three.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pyannote.core import Annotation
from sklearn.linear_model import LogisticRegression
from steps.markdown import percent, print_table
from steps.trained import MODEL

from diarize.audio import SAMPLE_RATE
from diarize.mixing.conversation import ConversationConfig, simulate_conversation
from diarize.mixing.speech import Utterance, by_speaker, read_samples, utterances_of
from diarize.pipeline import Diarizer
from diarize.scatter import Likeness
from diarize.scoring.der import speaker_mapping
from diarize.scoring.elements import TICKS_PER_SECOND, decompose
from diarize.storage.files import write_npz
from diarize.voices.enrolment import enrol
from diarize.voices.vectors import Voiceprints
from diarize.voices.voiceprints import SHIPPED, identify, link

CLIPS = (3.0, 6.0, 12.0)  # seconds, in turn
LEAST = 1.0  # seconds that are left for conversations
SPEAKERS = (2, 5)  # of a conversation
POOLED = ("librispeech", "vctk")  # corpora whose names begin so are one
SMALL = 5  # speakers; corpora that have fewer are taken together
LISTED = 4  # known voices given with a recording
GROUP = 3  # recordings that are linked
DRAWS = 20  # of who is enrolled, and of the groups
THRESHOLDS = (0.2, 0.5, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
SEED = 7


class Heard(NamedTuple):
    """The speakers found in a conversation, and who each of them is."""

    voices: Voiceprints
    truth: list[str | None]


class Corpus(NamedTuple):
    """Clips of the speakers of a corpus, and conversations of theirs."""

    clips: Voiceprints
    heard: list[Heard]


def corpora(utterances: Sequence[Utterance]) -> dict[str, dict[str, list[Utterance]]]:
    """Speakers by corpus, their files by speaker."""
    groups: dict[str, dict[str, list[Utterance]]] = {}
    for speaker, files in by_speaker(utterances).items():
        pooled = files[0].corpus.startswith(POOLED)
        name = "librispeech, vctk" if pooled else files[0].corpus
        groups.setdefault(name, {})[speaker] = files
    large = {name: own for name, own in groups.items() if len(own) >= SMALL}
    small = {s: f for name, own in groups.items() if name not in large for s, f in own.items()}
    return large | ({"others": small} if small else {})


def divide(files: Sequence[np.ndarray], seconds: float) -> tuple[np.ndarray, list[np.ndarray]]:
    """A speaker's clip of about so many seconds, at most half of his speech; and the rest."""
    wanted = int(min(seconds * SAMPLE_RATE, sum(map(len, files)) / 2))
    clip: list[np.ndarray] = []
    rest = list(files)
    while wanted > 0:
        first = rest.pop(0)
        clip.append(first[:wanted])
        if len(first) > wanted:
            rest.insert(0, first[wanted:])
        wanted -= len(clip[-1])
    return np.concatenate(clip), rest


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


def hear(diarizer: Diarizer, speech: Mapping[str, Sequence[np.ndarray]], n: int) -> Iterator[Heard]:
    """Simulate conversations and find their speakers."""
    names = sorted(speech)
    for number in range(n):
        rng = np.random.default_rng([SEED, number])
        count = int(rng.integers(SPEAKERS[0], min(SPEAKERS[1], len(names)) + 1))
        chosen = rng.permutation(names)[:count].tolist()
        own = {name: speech[name] for name in chosen}
        samples, reference = simulate_conversation(own, ConversationConfig(), rng)
        found = diarizer.diarize((samples, SAMPLE_RATE))
        yield Heard(found.voices, who_is_who(found.annotation, reference, found.voices.names))


def listen(files: Mapping[str, Sequence[Utterance]], n: int) -> Corpus:
    """Clips of all speakers, and conversations of those who have more to say."""
    diarizer = Diarizer(model=MODEL)
    divided = {
        name: divide([read_samples(u.path) for u in own], CLIPS[i % len(CLIPS)])
        for i, (name, own) in enumerate(sorted(files.items()))
    }
    clips = enrol(diarizer, {name: [(clip, SAMPLE_RATE)] for name, (clip, _) in divided.items()})
    speech = {
        name: rest
        for name, (_, rest) in divided.items()
        if sum(map(len, rest)) >= LEAST * SAMPLE_RATE
    }
    return Corpus(clips, list(hear(diarizer, speech, n)))


def save(path: Path, found: Mapping[str, Corpus]) -> None:
    """Write what was heard: a row for each clip (conversation -1) and each found speaker."""
    rows = []
    for name, corpus in found.items():
        told = [(-1, corpus.clips, list(corpus.clips.names))]
        told += [(n, one.voices, one.truth) for n, one in enumerate(corpus.heard)]
        for number, voices, truth in told:
            assert voices.seconds is not None
            for row, who in enumerate(truth):
                seconds = voices.seconds[row]
                rows.append((name, number, who or "", seconds, voices.centroids[row]))
    names = ("corpus", "conversation", "speaker", "seconds", "centroid")
    write_npz(path, {k: np.array(c) for k, c in zip(names, zip(*rows, strict=True), strict=True)})


def load(paths: Sequence[Path]) -> dict[str, Corpus]:
    """Read what `save` wrote, in one file or several."""
    found = {}
    for path in paths:
        with np.load(path) as table:
            columns = {name: table[name] for name in table.files}
        for name in np.unique(columns["corpus"]).tolist():
            own = {k: column[columns["corpus"] == name] for k, column in columns.items()}
            parts = []
            for number in np.unique(own["conversation"]).tolist():  # -1 first: the clips
                here = own["conversation"] == number
                truth = [who or None for who in own["speaker"][here].tolist()]
                called = [who or f"SPEAKER_{n:02d}" for n, who in enumerate(truth)]
                voices = Voiceprints(tuple(called), own["centroid"][here], own["seconds"][here])
                parts.append(Heard(voices, truth))
            found[name] = Corpus(parts[0].voices, parts[1:])
    return found


def pairs(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and scarcity of pairs, and whether they are one person.

    Found speakers and clips, and found speakers of different recordings.
    """
    rows, same = [], []
    for n, (voices, truth) in enumerate(corpus.heard):
        others = [Heard(corpus.clips, list(corpus.clips.names)), *corpus.heard[:n]]
        for other, whose in others:
            cosines = voices.centroids.astype(np.float64) @ other.centroids.T
            scarcity = voices.scarcity[:, None] + other.scarcity
            for i, j in np.ndindex(cosines.shape):
                if truth[i] and whose[j]:
                    rows.append((cosines[i, j], scarcity[i, j]))
                    same.append(truth[i] == whose[j])
    return np.array(rows), np.array(same)


def fit(found: Mapping[str, Corpus]) -> None:
    """Print the constants: a logistic regression in which corpora and answers count alike."""
    told = [pairs(corpus) for corpus in found.values()]
    weights = [np.where(same, 1 / same.sum(), 1 / (~same).sum()) for _, same in told]
    rows, same = (np.concatenate(column) for column in zip(*told, strict=True))
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
    model.fit(rows, same, np.concatenate(weights))
    cosine, few = model.coef_[0]
    print(f"offset, cosine, scarcity = {model.intercept_[0]:.2f}, {cosine:.2f}, {few:.2f}")


def naming_errors(corpus: Corpus, threshold: float) -> list[float]:
    """Shares of strangers who are named, of known voices who are not, and who are misnamed."""
    rng = np.random.default_rng(SEED)
    clips = corpus.clips
    strangers = named = known = missed = misnamed = 0
    for _ in range(DRAWS):
        enrolled = rng.permutation(clips.names)[: len(clips.names) // 2].tolist()
        for conversation in corpus.heard:
            here = [name for name in conversation.truth if name in enrolled]
            away = [name for name in enrolled if name not in here]
            listed = (here + away)[: max(LISTED, len(here))]
            given = clips[[clips.names.index(name) for name in listed]]
            # Names are not told to who has to find them.
            called = tuple(map(str, range(len(conversation.truth))))
            found = replace(conversation.voices, names=called)
            answer = identify(found, given, Likeness(known=threshold))
            for speaker, name in zip(called, conversation.truth, strict=True):
                said = answer.get(speaker)
                if name in listed:
                    known, missed = known + 1, missed + (said is None)
                    misnamed += said not in (None, name)
                else:
                    strangers, named = strangers + 1, named + (said is not None)
    return [ratio(named, strangers), ratio(missed, known), ratio(misnamed, known)]


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
            persons = link(
                [c.voices for c in group], [None] * len(truth), Likeness(same_person=threshold)
            )
            for i, j in zip(*np.triu_indices(len(truth), 1), strict=True):
                if origin[i] == origin[j] or truth[i] is None or truth[j] is None:
                    continue
                if truth[i] == truth[j]:
                    one, missed = one + 1, missed + (persons[i] != persons[j])
                else:
                    two, joined = two + 1, joined + (persons[i] == persons[j])
    return [ratio(joined, two), ratio(missed, one)]


def ratio(part: int, whole: int) -> float:
    """A share; not a number where there is nothing."""
    return part / whole if whole else float("nan")


def report(found: Mapping[str, Corpus]) -> None:
    """Print the errors over the threshold, corpus by corpus, and how right probabilities are."""
    columns = ("corpus", "threshold", "strangers named", "known missed", "known misnamed",
               "two persons joined", "one person not joined")  # fmt: skip
    rates = (
        (name, f"{t:g}", *map(percent, naming_errors(corpus, t) + linking_errors(corpus.heard, t)))
        for name, corpus in found.items()
        for t in THRESHOLDS
    )
    print_table(columns, rates)
    print()
    surprises = (
        (name, same.sum(), (~same).sum(), f"{surprise(rows, same):.2f}")
        for name, (rows, same) in ((name, pairs(corpus)) for name, corpus in found.items())
        if same.any() and not same.all()
    )
    columns = ("corpus", "pairs of one person", "of two", "surprise, bits (1: knows nothing)")
    print_table(columns, surprises)


def surprise(rows: np.ndarray, same: np.ndarray) -> float:
    """Cost of the log likelihood ratio (Brummer, du Preez 2006), bits."""
    odds = SHIPPED.offset + SHIPPED.cosine * rows[:, 0] + SHIPPED.scarcity * rows[:, 1]
    cost = np.logaddexp(0, np.where(same, -odds, odds)) / np.log(2)
    return float((cost[same].mean() + cost[~same].mean()) / 2)


def main() -> None:
    """Do what is asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["hear", "fit", "table"])
    parser.add_argument("given", nargs="+")
    parser.add_argument("--conversations", type=int, default=12)
    parser.add_argument("--corpus")
    given = parser.parse_args()
    if given.what != "hear":
        found = load([Path(path) for path in given.given])
        return fit(found) if given.what == "fit" else report(found)
    split, out, *folders = given.given
    files = corpora(utterances_of(folders, split))
    chosen = {k: own for k, own in files.items() if given.corpus in (None, k)}
    save(Path(out), {k: listen(own, given.conversations) for k, own in chosen.items()})


if __name__ == "__main__":
    main()
