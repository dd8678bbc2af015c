"""Of options that have no effect beside the others a note tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diarize.cli.run_options import RunOptions
from diarize.cli.unused import unused_in_run

Run = Callable[..., Any]  # the fixture `run`


def test_they_are_options() -> None:
    odd = RunOptions(audio=["a.wav"], vad="none", channels="per-speaker")
    assert set(unused_in_run(odd)) <= vars(odd).keys()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--known-threshold", 0.9), "--known-threshold has no effect: no --known is given"),
        (("--link-threshold", 0.9), "--link-threshold has no effect: no --link-speakers is given"),
        (("--dask-wait", 3), "--dask-wait has no effect: no --dask is given"),
        (
            ("--vad", "none", "--vad-threshold", 0.3),
            "--vad-threshold has no effect: --vad none tells where there is speech",
        ),
        (
            ("--channels", "per-speaker", "--backend", "gcr"),
            "--backend has no effect: --channels per-speaker clusters nothing",
        ),
        (
            ("--channels", "per-speaker", "-p", "n_restarts=2"),
            "-p has no effect: --channels per-speaker clusters nothing",
        ),
    ],
)
def test_an_option_without_effect_is_told_of(
    run: Run, write_tone: Callable[..., Path], arguments: tuple[Any, ...], told: str
) -> None:
    result = run(write_tone("tone.wav", 0.5, channels=2), *arguments)
    assert result.status == 0
    assert f"diarize: note: {told}\n" in result.err


def test_those_of_a_file_are_not_told_of(
    run: Run, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "all.toml").write_text("known-threshold = 0.9\n")
    result = run(write_tone("tone.wav", 0.5), "--config", tmp_path / "all.toml")
    assert "no effect" not in result.err
