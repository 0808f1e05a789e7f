"""Checkpoints are loaded completely, or a message says what is wrong."""

import dataclasses
import json
import os
import shutil

import pytest
import torch

from nmtkit.errors import ModelError
from nmtkit.io.parameters import CorruptFileError, average_parameters, parameters_of
from nmtkit.training.checkpoint import (
    average_with_checkpoints,
    earlier_checksum,
    load_checkpoint,
    load_newest_checkpoint,
    save_checkpoint,
)
from nmtkit.training.checkpoint_folder import CheckpointKind, list_checkpoints
from nmtkit.training.progress import Progress
from tests.unit.same_parameters import same
from tests.unit.training.small_checkpoints import PROGRESS, make, three, update

OPTIMIZERS = ["adadelta", "adam", "sgd"]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_loading_a_checkpoint_restores_everything(tmp_path, optimizer):
    model, model_optimizer = make(optimizer)
    path = save_checkpoint(tmp_path, model, model_optimizer, PROGRESS)
    expected = torch.randn(3)
    for _ in range(3):
        update(model, model_optimizer)
    loaded, loaded_optimizer = make(optimizer, seed=9, updates=0)
    assert load_checkpoint(path, loaded, loaded_optimizer) == PROGRESS
    assert torch.equal(torch.randn(3), expected)
    for _ in range(3):
        update(loaded, loaded_optimizer)
    assert same(model, loaded)
    for saved_state, loaded_state in zip(
        model_optimizer.state.values(), loaded_optimizer.state.values(), strict=True
    ):
        assert saved_state.keys() == loaded_state.keys()
        assert all(torch.equal(saved_state[key], loaded_state[key]) for key in saved_state)


def test_a_checkpoint_before_the_first_update_loads(tmp_path):
    model, model_optimizer = make("adam", updates=0)
    path = save_checkpoint(tmp_path, model, model_optimizer, Progress())
    loaded, loaded_optimizer = make("adam", seed=2, updates=0)
    assert load_checkpoint(path, loaded, loaded_optimizer) == Progress()
    assert same(model, loaded)


