"""Train the network that says for each speaker when exactly they are heard.

    PYTHONPATH=recipes python recipes/conversations/resegmentation.py hear TALK OUT.npz [--once]
    PYTHONPATH=recipes python recipes/conversations/resegmentation.py fit OUT.npz... --out WEIGHTS
    PYTHONPATH=recipes python recipes/conversations/resegmentation.py table TALK [--real]

TALK is what `diarize simulate` wrote. `hear` decodes each recording four times, in the regions of
the reference or in detected ones, told the number of speakers or not; with --once in one of these
ways. `fit` learns from that when each of the speakers found is heard; a speaker is the one of the
reference with whom most time is shared, one to one. `table` has DER, missed, false alarm and
confusion before and after the network, and in how many recordings it makes less and more errors;
with --real of people whom no f has heard, by the one that ships.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from pyannote.core import Annotation
from reliability import recordings
from steps.markdown import percent, print_table
from steps.trained import MODEL
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, conv1d
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from diarize import Diarizer
from diarize.activity.regions import regions_of
from diarize.scoring.der import speaker_time
from diarize.scoring.elements import decompose
from diarize.sets import SpeakerSets
from diarize.storage.files import write_npz
from diarize.timeline.decoding import Decoded, decode
from diarize.timeline.evidence import OF_CELL, SLICES, Evidence
from diarize.timeline.resegmenter import Resegmenter, save_resegmenter, seen
from diarize.timeline.trellis import LEAST
from diarize.timeline.turns import sets_at

CROP = 250  # cells, 50 s
BATCH = 8  # crops, all with as many speakers
RATE = 2e-3  # the largest, after a tenth of the steps
DECAY = 0.05  # of the weights
AVERAGED = 0.995  # share of the average that a step keeps
TRUSTED = 0.5  # log odds by which what was decoded counts for more than among what was learned
NOISE = 0.2  # standard deviations
MISHEARD = 1.0  # nats by which the number of voices may be heard wrongly for a while
LASTING = 4.0  # cells, after which such an error has faded to 1 / e
SCALES = [
    (slice(OF_CELL - 4), (0.7, 1.4)),  # of how improbable numbers of voices are
    (slice(OF_CELL, -SLICES), (0.8, 1.25)),  # of distances
]
REGIONS = ("the reference's", "detected")
GIVEN = [(regions, told) for regions in REGIONS for told in (True, False)]
COLUMNS = ("speech regions", "number of speakers", "before", "after", "better", "worse")


class Example(NamedTuple):
    """What is known of the speakers of a recording, and when they are heard."""

    seen: Tensor  # (k, n, numbers)
    heard: Tensor  # (k, n, slices)
    seconds: Tensor  # (n, slices)

    @classmethod
    def of(cls, found: Decoded, reference: Annotation) -> Example:
        """A recording that was decoded by shorter windows."""
        evidence = Evidence.of(found, found.trellis.counts)
        true = sets_at(reference, evidence.slices.mean(axis=1))
        heard = np.zeros_like(evidence.decoded)  # (slices, k)
        for own, theirs in SpeakerSets(evidence.decoded).matched(true).items():
            heard[:, own] = true.membership[:, theirs]
        each = heard.T.reshape(heard.shape[1], -1, SLICES).astype(np.float32)
        seconds = np.diff(evidence.slices).reshape(-1, SLICES).astype(np.float32)
        everything = seen(evidence, slice(None))
        return cls(everything, torch.from_numpy(each), torch.from_numpy(seconds))

    def crop(self, n: int, rng: np.random.Generator) -> Example:
        """Take n cells of it."""
        begin = int(rng.integers(0, len(self.seconds) - n + 1))
        part = slice(begin, begin + n)
        return Example(self.seen[:, part], self.heard[:, part], self.seconds[part])


def decoded(
    folders: Sequence[str], model: str, once: bool = False
) -> Iterator[tuple[str, bool, Decoded, Annotation, str]]:
    """Each recording as it is found, in all ways or in one: what was given, and its true turns."""
    for i, (path, reference) in enumerate(recordings(folders)):
        speech = regions_of(reference.get_timeline().support())
        given = [GIVEN[i % len(GIVEN)]] if once else GIVEN
        for regions in dict.fromkeys(regions for regions, _ in given):
            activity = None if regions == "detected" else speech
            embedded = Diarizer(activity=activity, model=model).embed(path)
            for told in (told for own, told in given if own == regions):
                number = len(reference.labels()) if told else None
                _, found, _ = Diarizer(n_speakers=number, model=model).cluster(embedded)
                yield regions, told, found, reference, embedded.uri


def as_decoded(found: Decoded) -> Decoded:
    """The same as it was decoded by shorter windows, before the network heard it."""
    return decode(found.trellis, found.speakers, len(found.names))


def hear(folder: str, out: str, once: bool) -> None:
    """Write the examples of a folder."""
    arrays = {}
    for i, (*_, found, reference, _) in enumerate(decoded([folder], MODEL, once)):
        if found.turns:
            parts = Example.of(as_decoded(found), reference)._asdict().items()
            arrays |= {f"{i}.{name}": values.numpy() for name, values in parts}
    write_npz(out, arrays)


def examples(heard: Sequence[str]) -> list[Example]:
    """Read what `hear` wrote."""
    found = []
    for path in heard:
        with np.load(path) as arrays:
            keys = sorted({key.partition(".")[0] for key in arrays})
            found += [
                Example(*(torch.from_numpy(arrays[f"{key}.{name}"]) for name in Example._fields))
                for key in keys
            ]
    return found


def batches(known: Sequence[Example], rng: np.random.Generator) -> Iterator[list[Example]]:
    """All examples once, those that are longer more often, in batches of one number of speakers."""
    alike = defaultdict(list)
    for i, one in enumerate(known):
        alike[len(one.seen)] += [i] * max(1, round(len(one.seconds) / CROP))
    drawn = []
    for rows in alike.values():
        order = rng.permutation(rows)
        drawn += [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
    for i in rng.permutation(len(drawn)):
        n = min(CROP, *(len(known[row].seconds) for row in drawn[i]))
        yield [known[row].crop(n, rng) for row in drawn[i]]


def fit(known: Sequence[Example], epochs: int, seed: int = 0) -> Resegmenter:
    """Learn from examples; the weights are averaged over the steps."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    network = Resegmenter()
    cells = torch.cat([one.seen.flatten(0, 1) for one in known])  # (cells of all speakers, numbers)
    network.mean, network.deviation = cells.mean(dim=0), cells.std(dim=0).clamp(min=1e-3)
    noise = NOISE * network.deviation
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    steps = epochs * sum(1 for _ in batches(known, np.random.default_rng(seed)))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps, pct_start=0.1)
    averaged = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(AVERAGED))
    for epoch in range(epochs):
        surprise = seconds = 0.0
        for batch in batches(known, rng):
            given, heard, time = (torch.stack(part) for part in zip(*batch, strict=True))
            answer = network(disturbed(given, noise))
            nats = binary_cross_entropy_with_logits(answer, heard, reduction="none")
            loss = (nats * time[:, None]).sum() / time.sum()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            averaged.update_parameters(network)
            surprise += loss.item() * time.sum().item()
            seconds += time.sum().item()
        print(f"epoch {epoch + 1}: {surprise / seconds:.4f} nats", flush=True)
    learned: Resegmenter = averaged.module.eval().requires_grad_(False)
    learned.trust += TRUSTED
    return learned


