import json

import pytest
import torch
from safetensors.torch import save_file

from diarize.embedding.model import CompositionalEmbedding, EmbeddingConfig
from diarize.embedding.weights import find_model, load_model, save_model
from diarize.errors import InputError
from diarize.storage.weights import models_folder

SMALL = EmbeddingConfig(dim=4, hidden=4, layers=1, stack=2, window=1.0)


@pytest.fixture
def saved(tmp_path):
    torch.manual_seed(0)
    model = CompositionalEmbedding(SMALL)
    save_model(model, tmp_path / "small.safetensors")
    return model, tmp_path / "small.safetensors"


def test_round_trip(saved):
    model, path = saved
    again = load_model(path)
    assert again.config == SMALL
    for name, value in model.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], value, rtol=0, atol=0)
    assert not any(p.requires_grad for p in again.parameters())


def test_in_eight_bits_weights_are_a_quarter_as_large_and_nearly_the_same(tmp_path):
    torch.manual_seed(0)
    model = CompositionalEmbedding(EmbeddingConfig(dim=4, hidden=128, layers=1, stack=2))
    with torch.no_grad():
        model.encode.lstm.weight_hh_l0[3] = 0.0
    save_model(model, tmp_path / "full.safetensors")
    save_model(model, tmp_path / "small.safetensors", small=True)
    full, small = ((tmp_path / f"{name}.safetensors").stat().st_size for name in ("full", "small"))
    assert small < 0.4 * full
    again = load_model(tmp_path / "small.safetensors")
    for name, value in model.state_dict().items():
        found, step = again.state_dict()[name], value.abs().amax(dim=-1, keepdim=True) / 127
        assert found.dtype == torch.float32
        assert ((found - value).abs() <= 0.51 * step).all()


def test_steps_that_are_not_one_for_each_row_are_refused(saved):
    model, path = saved
    tensors = dict(model.state_dict())
    tensors["compose.w1.weight"] = torch.ones(10**6, 1, dtype=torch.int8)
    tensors["compose.w1.weight.step"] = torch.ones(1, 10**6)  # together far more than the file has
    save_file(tensors, path, metadata={"diarize.embedding": json.dumps(vars(SMALL))})
    with pytest.raises(InputError, match=r"do not fit the model .compose.w1.weight has other rows"):
        load_model(path)


def test_an_unknown_model_names_the_shipped_ones():
    with pytest.raises(InputError, match=r"no-such: no such model .shipped: .*lstm-compositional"):
        find_model("no-such")


@pytest.mark.parametrize("keep", [0, 5, 200, -7])
def test_a_truncated_file_is_refused(saved, keep):
    _, path = saved
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"small\.safetensors: .*damaged") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("where", [0.3, 0.6, 0.999])
def test_overwritten_weights_are_refused(saved, where):
    _, path = saved
    content = bytearray(path.read_bytes())
    place = int(where * len(content)) // 4 * 4
    content[place + 2] ^= 0x40  # another weight, as good as any
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"small\.safetensors: a damaged weights file") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


def test_a_file_for_something_else_is_refused(tmp_path):
    save_file({"weight": torch.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(InputError, match="not a compositional embedding"):
        load_model(tmp_path / "other.safetensors")


@pytest.mark.parametrize(
    "change",
    [{"dim": 5}, {"colour": 1}, {"dim": "x"}, {"layers": 0}, {"layers": 10**6}, {"hidden": 10**6}],
)
def test_weights_that_do_not_fit_are_refused(saved, change):
    model, path = saved
    config = {"dim": 4, "hidden": 4, "layers": 1, "stack": 2, "window": 1.0} | change
    header = {"diarize.embedding": json.dumps(config)}
    save_file(model.state_dict(), path, metadata=header)
    with pytest.raises(InputError, match="do not fit"):
        load_model(path)


def test_values_that_are_not_finite_are_refused(saved):
    model, path = saved
    with torch.no_grad():
        model.compose.w1.weight[0, 0] = float("nan")
    save_model(model, path)
    with pytest.raises(InputError, match="not finite"):
        load_model(path)


def test_the_shipped_model_is_small_and_has_a_card():
    weights = find_model("lstm-compositional")
    assert weights.stat().st_size <= 4_000_000
    card = (models_folder() / "lstm-compositional.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in card
