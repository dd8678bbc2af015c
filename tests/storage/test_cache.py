"""Arrays that are kept in a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diarize.storage.cache import Cache, cache_key, version_of

KEY = cache_key("x")


def test_an_array_is_made_once(tmp_path: Path) -> None:
    cache, made = Cache(tmp_path / "new" / "cache"), []

    def make() -> np.ndarray:
        made.append(1)
        return np.arange(6, dtype=np.float32).reshape(2, 3)

    first, second = cache.kept(KEY, make), cache.kept(KEY, make)
    assert len(made) == 1
    assert first.dtype == second.dtype == np.float32
    np.testing.assert_array_equal(first, second)
    assert cache.kept(cache_key("y"), lambda: np.zeros((0, 2))).shape == (0, 2)
    files, size = cache.size()
    assert files == 2 and size == sum(path.stat().st_size for path in tmp_path.rglob("*.npz"))


def test_a_folder_may_be_a_string(tmp_path: Path) -> None:
    cache = Cache.of(str(tmp_path / "c"))
    assert (
        cache == Cache(str(tmp_path / "c")) and Cache.of(cache) is cache and Cache.of(None) is None
    )
    cache.kept(KEY, lambda: np.zeros(2))
    assert cache.size()[0] == 1


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "pickle", "other"])
def test_a_damaged_file_is_written_anew(tmp_path: Path, damage: str) -> None:
    cache = Cache(tmp_path)
    values = np.arange(1000.0)
    cache.kept(KEY, lambda: values)
    (path,) = tmp_path.rglob("*.npz")
    content = bytearray(path.read_bytes())
    if damage == "pickle":
        np.savez(path, values=np.array([{}], object))
    elif damage == "other":
        np.savez(path, something=values)
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(
            {"cut": bytes(content[:100]), "flipped": bytes(content), "empty": b"", "text": b"x"}[
                damage
            ]
        )
    np.testing.assert_array_equal(cache.kept(KEY, lambda: values), values)
    assert cache.get(KEY) is not None
    np.testing.assert_array_equal(cache.get(KEY)["values"], values)


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    cache = Cache(tmp_path / "file")
    with pytest.warns(UserWarning, match="nothing is kept in .*file"):
        np.testing.assert_array_equal(cache.kept(KEY, lambda: np.ones(2)), np.ones(2))
    assert cache.size() == (0, 0)


def test_a_key_names_all_parts() -> None:
    keys = [
        cache_key("a"),
        cache_key("b"),
        cache_key("a", 1),
        cache_key("a", 1.5),
        cache_key("a", {"x": 1}),
        cache_key("a", [[0.1, 0.2]]),
        cache_key("a", Path("x")),
    ]
    assert len(set(keys)) == len(keys)
    assert cache_key("a", {"x": 1, "y": 2}) == cache_key("a", {"y": 2, "x": 1})


def test_the_version_of_a_library() -> None:
    assert version_of("numpy") == np.__version__
    assert version_of("no-such-library") == ""
