r"""Few labels, and classes without any: spanning forests against cross-entropy (figure 4).

    PYTHONPATH=recipes python semi_supervised.py run digits|speech --work DIR [--speech DIR] \
        [--seeds 3] [--steps 400]
    PYTHONPATH=recipes python semi_supervised.py report --work DIR [--plot FILE.svg]

"Differentiable Clustering with Perturbed Spanning Forests", section 4.2. An encoder is trained from
scratch on the examples of some classes, of which some are labelled: by the partial Fenchel-Young
loss, half of each batch unlabelled, or by cross-entropy on the labelled ones; kept is what clusters
held-out examples of these classes best. Then all classes, those withheld too, are clustered in
batches of 64 of the test, and a linear probe on the frozen encoder learns from the examples held
out. Runs that have a line in DIR/semi_supervised.tsv are skipped.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import torch
from data import digits
from forests import (
    PartialFenchelYoungLoss,
    links_from_labels,
    max_spanning_forest,
)
from sklearn.linear_model import LogisticRegression
from steps.markdown import print_table
from steps.scores import add_score, read_scores
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

METHODS = ("forest", "cross-entropy")
LABELLED = (1.0, 0.1, 0.03)  # share of the training examples
WITHHELD = (0, 1, 2)  # thirds of the classes
BATCH = 64
RATE = 1e-3
SCALE = 10.0  # of cosines, before the softmax
TEST_BATCHES = 100
COLUMNS = ("data", "classes withheld", "labelled", "forest: clustering",
           "cross-entropy: clustering", "forest: probe", "cross-entropy: probe")  # fmt: skip
LOOK = 50  # steps between two looks at the examples held out

SPEAKERS = 12  # of a split, those with most speech
SECONDS, HOP = 1.0, 0.25  # of their windows


@dataclass(frozen=True)
class Examples:
    """Inputs and their classes, in three parts that share nothing, and how to build an encoder."""

    train: tuple[Tensor, np.ndarray]
    probe: tuple[Tensor, np.ndarray]
    test: tuple[Tensor, np.ndarray]
    encoder: Callable[[], nn.Module]


@dataclass(frozen=True)
class Score:
    """One run; errors between 0 and 1."""

    data: str
    method: str
    labelled: float
    withheld: int
    seed: int
    clustering: float
    probe: float


class Listener(nn.Module):
    """A small f: one LSTM layer over stacked MFCC, its outputs averaged."""

    def __init__(self, stack: int = 4, hidden: int = 96, dim: int = 64) -> None:
        super().__init__()
        self.stack = stack
        self.lstm = nn.LSTM(32 * stack, hidden, batch_first=True)
        self.leave = nn.Linear(hidden, dim)

    def forward(self, frames: Tensor) -> Tensor:
        """(b, frames, 32) to (b, dim)."""
        steps = frames.shape[1] // self.stack
        stacked = frames[:, : steps * self.stack].reshape(len(frames), steps, -1)
        return self.leave(self.lstm(stacked)[0].mean(dim=1))


def of_digits() -> Examples:
    """scikit-learn's digits: 3 in 5 to train on, 1 in 5 for the probe and for the test."""
    data = digits()
    part = np.random.default_rng(0).permutation(np.arange(len(data.y)) % 5)
    chosen = [np.isin(part, which) for which in ((0, 1, 2), (3,), (4,))]
    train, probe, test = ((data.x[torch.from_numpy(c)], data.y[c]) for c in chosen)
    return Examples(train, probe, test, data.encoder)


