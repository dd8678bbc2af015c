"""How many speakers, and how sure: in conversations of 1 to 10 people, of any length.

    PYTHONPATH=recipes python recipes/conversations/number.py make SPEECH... --split SPLIT
        --out FOLDER [--noise DIR] [--lengths 45 240 1200] [--people 10] [--seed 1]
        [--most SECONDS]
    PYTHONPATH=recipes python recipes/conversations/number.py find FOLDER FOUND.jsonl BACKEND...
        [--more 1]
    PYTHONPATH=recipes python recipes/conversations/number.py table FOUND.jsonl...
    PYTHONPATH=recipes python recipes/conversations/number.py fit FOUND.jsonl...
        [--told FOUND.jsonl...]

`make` writes one conversation for each number of people and length; where people run out of speech,
of which each has so many seconds at most, they say it again. Most are of people of one corpus, some
with overlap, most with noise. `find` writes a line for each recording and backend, the number
inferred: true number, number found, how probable each number is, what the probabilities rest on,
and who is somebody new; lines that are there are kept; --more: clustered into so many more than
there are, of whom none leaves. `table` prints true against found numbers by length, and how
reliable the probabilities are; `fit` the constants of diarize/voices/number.py that make the true
numbers most probable, and of those where there are too many the ones that tell best who is nobody
new.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from known_voices import POOLED
from pyannote.core import Annotation
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from steps.markdown import percent, print_table
from steps.trained import MODEL

from diarize.audio import SAMPLE_RATE
from diarize.formats.rttm import read_rttm
from diarize.mixing.acoustics import read_noises
from diarize.mixing.conversation import ConversationConfig, simulate_conversation
from diarize.mixing.corpus import SAME_CORPUS, write_conversations
from diarize.mixing.speech import by_speaker, read_samples, utterances_of
from diarize.pipeline import Diarizer
from diarize.scoring.der import speaker_time
from diarize.scoring.elements import decompose
from diarize.storage.cache import Cache
from diarize.timeline.decoding import Decoded, decoder
from diarize.voices.number import (
    CLUSTERED,
    LEAST,
    MERGED,
    doubted,
    duplicate_features,
    evidence,
    possible,
    probabilities,
)

NOISY = 0.7  # share of conversations with noise
OVERLAPS = (0.0, 0.05, 0.1)
MIXED = 0.6  # of what a speaker shares with people, at least so much is with one: or he is nobody
BINS = (0.0, 0.5, 0.7, 0.9, 1.0)  # of the probability of the number found


def make(told: argparse.Namespace) -> None:
    """Write the conversations that are not there."""
    files = by_speaker(utterances_of(told.speech, told.split))
    corpora = {name: _kind(of[0].corpus) for name, of in files.items()}
    noises = () if told.noise is None else read_noises(told.noise)
    wanted = {
        f"{people:02d}_{seconds:g}_{told.seed}": (seconds, people)
        for seconds in told.lengths
        for people in range(1, told.people + 1)
    }
    missing = [name for name in wanted if not (told.out / f"{name}.rttm").exists()]

    def draw(uri: str) -> tuple[np.ndarray, Annotation]:
        seconds, people = wanted[uri]
        rng = np.random.default_rng([told.seed, int(seconds), people])
        names = _people(corpora, people, rng)
        speech = {name: _first([one.path for one in files[name]], told.most) for name in names}
        length = sum(len(one) for of in speech.values() for one in of) / SAMPLE_RATE
        again = max(1, math.ceil(1.15 * seconds / length))
        speech = {
            name: [of[i] for _ in range(again) for i in rng.permutation(len(of))]
            for name, of in speech.items()
        }
        config = ConversationConfig(seconds=seconds, overlap=float(rng.choice(OVERLAPS)))
        some = noises if rng.random() < NOISY else ()
        return simulate_conversation(speech, config, rng, some, uri)

    for _ in write_conversations(map(draw, missing), told.out):
        pass


def _first(paths: Sequence[Path], seconds: float) -> list[np.ndarray]:
    """Samples of these files, the first so many seconds of them."""
    left, samples = seconds * SAMPLE_RATE, []
    for path in paths:
        if left > 0:
            samples.append(read_samples(path)[: round(left)])
            left -= len(samples[-1])
    return samples


def _kind(corpus: str) -> str:
    """Of two corpora of English that is read people are drawn as of one."""
    return "read" if corpus.startswith(POOLED) else corpus


def _people(corpora: dict[str, str], number: int, rng: np.random.Generator) -> list[str]:
    """Draw people, most often out of one corpus that has so many."""
    names = rng.permutation(sorted(corpora)).tolist()
    if rng.random() < SAME_CORPUS:
        kinds, sizes = np.unique(list(corpora.values()), return_counts=True)
        shares = np.where(sizes >= number, sizes, 0)
        kind = rng.choice(kinds, p=shares / shares.sum())
        names = [name for name in names if corpora[name] == kind]
    return names[:number]


@dataclass(frozen=True)
class Found:
    """What a backend found in a recording."""

    recording: str
    backend: str
    seconds: int
    true: int
    found: int
    number: dict[int, float]
    evidence: Any  # of each speaker, as `diarize.voices.number.evidence` tells it
    new: Sequence[bool | None]  # as `who_is_new` tells it
    time: Sequence[int]  # `diarize.scoring.der.SpeakerTime`: speech, missed, false, confused


def find(told: argparse.Namespace) -> None:
    """Write a line for each recording and backend."""
    there = {(one.recording, one.backend) for one in read([told.file] * told.file.exists())}
    cache = Cache(told.folder / "cache")
    diarizers = {name: Diarizer(backend=name, model=MODEL, cache=cache) for name in told.backends}
    paths = sorted(told.folder.glob("*.flac"), key=lambda path: path.stat().st_size)
    with told.file.open("a") as file:
        for path in paths:
            (reference,) = read_rttm(path.with_suffix(".rttm")).values()
            for backend, diarizer in diarizers.items():
                if (path.stem, backend) not in there:
                    line = vars(hear(path, reference, diarizer, told.more))
                    file.write(json.dumps(line) + "\n")
                    file.flush()


def hear(path: Path, reference: Annotation, diarizer: Diarizer, more: int | None = None) -> Found:
    """What is found in a recording, and what its probabilities rest on; `more` as for `find`."""
    true, number = len(reference.labels()), {}
    if more is None:
        shown: dict[str, Any] = {}
        number = dict(diarizer.diarize(path, look=shown.__setitem__).number)
        decoded = shown["timeline"]
    else:
        decoded = divided(path, diarizer, true + more)
    names, told = evidence(decoded.monologues, diarizer.likeness)
    annotation = decoded.annotation(path.stem)
    return Found(
        recording=path.stem,
        backend=diarizer.backend,
        seconds=int(path.stem.split("_")[1]),
        true=true,
        found=len(annotation.labels()),
        number=number,
        evidence=told.tolist(),
        new=who_is_new(annotation, reference, names),
        time=speaker_time(decompose(reference, annotation)),
    )


def divided(path: Path, diarizer: Diarizer, speakers: int) -> Decoded:
    """Who speaks when in a recording that is clustered into so many, of whom none leaves."""
    embedded = diarizer.embed(path)
    estimator = diarizer.estimator(embedded).set_params(n_speakers=speakers)
    estimator.ask_no_more_than(len(embedded.coarse))
    heard = embedded.cells, embedded.fine, embedded.counts
    return decoder(*heard, diarizer.timeline, speakers)(estimator.fit(embedded.coarse))


def who_is_new(found: Annotation, reference: Annotation, names: Sequence[str]) -> list[bool | None]:
    """Whether each speaker found shares most time with a person with whom none before him does.

    None: he shares it with several people.
    """
    shared = (found * reference)[[found.labels().index(name) for name in names]]  # seconds
    people = shared.argmax(axis=1).tolist()
    mixed = shared.max(axis=1) < MIXED * shared.sum(axis=1)
    return [
        None if mixed[place] else person not in people[:place]
        for place, person in enumerate(people)
    ]


def read(paths: Sequence[Path]) -> list[Found]:
    """What `find` wrote."""
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    for line in lines:
        line["number"] = {int(number): chance for number, chance in line["number"].items()}
    return [Found(**line) for line in lines]


def table(told: argparse.Namespace) -> None:
    """Print true against found numbers by length and backend, and how reliable it is."""
    found = read(told.files)
    backends = list(dict.fromkeys(one.backend for one in found))
    lengths = sorted({one.seconds for one in found})
    print_table(("seconds", "true", *(f"`{name}`" for name in backends)), numbers(found, backends))
    print()
    columns = ("backend", *(f"{length} s: right, off by" for length in lengths), "all", "DER")
    print_table(columns, shares(found, backends, lengths))
    print()
    columns = ("backend", *(f"{low:g} to {high:g}" for low, high in pairwise(BINS)))
    print_table((*columns, "possible", "surprise"), reliability(found, backends))


def numbers(found: Sequence[Found], backends: Sequence[str]) -> Iterator[list[str]]:
    """What each backend found where so many people spoke for so long."""
    for seconds, true in sorted({(one.seconds, one.true) for one in found}):
        here = [one for one in found if (one.seconds, one.true) == (seconds, true)]
        yield [
            str(seconds),
            str(true),
            *(" ".join(str(one.found) for one in here if one.backend == name) for name in backends),
        ]


def shares(
    found: Sequence[Found], backends: Sequence[str], lengths: Sequence[int]
) -> Iterator[list[str]]:
    """Share of recordings with the right number and mean error, by length, and DER, by backend."""
    for backend in backends:
        own = [one for one in found if one.backend == backend]
        off = np.array([abs(one.found - one.true) for one in own])
        seconds = np.array([one.seconds for one in own])
        cells = [_share(off[seconds == length]) for length in lengths]
        speech, *wrong = np.array([one.time for one in own]).sum(axis=0)
        yield [f"`{backend}`", *cells, _share(off), percent(sum(wrong) / speech)]


def _share(off: np.ndarray) -> str:
    return f"{np.sum(off == 0)} of {len(off)}, {off.mean():.2f}"


def reliability(found: Sequence[Found], backends: Sequence[str]) -> Iterator[list[str]]:
    """How right each backend is where its number has so much probability, and the true number's.

    Yields:
        its name; for each bin the probability of the number found, the share right, and of how
        many; in how many the true number is possible; mean surprise of the true number, nats.
    """
    for backend in backends:
        own = [one for one in found if one.backend == backend]
        said = np.array([one.number.get(one.found, 0.0) for one in own])
        right = np.array([one.found == one.true for one in own])
        bins = np.clip(np.digitize(said, BINS), 1, len(BINS) - 1)
        cells = [_claimed(said[bins == row], right[bins == row]) for row in range(1, len(BINS))]
        ranges = [possible(one.number, one.found) for one in own]
        within = [low <= one.true <= high for one, (low, high) in zip(own, ranges, strict=True)]
        surprise = [-math.log(max(one.number.get(one.true, 0.0), LEAST)) for one in own]
        yield [f"`{backend}`", *cells, f"{np.mean(within):.0%}", f"{np.mean(surprise):.2f}"]


def _claimed(said: np.ndarray, right: np.ndarray) -> str:
    return f"{said.mean():.2f}, {right.mean():.2f} of {len(said)}" if len(said) else ""


def fit(told: argparse.Namespace) -> None:
    """Print the constants of diarize/voices/number.py that suit best."""
    if told.told:
        fit_duplicates(read(told.told))
    found = [
        replace(one, evidence=np.array(one.evidence).reshape(-1, 3)) for one in read(told.files)
    ]

    def surprise(constants: np.ndarray) -> float:
        *merged, clustered = constants.tolist()
        chances = [
            probabilities(doubted(one.evidence, (), merged=merged), clustered=clustered).get(
                one.true, 0.0
            )
            for one in found
        ]
        return float(-np.log(np.maximum(chances, LEAST)).mean())

    best = minimize(surprise, np.array([*MERGED, CLUSTERED]), method="Nelder-Mead")
    print(
        f"{len(found)} results: {np.round(best.x, 2).tolist()}, mean surprise {best.fun:.3f} nats"
    )


def fit_duplicates(found: Sequence[Found]) -> None:
    """Print the constants that tell best which speakers are duplicates."""
    parts = [np.array(one.evidence).reshape(-1, 3) for one in found]
    rows = np.concatenate([duplicate_features(told)[1:] for told in parts])
    new = np.concatenate([np.array(one.new[1:], dtype=float) for one in found])  # nan: mixed
    duplicate = new[~np.isnan(new)] == 0
    best = LogisticRegression(C=np.inf).fit(rows[~np.isnan(new)], duplicate)
    constants = np.round([*best.intercept_, *best.coef_[0]], 2).tolist()
    print(f"{len(duplicate)} speakers, {duplicate.sum()} of them duplicates: {constants}")


def main() -> None:
    """Do what is asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("make")
    command.add_argument("speech", type=Path, nargs="+")
    command.add_argument("--split", required=True)
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--noise", type=Path)
    command.add_argument("--lengths", type=int, nargs="+", default=[45, 240, 1200])
    command.add_argument("--people", type=int, default=10)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--most", type=float, default=3600.0, metavar="SECONDS")
    command.set_defaults(do=make)
    command = commands.add_parser("find")
    command.add_argument("folder", type=Path)
    command.add_argument("file", type=Path)
    command.add_argument("backends", nargs="+")
    command.add_argument("--more", type=int)
    command.set_defaults(do=find)
    for name, do in (("table", table), ("fit", fit)):
        command = commands.add_parser(name)
        command.add_argument("files", type=Path, nargs="+")
        if do is fit:
            command.add_argument("--told", type=Path, nargs="+")
        command.set_defaults(do=do)
    told = parser.parse_args()
    told.do(told)


if __name__ == "__main__":
    main()