def misheard(given: Tensor) -> Tensor:
    """Numbers (b, k, n, numbers) where several, and nobody, are heard too often or too seldom.

    How far that goes differs from recording to recording: for a while, and all the time.
    """
    b, _, n, _ = given.shape
    fading = torch.exp(-torch.arange(5 * LASTING) / LASTING)
    news = torch.randn(2 * b, 1, n + len(fading) - 1)
    errors = conv1d(news, (fading / fading.norm())[None, None]).reshape(2, b, n)
    errors = MISHEARD * (torch.rand(2, b, 1) * errors + 0.3 * torch.randn(2, b, 1))
    nats = given[..., : 4 * SLICES].unflatten(-1, (SLICES, 4)).clone()
    several, nobody = errors[:, :, None, :, None]
    nats[..., 2:] += several[..., None]
    nats[..., 0] += nobody
    heard = nats.clamp(0, -log(LEAST)).flatten(-2)
    return torch.cat([heard, given[..., 4 * SLICES :]], dim=3)


def disturbed(given: Tensor, noise: Tensor) -> Tensor:
    """Numbers (b, k, n, numbers) as other sound may give them, other in scale and a little noisy.

    What was decoded is neither: it is 0 or 1.
    """
    given = misheard(given)
    scales = torch.ones(len(given), 1, 1, given.shape[-1])
    for where, (low, high) in SCALES:
        scales[..., where] = torch.empty(len(given), 1, 1, 1).uniform_(log(low), log(high)).exp()
    noisy = given * scales + noise * torch.randn_like(given)
    return torch.cat([noisy[..., :-SLICES], given[..., -SLICES:]], dim=3)


def table(folders: Sequence[str], model: str) -> Iterator[list[str]]:
    """A row for each of what was given: the error before and after, and how often it changes."""
    times: dict[tuple[str, bool], np.ndarray] = defaultdict(lambda: np.zeros((2, 4)))
    changes: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for regions, told, found, reference, uri in decoded(folders, model):
        both = [
            np.array(speaker_time(decompose(reference, one.annotation(uri))))
            for one in (as_decoded(found), found)
        ]
        times[regions, told] += both
        changes[regions, told].append(float(both[1][1:].sum() - both[0][1:].sum()))
    for (regions, told), both in times.items():
        shares = both[:, 1:] / both[:, :1]
        errors = [" ".join(map(percent, (own.sum(), *own))) for own in shares]
        moved = np.array(changes[regions, told])
        counted = [str(int((moved < 0).sum())), str(int((moved > 0).sum()))]
        yield [regions, "true" if told else "inferred", *errors, *counted]


def main() -> None:
    """Do as the first word says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    one = actions.add_parser("hear")
    one.add_argument("conversations")
    one.add_argument("out")
    one.add_argument("--once", action="store_true")
    one = actions.add_parser("fit")
    one.add_argument("heard", nargs="+")
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--epochs", type=int, default=8)
    one = actions.add_parser("table")
    one.add_argument("conversations", nargs="+")
    one.add_argument("--real", action="store_true")
    told = parser.parse_args()
    if told.action == "hear":
        hear(told.conversations, told.out, told.once)
    elif told.action == "fit":
        save_resegmenter(fit(examples(told.heard), told.epochs), told.out)
    else:
        rows = table(told.conversations, Diarizer.model if told.real else MODEL)
        print_table(COLUMNS, rows)


if __name__ == "__main__":
    main()
