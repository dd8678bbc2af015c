"""Networks of others as speaker encoders: what is read of them, what they give, what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diarize.audio import open_recording
from diarize.embedding import Knowledge, SpeakerEncoder, embed_windows, load_encoder, load_model
from diarize.embedding.encoders import identity
from diarize.embedding.fitted import Fitted, Place, load_fitted, save_fitted
from diarize.embedding.foreign import NOTHING_KNOWN, ForeignEncoder
from diarize.embedding.model import Composition
from diarize.errors import InputError
from diarize.scatter import Likeness, Scatter
from diarize.storage.files import file_sha256

from ..networks import BANDS, DIM, NEMO, SAMPLES, SPEAKER_3D, TITANET, WESPEAKER, write

KINDS = {
    "samples": (SAMPLES, {}),
    "wespeaker": (BANDS, WESPEAKER),
    "3d-speaker": (BANDS, SPEAKER_3D),
    "nemo": (NEMO, TITANET),
}
NO_G = "ignore:.*no .*.safetensors beside it"


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return write(tmp_path / "f.onnx", SAMPLES)


@pytest.fixture
def sound() -> np.ndarray:
    return (np.random.default_rng(1).standard_normal(16_000 * 6) * 0.05).astype(np.float32)


def fitted_to(network: Path, dim: int = DIM, to: int = 8) -> Fitted:
    rng = np.random.default_rng(2)
    place = Place(
        rng.normal(0, 0.1, dim).astype(np.float32),
        rng.normal(0, 1, (dim, to)).astype(np.float32),
    )
    knowledge = Knowledge(
        step=0.4, scatter=Scatter(variance=0.3, dimension=5), likeness=Likeness(cosine=9.0)
    )
    return Fitted(network.name, file_sha256(network), place, Composition(to), knowledge)


@pytest.mark.parametrize("kind", KINDS)
def test_every_family_embeds_windows_of_a_recording(
    kind: str, tmp_path: Path, sound: np.ndarray
) -> None:
    if kind in ("wespeaker", "3d-speaker"):
        pytest.importorskip("kaldi_native_fbank")
    encoder = ForeignEncoder(write(tmp_path / "f.onnx", *KINDS[kind]))
    assert isinstance(encoder, SpeakerEncoder)
    assert encoder.family.framework == kind and encoder.dim == DIM and encoder.device == "cpu"
    windows = np.array([[0.0, 2.0], [1.0, 2.4], [5.5, 6.0], [5.9, 5.95], [30.0, 31.0]])
    vectors = embed_windows(encoder, open_recording((sound, 16_000)), windows)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    # Alone, a window gives the same vector as within the recording.
    rows = encoder.rows
    begin, end = rows.ranges(windows[1:2])[0].tolist()
    alone = rows.make(sound[160 * begin :][: rows.samples(end - begin)])
    np.testing.assert_allclose(encoder.vectors(alone[None])[0], vectors[1], atol=1e-4)


def test_metadata_decides_how_the_same_graph_hears(tmp_path: Path, sound: np.ndarray) -> None:
    pytest.importorskip("kaldi_native_fbank")
    windows, found = np.array([[0.0, 2.0]]), {}
    for name, told in {
        "wespeaker": WESPEAKER,
        "3d-speaker": SPEAKER_3D,
        "no mean": SPEAKER_3D | {"feature_normalize_type": ""},
        "16 bits": SPEAKER_3D | {"normalize_samples": 0},
    }.items():
        encoder = ForeignEncoder(write(tmp_path / "f.onnx", BANDS, told))
        found[name] = embed_windows(encoder, open_recording((sound, 16_000)), windows)[0]
    np.testing.assert_allclose(found["3d-speaker"], found["16 bits"], atol=1e-3)  # without the mean
    assert np.abs(found["wespeaker"] - found["3d-speaker"]).max() > 1e-3  # another window
    assert np.abs(found["no mean"] - found["3d-speaker"]).max() > 0.1


def test_a_toml_file_says_what_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("kaldi_native_fbank")
    path = write(tmp_path / "f.onnx", BANDS)
    with pytest.raises(InputError, match=r"no framework is named in it; a f\.toml beside it may"):
        ForeignEncoder(path)
    (tmp_path / "f.toml").write_text('framework = "3d-speaker"\nnormalize_samples = false\n')
    assert ForeignEncoder(path).family.framework == "3d-speaker"


@pytest.mark.parametrize(
    ("text", "told", "reason"),
    [
        (SAMPLES, {"sample_rate": 8000}, "made for 8000 Hz"),
        (SAMPLES, {"sample_rate": "fast"}, "sample_rate = fast is no whole number"),
        (SAMPLES, {"framework": "elsewhere"}, "framework elsewhere is unknown"),
        (SAMPLES, {"framework": "wespeaker"}, "no network of wespeaker"),
        (SAMPLES, {"output_dim": 512}, "no vector of 512 numbers"),
        (BANDS, TITANET | {"window_size_ms": 20}, "window_size_ms = 20"),
        (BANDS, SPEAKER_3D | {"feature_normalize_type": "odd"}, "feature_normalize_type odd"),
        (
            "f (float[b] x) => (float[b] y) { y = Abs (x) }",
            {},
            r"input x has the shape \(any\)",
        ),
        (
            "f (float[b, t] x) => (float[b, t] y) { y = Abs (x) }",
            {"framework": "nemo"},
            "no network of nemo",
        ),
        (
            "f (float[b, t] x) => (float[t] y) { y = ReduceMean <keepdims = 0> (x, zero) }",
            {},
            "no vector for each window",
        ),
        (
            "f (float[b, t] x, float[b] y) => (float[b, t] z) { z = Abs (x) }",
            {},
            "takes x",
        ),
    ],
)
def test_what_is_no_speaker_encoder_is_refused(
    tmp_path: Path, text: str, told: dict[str, Any], reason: str
) -> None:
    path = write(tmp_path / "f.onnx", text, told, zero=np.array([0], np.int64))
    with pytest.raises(InputError, match=f"f.onnx: .*{reason}"):
        ForeignEncoder(path)


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "f.onnx", SAMPLES, kernel=np.full((DIM, 1, 64), np.nan))
    with pytest.raises(InputError, match=r"f\.onnx: gives vectors that are not finite"):
        ForeignEncoder(path)


def test_silence_has_a_place_and_broken_vectors_of_sound_are_told(tmp_path: Path) -> None:
    text = SAMPLES.replace("vectors = Reduce", "mean = Reduce").replace(
        "(sizes, two)\n", "(sizes, two)\n vectors = Div (mean, mean)\n"
    )
    encoder = ForeignEncoder(write(tmp_path / "f.onnx", text))  # of zeros it gives 0 / 0
    windows = np.zeros((2, 100, 160), np.float32)
    np.testing.assert_allclose(encoder.vectors(windows), DIM**-0.5, atol=1e-6)
    windows[1, 3, 7] = 1.0
    encoder._network = lambda *_: np.full((2, DIM), np.nan, np.float32)  # type: ignore[assignment]
    encoder._network.path = tmp_path / "f.onnx"  # type: ignore[misc]
    with pytest.raises(InputError, match="gives vectors that are not finite"):
        encoder.vectors(windows)


def test_without_g_the_mean_is_taken_and_that_is_said(network: Path) -> None:
    with pytest.warns(UserWarning, match=r"no f\.safetensors beside it"):
        encoder = load_encoder(network)
    assert encoder.knowledge == NOTHING_KNOWN
    w1, w2 = encoder.compose.hadamard_matrices()
    assert np.array_equal(w1, np.eye(DIM)) and not w2.any()


def test_g_beside_the_network_is_found_by_either_name(network: Path, sound: np.ndarray) -> None:
    beside = network.with_suffix(".safetensors")
    save_fitted(fitted_to(network), beside)
    windows = np.array([[0.0, 2.0], [3.0, 5.0]])
    found = []
    for name in (network, beside):
        encoder = load_encoder(name)
        assert encoder.dim == 8
        assert encoder.knowledge == fitted_to(network).knowledge
        found.append(embed_windows(encoder, open_recording((sound, 16_000)), windows))
    assert np.array_equal(*found)
    own = embed_windows(ForeignEncoder(network), open_recording((sound, 16_000)), windows)
    np.testing.assert_allclose(fitted_to(network).place(own), found[0], atol=1e-5)
    assert identity(network) == identity(beside)
    with_g = identity(network)
    beside.unlink()
    assert identity(network) != with_g
    (network.with_suffix(".toml")).write_text("sample_rate = 16000\n")
    assert len({identity(network), with_g, file_sha256(network)}) == 3


def test_g_of_another_network_is_refused(network: Path, tmp_path: Path) -> None:
    beside = network.with_suffix(".safetensors")
    save_fitted(fitted_to(network), beside)
    write(network, SAMPLES, {"output_dim": 16})
    with pytest.raises(InputError, match=r"f\.safetensors: g for another network than f\.onnx"):
        load_encoder(network)
    save_fitted(fitted_to(network, dim=32), beside)
    with pytest.raises(InputError, match="vectors of 16 dimensions, but g was fitted to 32"):
        load_encoder(network)
    network.rename(tmp_path / "elsewhere.onnx")
    with pytest.raises(InputError, match=r"g for f\.onnx, which is not beside it"):
        load_encoder(beside)


def test_a_file_of_g_comes_back_and_damage_is_told(network: Path) -> None:
    path, fitted = network.with_suffix(".safetensors"), fitted_to(network)
    save_fitted(fitted, path)
    again = load_fitted(path)
    assert again.knowledge == fitted.knowledge and again.sha256 == fitted.sha256
    for one, other in (
        (again.place.mean, fitted.place.mean),
        (again.place.matrix, fitted.place.matrix),
        (again.compose.w1.weight.numpy(), fitted.compose.w1.weight.detach().numpy()),
    ):
        assert np.array_equal(one, other)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged weights file"):
        load_fitted(path)


def test_an_encoder_travels_to_other_processes(network: Path, sound: np.ndarray) -> None:
    save_fitted(fitted_to(network), network.with_suffix(".safetensors"))
    encoder = load_encoder(network)
    windows = sound[: 160 * 200].reshape(1, 200, 160)
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(again.vectors(windows), encoder.vectors(windows))


def test_where_weights_of_ours_are_needed_a_network_is_refused(network: Path) -> None:
    with pytest.raises(InputError, match=r"f\.onnx: weights of ours are needed"):
        load_model(network)
