"""Parameter files round-trip, and errors are reported."""

import copy
import json
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from nmtkit.errors import ModelError, OutputError
from nmtkit.io.atomic_folder import atomic_folder
from nmtkit.io.parameters import (
    METADATA_KEY,
    CorruptFileError,
    FileMetadata,
    load_parameters,
    parameters_of,
    parameters_sha256,
    read_metadata,
    read_parameters,
    read_with_metadata,
    save_parameters,
    tensors_sha256,
    write_parameters,
)
from tests.unit.same_parameters import same


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


def test_tensors_on_a_gpu_are_written_from_the_host(tmp_path):
    value = torch.tensor([1.0, 2.0])
    on_gpu = Mock(spec=torch.Tensor, cpu=lambda: value)
    write_parameters(tmp_path / "p", {"a": on_gpu})
    assert torch.equal(read_parameters(tmp_path / "p")["a"], value)


def test_a_file_has_the_permissions_of_the_umask_in_any_folder(tmp_path):
    (tmp_path / "other").touch()
    write_parameters(tmp_path / "file", {"a": torch.ones(2)})
    with atomic_folder(tmp_path / "folder") as folder:
        save_parameters(folder / "file", {"a": torch.ones(2)})
    mode = (tmp_path / "other").stat().st_mode
    assert [(tmp_path / name).stat().st_mode for name in ("file", "folder/file")] == [mode] * 2


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


TENSORS = {"b": torch.arange(5.0), "a": torch.ones(2, 3), "c": torch.tensor(2.0)}


def test_every_turned_bit_is_noticed(tmp_path):
    """In the header, in the checksum, and in the values."""
    path = tmp_path / "p"
    write_parameters(path, TENSORS, update=7)
    content = path.read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        try:
            tensors = read_parameters(path)
        except CorruptFileError:
            continue
        assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS), position
        assert read_metadata(path).update != 7, position  # which has no checksum


def test_a_file_of_zeros_in_the_middle_is_noticed(tmp_path):
    path = tmp_path / "p"
    write_parameters(path, {"a": torch.ones(40_000)})
    with open(path, "r+b") as file:
        file.seek(50_000)
        file.write(bytes(1 << 16))
    with pytest.raises(CorruptFileError, match="damaged: its parameters do not match their checks"):
        read_parameters(path)


def test_a_file_without_a_checksum_is_accepted(tmp_path):
    """As nmtkit 0.1 and other programs write them."""
    save_file(TENSORS, tmp_path / "p")
    actual = read_parameters(tmp_path / "p")
    assert all(torch.equal(actual[name], TENSORS[name]) for name in TENSORS)
    assert read_metadata(tmp_path / "p") == FileMetadata()


def test_other_programs_read_the_file(tmp_path):
    write_parameters(tmp_path / "p", TENSORS, update=7)
    actual = load_file(tmp_path / "p")
    assert all(torch.equal(actual[name], TENSORS[name]) for name in TENSORS)
    assert read_metadata(tmp_path / "p") == (tensors_sha256(TENSORS), 7)


def test_the_bytes_of_a_file_depend_on_the_parameters_only(tmp_path):
    for number in range(20):  # the order of several metadata keys would change
        write_parameters(tmp_path / str(number), TENSORS, update=7)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.text(max_size=3).filter(lambda name: name != "__metadata__"),
        st.lists(st.integers(0, 3), max_size=3).map(lambda shape: torch.full(shape, 0.5)),
        max_size=4,
    )
)
def test_any_tensors_round_trip(tensors):
    with tempfile.TemporaryDirectory() as folder:
        write_parameters(Path(folder) / "p", tensors)
        actual = read_parameters(Path(folder) / "p")
    assert actual.keys() == tensors.keys()
    assert all(torch.equal(actual[name], tensors[name]) for name in tensors)


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, 8, "bytes of a are not"),
        ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, 7, "bytes of a are not"),
        ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}, 12, "bytes of a are"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, 5, "1 bytes that belong"),
        ({"a": {"dtype": "F8", "shape": [1], "data_offsets": [0, 4]}}, 4, "'F8' is not supported"),
        ({"a": {"dtype": [], "shape": [1], "data_offsets": [0, 4]}}, 4, "cannot be read as"),
        ({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, 4, "shape .* not valid"),
        ({"a": {"dtype": "F32", "shape": 1, "data_offsets": [0, 4]}}, 4, "shape 1 is not valid"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": ["0", 4]}}, 4, "cannot be read as"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": 4}}, 4, "invalid header"),
        ({"a": {"dtype": "F32", "shape": [0, 1 << 62], "data_offsets": [0, 0]}}, 0, None),
        ({"a": {"dtype": "F32", "shape": [0, 1 << 70], "data_offsets": [0, 0]}}, 0, "cannot be"),
        ({"a": 3}, 0, "invalid header"),
        ([], 0, "invalid header"),
        ({"__metadata__": 3}, 0, "invalid header"),
        ({"__metadata__": {"nmtkit": "["}}, 0, "cannot be read as"),
        ({"__metadata__": {"nmtkit": 3}}, 0, "invalid header"),
        ({"__metadata__": {"nmtkit": "3"}}, 0, "invalid header"),
    ],
)
def test_a_damaged_header_is_reported(tmp_path, header, data, message):
    text = json.dumps(header).encode()
    (tmp_path / "p").write_bytes(len(text).to_bytes(8, "little") + text + bytes(data))
    if message is None:
        assert read_parameters(tmp_path / "p")["a"].numel() == 0
        return
    with pytest.raises(CorruptFileError, match=message):
        read_parameters(tmp_path / "p")


@pytest.mark.parametrize("metadata", ['{"update": null}', '{"update": -1}', '{"sha256": 5}', "5"])
def test_metadata_of_another_type_is_damage(tmp_path, metadata):
    save_file(TENSORS, tmp_path / "p", {METADATA_KEY: metadata})
    with pytest.raises(CorruptFileError, match="cannot be read as parameters"):
        read_metadata(tmp_path / "p")


def test_a_checksum_that_is_missing_is_computed(tmp_path):
    save_file(TENSORS, tmp_path / "p")
    assert parameters_sha256(tmp_path / "p") == tensors_sha256(TENSORS)
    assert read_with_metadata(tmp_path / "p")[1] == (tensors_sha256(TENSORS), 0)
