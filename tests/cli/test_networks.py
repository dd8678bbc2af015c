"""Networks of others on the command line: everything that takes --model, --vad, `info`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import diarize.training.composition
from diarize.embedding import Knowledge
from diarize.embedding.fitted import Fitted, Place, load_fitted, save_fitted
from diarize.embedding.model import Composition
from diarize.storage.files import file_sha256
from diarize.training.composition import CompositionRecipe
from diarize.training.development import SetAccuracy
from diarize.training.episodes import EpisodeConfig
from diarize.training.fitting import Report

from ..networks import DIM, PYANNOTE, SAMPLES, SEGMENTATION, write

Cli = Callable[..., Any]


def g_for(path: Path) -> Fitted:
    place = Place(np.full(DIM, 0.2, np.float32), np.eye(DIM, dtype=np.float32))
    return Fitted(path.name, file_sha256(path), place, Composition(DIM), Knowledge())


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    path = write(tmp_path / "encoder.onnx", SAMPLES, {"license": "none"})
    save_fitted(g_for(path), path.with_suffix(".safetensors"))
    return path


@pytest.fixture
def ears(tmp_path: Path) -> Path:
    return write(tmp_path / "ears.onnx", SEGMENTATION, PYANNOTE)


@pytest.mark.parametrize("backend", ["ckm", "links"])
def test_run_with_a_network_of_others(cli: Cli, encoder: Path, talk: Path, backend: str) -> None:
    result = cli("run", talk, "--model", encoder, "--backend", backend, "--num-speakers", 2)
    assert result.status == 0, result.err
    assert result.out.startswith("SPEAKER talk 1 ")


def test_known_voices_corrections_workers_and_a_cache(
    cli: Cli, encoder: Path, talk: Path, tmp_path: Path
) -> None:
    (tmp_path / "told.rttm").write_text("SPEAKER talk 1 1.000 1.000 <NA> <NA> anna <NA> <NA>\n")
    out, voices = tmp_path / "out", tmp_path / "voices.npz"
    shared = ["--model", encoder, "--cache", tmp_path / "cache", "--num-speakers", 2]
    first = cli("run", talk, *shared, "--corrections", tmp_path / "told.rttm",
                "--export-speakers", voices, "--out", f"{out}/")  # fmt: skip
    assert first.status == 0, first.err
    assert " anna " in (out / "talk.rttm").read_text()
    again = cli("run", talk, *shared, "--known", voices, "-j", 2)
    assert again.status == 0, again.err
    assert " anna " in again.out
    other = cli("run", talk, "--known", voices)
    other.assert_refused("voices of another model")


def test_vectors_are_clustered_with_the_g_of_their_network(
    cli: Cli, encoder: Path, talk: Path, tmp_path: Path
) -> None:
    (tmp_path / "list.tsv").write_text("".join(f"{talk}\t{s}\t{s + 2}\n" for s in range(0, 10)))
    vectors, sets = tmp_path / "vectors.npz", tmp_path / "sets.json"
    assert cli("embed", tmp_path / "list.tsv", "--model", encoder, "--out", vectors).status == 0
    assert np.load(vectors)["embeddings"].shape == (10, DIM)
    result = cli("cluster", vectors, "--num-speakers", 2, "--out", sets)
    assert result.status == 0, result.err
    assert len(json.loads(sets.read_text())["sets"]) == 10
    encoder.with_suffix(".safetensors").unlink()
    save_fitted(g_for(encoder), encoder.with_suffix(".safetensors"))
    write(encoder, SAMPLES, {"license": "another"})
    save_fitted(g_for(encoder), encoder.with_suffix(".safetensors"))
    cli("cluster", vectors, "--out", sets).assert_refused("made with other weights")


def test_a_stream(cli: Cli, encoder: Path, talk: Path) -> None:
    result = cli("stream", talk, "--speed", "max", "--model", encoder)
    assert result.status == 0, result.err
    assert json.loads(result.out.splitlines()[0])["end"] > 0


def test_without_g_a_note_says_so(cli: Cli, encoder: Path, talk: Path) -> None:
    encoder.with_suffix(".safetensors").unlink()
    with pytest.warns(UserWarning, match=r"no encoder\.safetensors beside it"):  # shown as a note
        assert cli("run", talk, "--model", encoder, "--num-speakers", 2).status == 0


def test_what_needs_weights_of_ours_says_so(
    cli: Cli, encoder: Path, talk: Path, tmp_path: Path
) -> None:
    adapt = cli("adapt", talk, "--model", encoder, "--out", tmp_path / "m.safetensors")
    adapt.assert_refused("encoder.onnx: weights of ours are needed here")
    export = cli("export", "--onnx", tmp_path / "graphs", "--model", encoder)
    export.assert_refused("encoder.onnx: weights of ours are needed here")


@pytest.mark.parametrize("content", [b"", b"ID3 no network", b"\x08\x08\x12" + bytes(50)])
def test_a_wrong_file_gets_one_line(cli: Cli, tmp_path: Path, talk: Path, content: bytes) -> None:
    path = tmp_path / "wrong.onnx"
    path.write_bytes(content)
    for arguments in (
        ("run", talk, "--model", path),
        ("run", talk, "--vad", path),
        ("stream", talk, "--speed", "max", "--model", path),
        ("info", path),
        ("train", "composition", "--model", path, "--speech", tmp_path),
    ):
        cli(*arguments).assert_refused("wrong.onnx")


def test_ears_of_others(cli: Cli, ears: Path, talk: Path, tmp_path: Path) -> None:
    result = cli("run", talk, "--vad", ears, "--num-speakers", 2, "--out", tmp_path / "talk.json")
    assert result.status == 0, result.err
    assert json.loads((tmp_path / "talk.json").read_text())["several"] is not None
    missing = cli("run", talk, "--vad", tmp_path / "no.onnx")
    missing.assert_refused("no.onnx: no such file")
    cli("stream", talk, "--vad", ears).assert_refused("not one of network, silero")


def test_info_says_what_a_file_is(cli: Cli, encoder: Path, ears: Path, tmp_path: Path) -> None:
    told = json.loads(cli("info", encoder, "--json").out)
    assert told["kind"] == "speaker encoder: --model" and told["framework"] == "samples"
    assert told["dimensions"] == DIM and told["sha256"] == file_sha256(encoder)
    assert told["license"] == "none" and told["g"] == str(encoder.with_suffix(".safetensors"))
    told = json.loads(cli("info", ears, "--json").out)
    assert told["kind"] == "segmentation: --vad" and told["window"] == "10 s"
    g = json.loads(cli("info", encoder.with_suffix(".safetensors"), "--json").out)
    assert g["network"] == "encoder.onnx"
    assert "our embedding" in cli("info", "lstm-compositional").out
    counter = Path(__file__).parents[2] / "models" / "activity" / "voice-counter.safetensors"
    assert "how many speak" in cli("info", counter).out
    (tmp_path / "x.wav").write_bytes(b"RIFF")
    cli("info", tmp_path / "x.wav").assert_refused("no weights that are known here")


def test_options_make_a_recipe(
    cli: Cli, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def fit(recipe: CompositionRecipe, *, report: Report, **options: Any) -> Fitted:
        asked.append((recipe, options["device"], options["workers"]))
        report(1, 1.25, {"hums": SetAccuracy(0.5, 0.75, 0.375, 0.5, 0.25)})
        return g_for(encoder)

    monkeypatch.setattr(diarize.training.composition, "fit_composition", fit)
    result = cli(
        "train", "composition", "--model", encoder, "--speech", "s", "--speech", "t", "--split",
        "train", "--dev-split", "dev", "--pool", "a", "--noise", "n", "--rooms", "r",
        "--max-set-size", 2, "--batches", 9, "--passes", 3, "--rate", 0.5, "--workers", 0,
        "--device", "cpu", "--seed", 7, "--out", tmp_path / "g.safetensors",
    )  # fmt: skip
    assert result.status == 0, result.err
    assert result.out.startswith("pass 1: loss 1.250\n  hums: set accuracy 0.500")
    recipe = CompositionRecipe(
        network=encoder, speech=[Path("s"), Path("t")], split="train", development="dev",
        pool=["a"], noise=[Path("n")], rooms=Path("r"), batches=9, passes=3, rate=0.5,
        max_set_size=2, episodes=EpisodeConfig.up_to(2), seed=7,
    )  # fmt: skip
    assert asked == [(recipe, "cpu", 0)]
    assert load_fitted(tmp_path / "g.safetensors").network == "encoder.onnx"
    plain = CompositionRecipe(network=encoder, speech=[Path("s")], noise=[], pool=[])
    assert cli("train", "composition", "--model", encoder, "--speech", "s").status == 0
    assert asked[1] == (plain, "auto", 1)
