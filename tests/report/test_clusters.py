from __future__ import annotations

from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.decomposition import PCA

from diarize.errors import InputError
from diarize.report import clusters
from diarize.report.clusters import plot_clusters, project
from diarize.sets import SpeakerSets

FIVE = SpeakerSets.from_lists(
    [[i] for i in range(5)] * 2 + [list(pair) for pair in combinations(range(5), 2)] * 2
)


def rows_of(sets: SpeakerSets, p: int = 8) -> np.ndarray:
    basis = np.random.default_rng(0).normal(size=(sets.n_speakers, p))
    return (sets.membership @ basis).astype(np.float32)


def groups(path: Path, prefix: str) -> list[ElementTree.Element]:
    """The parts of a drawing by the name that matplotlib gives them."""
    every = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}g")
    return [group for group in every if group.get("id", "").startswith(prefix)]


def texts(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_every_set_is_drawn_and_every_part_has_an_arrow(tmp_path: Path) -> None:
    path = tmp_path / "five.svg"
    plot_clusters(rows_of(FIVE), FIVE, path)
    drawing = texts(path)
    for name in [str(i) for i in range(5)] + [f"{a}+{b}" for a, b in combinations(range(5), 2)]:
        assert f"<!-- {name} -->" in drawing  # as matplotlib writes what it turns into outlines
    sets = [group for group in groups(path, "PathCollection_")]
    # 15 sets in the axes, and again in the legend.
    assert len(sets) == 2 * 15
    (axes,) = groups(path, "axes_1")
    arrows = [group for group in axes if group.get("id", "").startswith("patch_")]
    legend_and_spines = 2 + 1  # left and bottom spine, and the background
    assert len(arrows) == 2 * 10 + legend_and_spines


@pytest.mark.parametrize(
    ("rows", "lists"),
    [
        (np.array([[1.0, 0.0]]), [[0]]),
        (np.array([[1.0, 0.0], [0.0, 1.0]]), [[0], [1]]),
        (np.array([[1.0, 0.0], [0.0, 1.0]]), [[0, 1], []]),  # whose parts are nowhere
        (np.array([[1.0], [2.0], [3.0]]), [[0], [1], [0, 1]]),  # one dimension
        (np.ones((4, 3)), [[0]] * 4),  # no variance
        (np.eye(10), [[i] for i in range(10)]),  # more speakers than colours
    ],
)
def test_small_and_odd_tables(rows: np.ndarray, lists: list[list[int]], tmp_path: Path) -> None:
    plot_clusters(rows, SpeakerSets.from_lists(lists), tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_many_rows_are_thinned_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "MOST_POINTS", 10)
    path = tmp_path / "x.svg"
    plot_clusters(rows_of(FIVE), FIVE, path)
    assert "<!-- 10 of 30 rows -->" in texts(path)


def test_the_projection_is_that_of_principal_components() -> None:
    rows = np.random.default_rng(1).normal(size=(40, 6)) * np.arange(1, 7)
    points, shares = project(rows)
    peer = PCA(2).fit(rows)
    expected = peer.transform(rows)
    for mine, theirs in zip(points.T, expected.T, strict=True):
        assert np.allclose(mine, theirs) or np.allclose(mine, -theirs)
    assert np.allclose(shares, peer.explained_variance_ratio_)
    again, _ = project(rows[::-1])
    assert np.allclose(again[::-1], points)  # not mirrored


def test_blocks_of_rows_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32)
    whole, _ = project(rows)
    monkeypatch.setattr(clusters, "MOST_POINTS", 7)
    assert np.allclose(project(rows)[0], whole)


@pytest.mark.parametrize(
    ("rows", "lists", "name", "reason"),
    [
        (np.zeros((0, 2)), [], "x.png", "there are no rows to draw"),
        (np.eye(2), [[0]], "x.png", "2 rows, but sets of 1"),
        (np.eye(2), [[0], [1]], "x.gif", "a picture ends in"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    rows: np.ndarray, lists: list[list[int]], name: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=reason):
        plot_clusters(rows, SpeakerSets.from_lists(lists), tmp_path / name)
    assert not list(tmp_path.iterdir())
