"""`diarize embed`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diarize.formats.embeddings import read_embeddings

Cli = Callable[..., Any]


@pytest.fixture
def listing(write_tone: Callable[..., Path], tmp_path: Path) -> Path:
    tone = write_tone("tone.wav", 1.5)
    path = tmp_path / "list.tsv"
    path.write_text(f"{tone}\t0.0\t1.0\n{tone}\n\n{tone}\t0.5\t1.5\n")
    return path


def test_one_line_is_one_row(cli: Cli, listing: Path, tiny_weights: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.npz"
    result = cli("embed", listing, "--out", out, "--model", tiny_weights)
    assert result == (0, "", "")
    content = read_embeddings(out)
    assert content.embeddings.shape == (3, 16)
    assert content.model == str(tiny_weights)
    again = tmp_path / "again.npz"
    cli("embed", listing, "--out", again, "--model", tiny_weights)
    assert again.read_bytes() == out.read_bytes()


def test_what_it_writes_can_be_clustered(
    cli: Cli, listing: Path, tiny_weights: Path, tmp_path: Path
) -> None:
    out = tmp_path / "vectors.npz"
    cli("embed", listing, "--out", out, "--model", tiny_weights)
    result = cli("cluster", out, "--backend", "ckm", "--num-speakers", 1, "--out", "-")
    assert result.status == 0
    assert '"sets": [[0], [0], [0]]' in result.out


def test_an_empty_list_gives_an_empty_table(cli: Cli, tiny_weights: Path, tmp_path: Path) -> None:
    (tmp_path / "list.tsv").touch()
    out = tmp_path / "vectors.npz"
    assert cli("embed", tmp_path / "list.tsv", "--out", out, "--model", tiny_weights).status == 0
    assert read_embeddings(out).embeddings.shape == (0, 16)
    with np.load(out) as arrays:
        assert set(arrays.files) == {
            "embeddings", "path", "start", "end", "model", "model_sha256",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("missing.wav", "missing.wav: no such file"),
        ("tone.wav\t1.0", "list.tsv, line 2: path, or path, start and end expected"),
        ("tone.wav\t2.0\t1.0", "list.tsv, line 2: 2.0 to 1.0 is no stretch of time"),
        ("tone.wav\tnan\t1.0", "list.tsv, line 2: nan to 1.0 is no stretch of time"),
        ("tone.wav\t1.5\t9.0", "tone.wav: ends at 1.500 s, before the stretch from 1.5 s"),
    ],
)
def test_what_cannot_be_used_is_refused(
    cli: Cli,
    listing: Path,
    tiny_weights: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    listing.write_text(f"tone.wav\n{line}\n")
    before = sorted(tmp_path.iterdir())
    result = cli("embed", listing, "--out", "vectors.npz", "--model", tiny_weights)
    result.assert_refused(reason)
    assert sorted(tmp_path.iterdir()) == before


def test_arguments_are_checked_before_audio_is_read(cli: Cli, tmp_path: Path) -> None:
    listing = tmp_path / "list.tsv"
    listing.write_text("missing.wav\n")
    cli("embed", "no.tsv", "--out", tmp_path / "x.npz").assert_refused("no.tsv: No such file")
    no = tmp_path / "no" / "x.npz"
    cli("embed", listing, "--out", no).assert_refused(f"cannot write {no}")
    command = ["embed", listing, "--out", tmp_path / "x.npz"]
    cli(*command, "--model", "lstm").assert_refused("lstm: no such model")
    cli(*command, "--device", "gpu").assert_refused("device gpu: not one of")


def test_nothing_that_is_read_is_replaced(
    cli: Cli, listing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cli("embed", listing, "--out", listing).assert_refused("is the list, which the vectors")
    for path in {line.split("\t")[0] for line in listing.read_text().split("\n") if line}:
        cli("embed", listing, "--out", path).assert_refused("is the recording")


def test_vectors_are_no_text(cli: Cli, listing: Path) -> None:
    cli("embed", listing, "--out", "x.npy").assert_refused("a name that ends in .npz is needed")
    cli("embed", listing, "--out", "-").assert_refused("standard output: a file is needed")
    assert not Path("-").exists()
