"""Whatever bytes a file holds, its reader gives a value or a named error of one line."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .damage import contents
from .readers import Reader, readers, refusal, weights_readers

NAMES = (
    "rttm", "json", "csv", "tsv", "textgrid", "eaf", "audacity", "srt", "vtt", "transcript-json",
    "transcript-srt", "transcript-vtt", "transcript-ctm", "transcript-tsv", "annotations",
    "corrections", "uem", "list", "preset", "sets", "embeddings", "speakers", "model", "fitted",
    "splitnet", "checkpoint",
)  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    folder = tmp_path_factory.mktemp("seeds")
    return {**readers(folder), **weights_readers(folder)}


def test_every_reader_is_here(table: dict[str, Reader]) -> None:
    assert set(table) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_good_files_are_read(table: dict[str, Reader], tmp_path: Path, name: str) -> None:
    reader = table[name]
    for seed in reader.seeds:
        assert refusal(reader, tmp_path / f"talk{reader.suffix}", seed) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_any_bytes(
    table: dict[str, Reader], tmp_path: Path, name: str, data: st.DataObject
) -> None:
    reader = table[name]
    content = data.draw(contents(*reader.seeds))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the command line says them as notes
        refusal(reader, tmp_path / f"talk{reader.suffix}", content)


DEEP = b"[" * 100_000
BOMB = b"9" * 12

# What was not refused in one line once, or took all memory.
REGRESSIONS = {
    "deep preset": ("preset", DEEP),
    "deep sets": ("sets", DEEP),
    "an absurd speaker": ("sets", b'{"sets": [[' + BOMB + b"]]}"),
    "a huge option": ("preset", b'{"backend": "ac", "params": {"switch": ' + b"9" * 400 + b"}}"),
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_what_failed_once(table: dict[str, Reader], tmp_path: Path, name: str) -> None:
    kind, content = REGRESSIONS[name]
    assert refusal(table[kind], tmp_path / f"talk{table[kind].suffix}", content)
