"""Damage in any file of a model folder is found, also while a training runs there."""

import os
import shutil
import threading
from io import BufferedReader
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.integrity.check import check
from nmtkit.io import parameters
from nmtkit.io.atomic import atomic_file
from nmtkit.io.atomic_folder import atomic_folder
from nmtkit.io.fast_record import FAST_FILE, LEXICON_FILE, FastRecord, write_fast_record
from nmtkit.io.folder_files import open_regular
from nmtkit.io.temporary import hidden_name
from nmtkit.training.folder_lock import lock_model_folder
from nmtkit.training.settings import make_config
from nmtkit.training.train import train
from tests.unit.integrity.conftest import SMALL, Copy, errors_of, warnings_of

WITHOUT_CHECKSUM = {"config.toml", "metrics.jsonl"}
"""Files in which a changed number is not noticed; docs/how-to/check-files.md names them."""

NEWEST, OLDER = "checkpoints/00000006", "checkpoints/00000004"


def files_of(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_what_train_writes_is_well(model: Path) -> None:
    result = check(model)
    assert (result.findings, result.unchecked, result.kind) == ((), (), "model folder")
    assert result.files == len(files_of(model))


@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        ("cslm", {}),
        ("rnnenc-30", {"training.optimizer": "sgd"}),
        ("seq2seq-lstm", {"training.optimizer": "adam", "training.average_checkpoints": 2}),
        ("grconv", {"data.swap_sides": True}),
        ("rnnsearch-modern", {"training.precision": "bfloat16"}),
    ],
)
def test_every_kind_of_model_is_well(
    prepared: Path, tmp_path: Path, recipe: str, changes: dict[str, object]
) -> None:
    sizes = {"model.layers": 2, "model.units": 4, "model.embedding": 4, "model.hidden": 4}
    fields = {f"model.{name}" for name in vars(make_config(recipe).model)}
    wanted = {**SMALL, **sizes, **changes, "training.max_updates": 2}
    chosen = {k: v for k, v in wanted.items() if not k.startswith("model.") or k in fields}
    train(prepared, tmp_path / "model", recipe, device="cpu", settings=chosen)
    assert check(tmp_path / "model").findings == ()