def of_speech(folder: Path, split: str = "dev-b") -> Examples:
    """Windows of the speakers with most speech; the last two fifths of each are not trained on."""
    from diarize.audio import SAMPLE_RATE
    from diarize.features import mfcc, subtract_mean
    from diarize.mixing.speech import by_speaker, find_utterances, read_samples, without_pauses

    spoken = []
    for files in by_speaker(find_utterances(folder, split)).values():
        spoken.append(np.concatenate([without_pauses(read_samples(f.path)) for f in files]))
    spoken.sort(key=len, reverse=True)
    n, hop = round(SECONDS * SAMPLE_RATE), round(HOP * SAMPLE_RATE)
    parts: list[list[np.ndarray]] = [[], [], []]
    for samples in spoken[:SPEAKERS]:
        borders = (np.array([0, 0.6, 0.8, 1.0]) * len(samples)).astype(int)
        for part, begin, end in zip(parts, borders[:-1], borders[1:], strict=True):
            starts = range(begin, end - n + 1, hop)
            windows = np.stack([samples[start : start + n] for start in starts])
            part.append(subtract_mean(mfcc(windows)))
    spread = np.concatenate(parts[0]).std(axis=(0, 1))
    found = [
        (
            torch.from_numpy((np.concatenate(part) / spread).astype(np.float32)),
            np.repeat(np.arange(len(part)), [len(windows) for windows in part]),
        )
        for part in parts
    ]
    return Examples(found[0], found[1], found[2], Listener)