def test_saving_replaces_a_checkpoint_and_removes_leftovers(tmp_path):
    model, its = make()
    aside = tmp_path / "checkpoints" / ".00000007.0123456789abcdef"
    aside.mkdir(parents=True)
    (aside / "rubbish").write_text("half")
    save_checkpoint(tmp_path, model, its, PROGRESS)
    path = save_checkpoint(tmp_path, model, its, dataclasses.replace(PROGRESS, seconds=99.0))
    assert load_checkpoint(path, *make()).seconds == 99
    assert {p.name for p in path.iterdir()} == {
        "params.safetensors",
        "state.safetensors",
        "state.json",
    }
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["params.safetensors", "state.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["truncated", "removed", "empty", "other"])
def test_a_damaged_checkpoint_is_reported(tmp_path, name, damage):
    path = save_checkpoint(tmp_path, *make("adam"), PROGRESS)
    content = (path / name).read_bytes()
    if damage == "removed":
        (path / name).unlink()
    else:
        other = {"truncated": content[: len(content) // 2], "empty": b"", "other": b"[3]"}
        (path / name).write_bytes(other[damage])
    with pytest.raises(ModelError, match="00000007"):
        load_checkpoint(path, *make("adam"))


@pytest.mark.parametrize("name", ["params.safetensors", "state.safetensors"])
def test_a_flipped_bit_is_detected(tmp_path, name):
    path = save_checkpoint(tmp_path, *make("adam"), PROGRESS)
    content = bytearray((path / name).read_bytes())
    content[-1] ^= 1
    (path / name).write_bytes(content)
    with pytest.raises(CorruptFileError, match=f"{name}: damaged"):
        load_checkpoint(path, *make("adam"))


@pytest.mark.parametrize(("damaged", "newest"), [((), 7), ((7,), 6), ((7, 6), 5), ((6,), 7)])
def test_the_newest_undamaged_checkpoint_is_loaded(tmp_path, damaged, newest, caplog):
    three(tmp_path, damaged)
    (tmp_path / "checkpoints" / ".00000008.tmp").mkdir()
    model, optimizer = make(seed=99)
    progress = load_newest_checkpoint(tmp_path, model, optimizer)
    assert progress is not None and progress.updates == newest
    expected, _ = make(seed=newest)
    assert all(map(torch.equal, model.parameters(), expected.parameters()))
    warnings = [m for m in caplog.messages if "trying the one before" in m]
    renamed = [p.name for p in (tmp_path / "checkpoints").iterdir() if p.name.endswith(".damaged")]
    assert len(warnings) == len(renamed) == len([n for n in damaged if n > newest])
    assert not list((tmp_path / "checkpoints").glob(".*"))


def test_training_does_not_restart_if_every_checkpoint_is_damaged(tmp_path):
    three(tmp_path, (5, 6, 7))
    for _ in range(2):  # the second time all of them have been renamed
        with pytest.raises(ModelError, match="every checkpoint is damaged"):
            load_newest_checkpoint(tmp_path, *make())


def test_a_checkpoint_may_be_damaged_several_times(tmp_path):
    save_checkpoint(tmp_path, *make(), Progress(updates=30))
    for count in range(1, 4):
        path = save_checkpoint(tmp_path, *make(), Progress(updates=60))
        (path / "params.safetensors").write_bytes(b"no")
        progress = load_newest_checkpoint(tmp_path, *make())
        assert progress is not None and progress.updates == 30
        names = sorted(path.name for path in path.parent.iterdir())
        damaged = ["00000060.damaged", "00000060.damaged2", "00000060.damaged3"]
        assert names == ["00000030", *damaged[:count]]


def test_every_turned_bit_of_a_state_is_noticed(tmp_path):
    path = save_checkpoint(tmp_path, *make(), PROGRESS) / "state.json"
    content = path.read_bytes()
    for position in range(0, len(content), 4):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 7
        path.write_bytes(damaged)
        try:
            progress = load_checkpoint(path.parent, *make())
        except CorruptFileError:
            continue
        assert progress == PROGRESS and json.loads(damaged) == json.loads(content)  # other blanks


def test_the_next_checkpoint_replaces_that_of_an_interruption(tmp_path):
    save_checkpoint(tmp_path, *make(), PROGRESS, CheckpointKind.INTERRUPTED)
    progress = dataclasses.replace(PROGRESS, updates=9)
    save_checkpoint(tmp_path, *make(), progress, CheckpointKind.INTERRUPTED)
    names = [path.name for path in (tmp_path / "checkpoints").iterdir()]
    assert names == ["00000009.interrupted"] and list_checkpoints(tmp_path) == []
    save_checkpoint(tmp_path, *make(), dataclasses.replace(PROGRESS, updates=12))
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["00000012"]


@pytest.mark.parametrize("key", ["updates", "position", "best_cost"])
def test_missing_and_unknown_fields_are_reported(tmp_path, key):
    path = save_checkpoint(tmp_path, *make(), PROGRESS)
    state = json.loads((path / "state.json").read_text())
    state["progress"][f"{key}s"] = state["progress"].pop(key)
    (path / "state.json").write_text(json.dumps(state))
    with pytest.raises(ModelError, match="damaged checkpoint"):
        load_checkpoint(path, *make())


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    path = save_checkpoint(tmp_path, *make(), PROGRESS)
    with pytest.raises(ModelError, match=r"weight is F32 \[2, 3\].*\[2, 5\]"):
        load_checkpoint(path, *make(size=5))


def test_averaged_parameters_are_the_mean(tmp_path):
    paths, values = [], []
    for updates in range(3):
        model, optimizer = make(seed=updates)
        paths.append(save_checkpoint(tmp_path, model, optimizer, Progress(updates=updates)))
        values.append(model.weight.detach())
    for count in (1, 2, 3):
        mean = average_parameters(paths[:count])
        torch.testing.assert_close(mean["weight"], torch.stack(values[:count]).mean(0))
        assert mean.keys() == {"weight", "bias"}


def test_interrupted_saving_keeps_earlier_checkpoints(tmp_path, monkeypatch):
    first = save_checkpoint(tmp_path, *make(), PROGRESS)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nmtkit.training.checkpoint.with_checksum", fail)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(tmp_path, *make(), Progress(updates=8))
    assert list_checkpoints(tmp_path) == [first]
    assert load_checkpoint(first, *make()) == PROGRESS


def test_a_copied_checkpoint_works_elsewhere(tmp_path):
    path = save_checkpoint(tmp_path / "a", *make(), PROGRESS)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert load_checkpoint(tmp_path / "b" / path.relative_to(tmp_path / "a"), *make()) == PROGRESS


@pytest.mark.parametrize("name", ["params.safetensors", "state.safetensors", "state.json"])
def test_a_file_of_a_terabyte_is_a_damaged_checkpoint_and_not_read(tmp_path, name):
    model, optimizer = make()
    path = save_checkpoint(tmp_path, model, optimizer, PROGRESS)
    os.truncate(path / name, 1 << 40)
    with pytest.raises(CorruptFileError, match=name):
        load_checkpoint(path, *make(seed=2))


def test_a_training_does_not_start_anew_where_checkpoints_cannot_be_listed(tmp_path):
    (tmp_path / "checkpoints").write_text("a file")
    with pytest.raises(ModelError, match="checkpoints: cannot be read: Not a directory"):
        load_newest_checkpoint(tmp_path, *make())


def test_a_checkpoint_of_the_steady_part_replaces_older_ones(tmp_path):
    for updates in (3, 5):
        save_checkpoint(tmp_path, *make(), Progress(updates=updates), CheckpointKind.STEADY)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["00000005.steady"]


@pytest.mark.parametrize("average", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("kind", [CheckpointKind.VALIDATED, CheckpointKind.INTERRUPTED])
def test_the_checksum_is_that_of_the_checkpoints_which_are_averaged_next(tmp_path, kind, average):
    """A checkpoint counts if the checksum changes without it."""
    updates = 5
    paths = [
        save_checkpoint(tmp_path, *make(seed=n), Progress(updates=n)) for n in range(1, updates + 2)
    ]
    whole = earlier_checksum(tmp_path, updates, average, kind)
    counted = []
    for number, path in enumerate(paths, start=1):
        path.rename(tmp_path / "aside")
        if earlier_checksum(tmp_path, updates, average, kind) != whole:
            counted.append(number)
        (tmp_path / "aside").rename(path)
    known = [
        *range(1, updates + (kind is CheckpointKind.VALIDATED))
    ]  # an interruption is not averaged
    expected = known[len(known) - min(average - 1, len(known)) :]
    assert counted == [number for number in expected if number != updates]


@pytest.mark.parametrize("count", [2, 3, 4, 9])
def test_the_current_parameters_are_averaged_with_those_of_the_last_checkpoints(tmp_path, count):
    assert average_with_checkpoints(tmp_path, {"weight": torch.ones(1)}, count) == {
        "weight": torch.ones(1)
    }
    values = []
    for updates in range(5):
        model, optimizer = make(seed=updates)
        if updates < 4:
            save_checkpoint(tmp_path, model, optimizer, Progress(updates=updates))
        values.append(model.weight.detach())
    mean = average_with_checkpoints(tmp_path, parameters_of(model), count)
    torch.testing.assert_close(mean["weight"], torch.stack(values[-count:]).mean(0))