@settings(max_examples=40, derandomize=True)
@given(data=st.data())
def test_a_flipped_bit_is_found_in_any_file_with_a_checksum(
    model: Path, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from([n for n in files_of(model) if n not in WITHOUT_CHECKSUM]))
    path = model / name
    valid = path.read_bytes()
    bit = data.draw(st.integers(0, 8 * len(valid) - 1))
    damaged = bytearray(valid)
    damaged[bit // 8] ^= 1 << bit % 8
    try:
        path.write_bytes(damaged)
        findings = check(model).findings
    finally:
        path.write_bytes(valid)
    assert any(
        path.is_relative_to(finding.path) or path.name in finding.problem for finding in findings
    )


@pytest.mark.parametrize(
    "name", ["config.toml", "vocab.src", "vocab.tgt", "bpe.src", "origin.json"]
)
def test_a_missing_file_is_named(model: Path, copy: Copy, name: str) -> None:
    folder = copy(model)
    (folder / name).unlink()
    assert "missing" in errors_of(folder)[name].problem


@pytest.mark.parametrize("name", ["vocab.src", "bpe.tgt"])
@pytest.mark.parametrize("has_sums", [True, False])
def test_a_missing_file_is_one_error_with_or_without_checksums(
    model: Path, copy: Copy, name: str, has_sums: bool
) -> None:
    """Folders of nmtkit 0.1 have no `SHA256SUMS`."""
    folder = copy(model)
    (folder / name).unlink()
    if not has_sums:
        (folder / "SHA256SUMS").unlink()
    (error,) = (finding for finding in check(folder).findings if Path(finding.path).name == name)
    assert error.severity == "error" and "missing" in error.problem


def test_a_file_that_cannot_be_looked_at_is_not_taken_for_absent(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> os.stat_result:
        if path.name == "vocab.tgt":
            raise PermissionError(13, "Permission denied", str(path))
        return os.lstat(path)

    monkeypatch.setattr(Path, "lstat", refuse)
    with pytest.raises(PermissionError):
        check(model)


def test_missing_best_parameters_are_named(model: Path, copy: Copy) -> None:
    folder = copy(model)
    (folder / "params.best.safetensors").unlink()
    assert "params.best.safetensors" in errors_of(folder)
    shutil.rmtree(folder / "checkpoints")  # which have the checksum
    assert not errors_of(folder)
    assert warnings_of(folder).keys() == {"params.best.safetensors"}
    with lock_model_folder(folder):
        assert not warnings_of(folder)


def test_parameters_without_a_header_are_named_beside_what_else_is_found(
    model: Path, copy: Copy
) -> None:
    folder = copy(model)
    write_fast_record(folder, FastRecord("0" * 64, "1" * 64, True, 7, 31.5, 31.25, 2.5))
    assert warnings_of(folder).keys() == {FAST_FILE}
    (folder / "params.best.safetensors").write_bytes(b"")
    assert errors_of(folder).keys() == {"params.best.safetensors", LEXICON_FILE}
    assert not warnings_of(folder)


def test_best_parameters_of_another_training_are_named(model: Path, copy: Copy) -> None:
    folder = copy(model)
    shutil.copy(folder / OLDER / "params.safetensors", folder / "params.best.safetensors")
    assert "params.best.safetensors" in errors_of(folder)


def test_parameters_of_another_model_are_named(model: Path, copy: Copy) -> None:
    folder = copy(model)
    with open(folder / "vocab.src", "a") as file:
        file.write("more\t1\n")
    errors = errors_of(folder)
    assert {"vocab.src", "params.best.safetensors", f"{NEWEST}/params.safetensors"} <= errors.keys()


def test_a_damaged_checkpoint_names_the_one_to_resume_from(model: Path, copy: Copy) -> None:
    folder = copy(model)
    (folder / NEWEST / "state.json").write_text("{}")
    errors = errors_of(folder)
    assert "resumes from checkpoint 00000004" in errors[NEWEST].remedy
    shutil.rmtree(folder / OLDER)
    shutil.rmtree(folder / "checkpoints/00000002")
    assert "no other checkpoint is whole" in errors_of(folder)[NEWEST].remedy


def test_checkpoints_that_may_not_be_read_are_not_to_be_replaced(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> BufferedReader:
        if path.parent.parent.name == "checkpoints":
            raise PermissionError(13, "Permission denied", str(path))
        return open_regular(path)

    monkeypatch.setattr(parameters, "open_regular", refuse)
    finding = errors_of(model)[f"{NEWEST}/params.safetensors"]
    assert finding.problem == "cannot be read: Permission denied"
    assert finding.remedy == "correct its permissions"


@pytest.mark.parametrize("damaged", ["config.toml", "vocab.src"])
def test_checkpoints_are_checked_without_their_model(model: Path, copy: Copy, damaged: str) -> None:
    folder = copy(model)
    (folder / damaged).write_text("x")
    path = folder / OLDER / "params.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    (folder / NEWEST / "state.safetensors").unlink()
    errors = errors_of(folder)
    places = {name.rpartition("/")[0] for name in errors} | errors.keys()
    assert {damaged, OLDER, NEWEST} <= places


@pytest.mark.parametrize("name", ["params.safetensors", "state.safetensors", "state.json"])
def test_an_incomplete_checkpoint_is_named(model: Path, copy: Copy, name: str) -> None:
    folder = copy(model)
    (folder / OLDER / name).unlink()
    assert errors_of(folder).keys() <= {OLDER, f"{OLDER}/{name}"}
    assert errors_of(folder)


def test_a_checkpoint_under_a_wrong_name_is_named(model: Path, copy: Copy) -> None:
    folder = copy(model)
    (folder / NEWEST).rename(folder / "checkpoints/00000007.interrupted")
    assert "after 6 updates" in errors_of(folder)["checkpoints/00000007.interrupted"].problem


def test_leftovers_and_damaged_checkpoints_give_warnings(model: Path, copy: Copy) -> None:
    folder = copy(model)
    left = [
        hidden_name(folder / "params.best.safetensors"),
        folder / ".tmpAb12Cd",
        hidden_name(folder / "checkpoints/00000008"),
        folder / "checkpoints/.00000002.old",
        folder / "checkpoints/00000003.damaged2",
    ]
    for path in left:
        path.mkdir()
    names = {path.relative_to(folder).as_posix() for path in left}
    assert warnings_of(folder).keys() == names and not errors_of(folder)
    with lock_model_folder(folder):  # they are removed, or belong to a training that runs
        assert warnings_of(folder).keys() == {"checkpoints/00000003.damaged2"}


def test_bad_lines_of_the_metrics_are_named(model: Path, copy: Copy) -> None:
    folder = copy(model)
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(["{}\n", lines[1], lines[0], lines[2][:-9]]))
    findings = check(folder).findings
    assert [(f.line, f.severity) for f in findings] == [
        (1, "error"),
        (3, "error"),
        (4, "warning"),
    ]
    assert findings[1].problem == "update 2 comes after update 4"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("config.toml", "pipe"),
        ("config.toml", "loop"),
        ("vocab.src", "pipe"),
        ("vocab.src", "device"),
        ("params.best.safetensors", "link out"),
        ("metrics.jsonl", "pipe"),
        ("origin.json", "link out"),
        (".lock", "pipe"),
        ("SHA256SUMS", "pipe"),
        (f"{NEWEST}/state.json", "pipe"),
        (f"{NEWEST}/state.json", "device"),
        (f"{NEWEST}/params.safetensors", "link out"),
    ],
)
def test_pipes_and_links_are_found_without_opening_them(
    model: Path, copy: Copy, name: str, kind: str
) -> None:
    folder = copy(model)
    path = folder / name
    outside = folder.parent / "outside"
    if path.exists():
        shutil.move(path, outside)
    else:
        outside.touch()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"device": "/dev/zero", "link out": str(outside), "loop": path.name}[kind])
    findings = check(folder).findings
    assert any(path.is_relative_to(finding.path) for finding in findings)