def choose(
    y: np.ndarray, labelled: float, withheld: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are trained on, and which of these are labelled: of each class equally many."""
    k = int(y.max()) + 1
    kept = np.flatnonzero(y >= round(withheld * k / 3))
    rank = np.zeros(len(kept), int)  # of a row within its class, drawn
    for c in np.unique(y[kept]):
        own = np.flatnonzero(y[kept] == c)
        rank[own] = rng.permutation(len(own))
    most = max(1, round(labelled * len(kept) / len(np.unique(y[kept]))))
    return kept, (rank < most) | (labelled == 1.0)


def train(examples: Examples, method: str, labelled: float, withheld: int, seed: int, steps: int
          ) -> nn.Module:  # fmt: skip
    """Train an encoder by one of the methods; the best of those looked at."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    x, y = examples.train
    kept, known = choose(y, labelled, withheld, rng)
    told, silent = kept[known], kept[~known]
    classes = np.unique(y[kept])
    encoder = examples.encoder()
    head = nn.Linear(len(normalize(encoder(x[:1]))[0]), len(classes), bias=False)
    optimiser = torch.optim.Adam(
        [*encoder.parameters(), *head.parameters()], lr=RATE, weight_decay=1e-4
    )
    noise = torch.Generator().manual_seed(seed)
    held_x, held_y = (part[np.isin(examples.probe[1], classes)] for part in examples.probe)
    best, state = np.inf, encoder.state_dict()
    for step in range(steps):
        if method == "forest":
            half = BATCH // 2 if len(silent) else BATCH
            rows = np.concatenate([_draw(told, half, rng), _draw(silent, BATCH - half, rng)])
            labels = np.where(np.isin(rows, told), y[rows], -1)
            codes = normalize(encoder(x[rows]))
            links = links_from_labels(torch.from_numpy(labels))
            # As everywhere in the paper, k is known: here how many classes the batch holds.
            loss_of = PartialFenchelYoungLoss(len(np.unique(y[rows])))
            loss = loss_of(2 * codes @ codes.mT - 2, *links, noise) / len(rows)
        else:
            rows = _draw(told, BATCH, rng)
            logits = SCALE * normalize(encoder(x[rows])) @ normalize(head.weight).mT
            loss = cross_entropy(logits, torch.from_numpy(np.searchsorted(classes, y[rows])))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if (step + 1) % LOOK == 0:
            error = clustering_error(_codes(encoder, held_x), np.searchsorted(classes, held_y))
            if error < best:
                best, state = error, deepcopy(encoder.state_dict())
    encoder.load_state_dict(state)
    return encoder


def _draw(rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """So many rows; with few of them, some more than once."""
    return rng.choice(rows, count, replace=count > len(rows)) if count else rows[:0]


def _codes(encoder: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return normalize(encoder(x))


def clustering_error(codes: Tensor, y: np.ndarray) -> float:
    """Share of pairs in batches of test examples that are joined or parted wrongly."""
    rng, k = np.random.default_rng(0), int(y.max()) + 1
    rows = np.stack([rng.permutation(len(y))[:BATCH] for _ in range(TEST_BATCHES)])
    batch = codes[torch.from_numpy(rows)]
    found = max_spanning_forest(batch @ batch.mT, k).connectivity.numpy()
    true = y[rows][:, :, None] == y[rows][:, None, :]
    i, j = np.triu_indices(rows.shape[1], 1)
    return float((found != true)[:, i, j].mean())


def evaluate(encoder: nn.Module, examples: Examples) -> tuple[float, float]:
    """Clustering error and linear-probe error over all classes."""
    probe, test = (_codes(encoder, x) for x, _ in (examples.probe, examples.test))
    linear = LogisticRegression(C=100.0, max_iter=2000).fit(probe.numpy(), examples.probe[1])
    error = 1 - linear.score(test.numpy(), examples.test[1])
    return clustering_error(test, examples.test[1]), float(error)


def run(name: str, examples: Examples, path: Path, seeds: int, steps: int) -> None:
    """Every combination that has no line yet."""
    done = {astuple(score)[:5] for score in read_scores(path, Score)}
    for seed in range(seeds):
        for labelled in LABELLED:
            for withheld in WITHHELD:
                for method in METHODS:
                    key = (name, method, labelled, withheld, seed)
                    if key not in done:
                        encoder = train(examples, method, labelled, withheld, seed, steps)
                        add_score(path, Score(*key, *evaluate(encoder, examples)))


def report(scores: Sequence[Score]) -> Iterator[list[str]]:
    """Mean and standard deviation over the seeds, per cent."""
    for data in dict.fromkeys(score.data for score in scores):
        for withheld in WITHHELD:
            for labelled in LABELLED:
                cells = []
                for error in ("clustering", "probe"):
                    for method in METHODS:
                        key = (data, method, labelled, withheld)
                        some = [getattr(s, error) for s in scores if astuple(s)[:4] == key]
                        cells.append(f"{100 * np.mean(some):.1f} ({100 * np.std(some):.1f})")
                who = ("none", "a third", "two thirds")[withheld]
                yield [data, who, f"{100 * labelled:g} %", *cells]


def plot(scores: Sequence[Score], path: Path) -> None:
    """Figure 4: errors over the share of labels, a line for each method and share withheld."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(score.data for score in scores))
    figure, axes = plt.subplots(len(names), 2, figsize=(9, 3.4 * len(names)), squeeze=False)
    for row, data in zip(axes, names, strict=True):
        for axis, error in zip(row, ("clustering", "probe"), strict=True):
            for method, style in zip(METHODS, ("-", "--"), strict=True):
                for withheld, colour in zip(WITHHELD, ("C0", "C1", "C2"), strict=True):
                    means = [
                        np.mean([getattr(s, error) for s in scores
                                 if astuple(s)[:4] == (data, method, labelled, withheld)])
                        for labelled in LABELLED
                    ]  # fmt: skip
                    label = f"{method}, {withheld}/3 withheld"
                    axis.plot(LABELLED, means, style, color=colour, marker="o", label=label)
            axis.set(xscale="log", title=f"{data}: {error} error", xlabel="share labelled")
            axis.set_ylim(bottom=0)
    axes[0, 0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Read the options; run, or report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("task", choices=("run", "report"))
    parser.add_argument("data", nargs="?", choices=("digits", "speech"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--speech", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    path = given.work / "semi_supervised.tsv"
    if given.task == "run":
        examples = of_digits() if given.data == "digits" else of_speech(given.speech)
        run(given.data, examples, path, given.seeds, given.steps)
    else:
        print_table(COLUMNS, report(read_scores(path, Score)))
        if given.plot:
            plot(read_scores(path, Score), given.plot)


if __name__ == "__main__":
    main()
