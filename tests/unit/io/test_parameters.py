"""Parameter files round-trip, and errors are reported."""

import copy

import pytest
import torch
from safetensors import SafetensorError
from torch import nn

from nmtkit.errors import ModelError, OutputError
from nmtkit.io.parameters import (
    load_parameters,
    parameters_of,
    read_parameters,
    write_parameters,
)


def same(model, other):
    return all(
        torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True)
    )


def test_parameters_round_trip(tmp_path):
    model = nn.Linear(3, 2)
    write_parameters(tmp_path / "p.safetensors", parameters_of(model))
    other = nn.Linear(3, 2)
    load_parameters(other, tmp_path / "p.safetensors")
    assert same(model, other)
    assert [path.name for path in tmp_path.iterdir()] == ["p.safetensors"]


def test_parameters_are_loaded_into_a_model_on_meta(tmp_path):
    model = nn.Linear(3, 2)
    path = tmp_path / "params.safetensors"
    write_parameters(path, parameters_of(model))
    with torch.device("meta"):
        empty = nn.Linear(3, 2)
    load_parameters(empty, path)
    assert same(empty, model)
    path.write_bytes(bytes(path.stat().st_size))  # the model has copies
    assert same(empty, model)
    assert all(parameter.data_ptr() % 64 == 0 for parameter in empty.parameters())


def test_views_are_written_with_their_values(tmp_path):
    values = torch.arange(6.0).view(2, 3)
    write_parameters(tmp_path / "p", {"turned": values.t(), "part": values[:, 1]})
    actual = read_parameters(tmp_path / "p")
    assert torch.equal(actual["turned"], values.t()) and torch.equal(actual["part"], values[:, 1])


@pytest.mark.parametrize("kind", [OSError, SafetensorError])
def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch, kind):
    path = tmp_path / "p"
    write_parameters(path, {"a": torch.ones(2)})

    def fail(*_: object) -> None:
        raise kind("No space left on device")

    monkeypatch.setattr("nmtkit.io.parameters.save_file", fail)
    with pytest.raises(OutputError, match="p: cannot be written: No space left"):
        write_parameters(path, {"a": torch.zeros(2)})
    assert list(tmp_path.iterdir()) == [path]
    assert torch.equal(read_parameters(path)["a"], torch.ones(2))


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"weight": torch.zeros(2, 3)}, "differing: bias"),
        ({"weight": torch.zeros(2, 3), "bias": torch.zeros(2), "c": torch.zeros(1)}, "ing: c"),
        ({"weight": torch.zeros(3, 2), "bias": torch.zeros(2)}, r"\[3, 2\].*\[2, 3\]"),
        ({"weight": torch.zeros(2, 3), "bias": torch.zeros(2).double()}, "F64.*F32"),
    ],
)
def test_mismatched_parameters_leave_the_model_unchanged(tmp_path, tensors, message):
    write_parameters(tmp_path / "p", tensors)
    model = nn.Linear(3, 2)
    expected = copy.deepcopy(model)
    with pytest.raises(ModelError, match=message):
        load_parameters(model, tmp_path / "p")
    assert same(model, expected)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"gone\.safetensors: cannot be read"):
        read_parameters(tmp_path / "gone.safetensors")


def test_parameters_are_readable_as_the_users_other_files(tmp_path):
    (tmp_path / "other").touch()
    write_parameters(tmp_path / "p", {"a": torch.ones(2)})
    assert (tmp_path / "p").stat().st_mode == (tmp_path / "other").stat().st_mode