def test_a_folder_without_settings_is_checked_by_its_checksums(model: Path, copy: Copy) -> None:
    folder = copy(model)
    (folder / "config.toml").write_text("[model\n")
    data = bytearray((folder / "params.last.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "params.last.safetensors").write_bytes(data)
    assert errors_of(folder).keys() == {"config.toml", "params.last.safetensors"}


def test_folders_of_earlier_versions_are_well() -> None:
    data = Path(__file__).parents[2] / "data"
    for folder in sorted(data.glob("0.*/*/")):
        result = check(folder)
        assert result.findings == () and result.files == 6, folder


def test_random_generators_are_left_alone(model: Path) -> None:
    before = torch.get_rng_state()
    check(model)
    assert torch.equal(before, torch.get_rng_state())


def test_a_check_changes_nothing(model: Path, copy: Copy) -> None:
    folder = copy(model)
    (folder / NEWEST / "state.json").write_text("{}")
    before = {name: (folder / name).stat().st_mtime_ns for name in files_of(folder)}
    check(folder)
    assert before == {name: (folder / name).stat().st_mtime_ns for name in files_of(folder)}


def test_what_a_training_replaces_and_removes_is_no_damage(model: Path, copy: Copy) -> None:
    """Checkpoints come and go, and parameters change, while checks read them."""
    folder = copy(model)
    parameters = (folder / "params.last.safetensors").read_bytes()
    contents = {path.name: path.read_bytes() for path in (folder / OLDER).iterdir()}
    stop = threading.Event()

    def train_on() -> None:
        while not stop.is_set():
            with atomic_folder(folder / OLDER) as hidden:
                for name, content in contents.items():
                    (hidden / name).write_bytes(content)
            with atomic_file(folder / "params.last.safetensors", force=True) as file:
                file.write(parameters)
            (folder / OLDER).rename(folder / "checkpoints/.00000004.old")
            shutil.rmtree(folder / "checkpoints/.00000004.old")

    with lock_model_folder(folder):
        writer = threading.Thread(target=train_on)
        writer.start()
        try:
            findings = [finding for _ in range(10) for finding in check(folder).findings]
        finally:
            stop.set()
            writer.join(timeout=20)
    assert findings == []
