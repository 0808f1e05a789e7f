"""A hostile model folder is refused with one error line before memory is allocated for it."""

import gzip
import json
import os
import resource
import struct
from pathlib import Path

import pytest
import torch

from nmtkit.config import Config, TextConfig
from nmtkit.errors import DataError, ModelError, NmtkitError
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.translator import Translator
from nmtkit.io.checksums import with_checksum
from nmtkit.io.parameters import CorruptFileError, parameters_of, write_parameters
from nmtkit.model_folder import build_model, load_model, read_config
from nmtkit.models.rnnsearch import RNNsearchConfig
from nmtkit.new_model_folder import new_model_folder
from nmtkit.training.checkpoint import load_checkpoint, save_checkpoint
from nmtkit.training.optimizers import make_optimizer
from nmtkit.training.progress import Progress

pytestmark = pytest.mark.time_limit(60)

CONFIG = Config(model=RNNsearchConfig(3, 4, 3, 2), text=TextConfig(tokenized=True))
PARAMS = "params.best.safetensors"
MEMORY_LIMIT = 300 << 20
"""Bytes that loading a folder may allocate."""


@pytest.fixture
def folder(tmp_path):
    """Return a valid model folder."""
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    (prepared / "vocab.src").write_text("</s>\t9\n<unk>\t0\na\t5\nb\t4\n")
    (prepared / "vocab.tgt").write_text("</s>\t9\n<unk>\t0\nc\t5\n")
    with new_model_folder(tmp_path / "model", CONFIG, prepared):
        pass
    write_parameters(tmp_path / "model" / PARAMS, parameters_of(build_model(CONFIG, 4, 3)))
    return tmp_path / "model"


@pytest.fixture
def limited_memory():
    """Let allocations beyond MEMORY_LIMIT fail."""
    allocated = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (allocated + MEMORY_LIMIT, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def assert_refused(folder: Path, message: str) -> None:
    with pytest.raises(NmtkitError, match=message):
        load_model(folder, "cpu")


def write_safetensors(path: Path, header: object, size: int = 0) -> None:
    """Write a safetensors file with this header and `size` bytes of zeros, as a sparse file."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    os.truncate(path, path.stat().st_size + size)


@pytest.mark.parametrize("name", ["config.toml", "vocab.src", "vocab.tgt", PARAMS])
def test_a_link_out_of_the_folder_is_not_followed(folder, name):
    elsewhere = folder.parent / "elsewhere"
    os.replace(folder / name, elsewhere)
    (folder / name).symlink_to(elsewhere)
    assert_refused(
        folder, f"{name}: is a link that leads out of the model folder, to .*elsewhere; if you"
    )
    (folder / name).unlink()
    (folder / name).symlink_to("../elsewhere")
    assert_refused(folder, f"{name}: is a link that leads out")


def test_unused_bpe_merges_may_not_link_out_either(folder):
    (folder / "bpe.src").symlink_to("/etc/hostname")
    assert_refused(folder, "bpe.src: is a link that leads out")


def test_links_within_the_folder_and_to_it_are_followed(folder):
    os.replace(folder / PARAMS, folder / "params.last.safetensors")
    (folder / PARAMS).symlink_to("params.last.safetensors")
    (folder.parent / "link").symlink_to(folder)
    assert len(load_model(folder.parent / "link", "cpu").src_vocab) == 4


@pytest.mark.parametrize("name", ["config.toml", "vocab.src", PARAMS])
def test_only_regular_files_are_opened(folder, name):
    """Reading a named pipe would block for ever."""
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert_refused(folder, f"{name}: is not a regular file")
    (folder / name).unlink()
    (folder / name).symlink_to(name)
    assert_refused(folder, f"{name}: (the link cannot be followed|no such file)|no config.toml")


@pytest.mark.parametrize("name", ["config.toml", "vocab.src", "vocab.tgt"])
def test_a_file_of_a_terabyte_is_not_read(folder, name, limited_memory):
    os.truncate(folder / name, 1 << 40)
    assert_refused(
        folder, f"{name}: has 1,099,511,627,776 bytes, but such a file never has more than"
    )


@pytest.mark.parametrize("name", ["vocab.src", "bpe.tgt"])
def test_millions_of_short_lines_are_not_read(folder, name, limited_memory):
    (folder / name).write_bytes(b"a\n" * 2_000_001)
    assert_refused(
        folder, f"{name}: has 2,000,001 lines, but such a file never has more than 2,000,000"
    )


def test_more_parameters_than_the_model_has_are_not_read(folder, limited_memory):
    """The header declares 100 GiB, and the file has that size, as a sparse file."""
    size = 100 << 30
    names = dict(build_model(CONFIG, 4, 3).named_parameters())
    header, start = {}, 0
    for name, value in names.items():
        shape = [size // 4] if name == "E_x" else list(value.shape)
        end = start + 4 * torch.Size(shape).numel()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
        start = end
    write_safetensors(folder / PARAMS, header, start)
    assert_refused(
        folder,
        "E_x is F32 .26843545600., but config.toml and the vocabularies need F32 .4, 3.; they do",
    )


@pytest.mark.parametrize(
    "header",
    [
        {"E_x": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}},
        {"E_x": {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]}},
        {"E_x": {"dtype": "F32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 16]}},
        {"E_x": {"dtype": "Q99", "shape": [4], "data_offsets": [0, 16]}},
        b"[" * 100_000,
        b"\xff" * 100,
    ],
)
def test_an_invalid_header_is_detected(folder, header, limited_memory):
    write_safetensors(folder / PARAMS, header, 16)
    assert_refused(
        folder, f"{PARAMS}: (cannot be read as parameters|does not belong to this model)"
    )


@pytest.mark.parametrize("offsets", [[0, 1 << 42], [0, 48], [-48, 0], [8, 56], ["0", "48"], []])
def test_wrong_offsets_in_a_header_are_detected(folder, offsets, limited_memory):
    """Names, types and shapes are right, but the file is too short for them."""
    header = {
        name: {"dtype": "F32", "shape": list(value.shape), "data_offsets": offsets}
        for name, value in build(4, 3).named_parameters()
    }
    write_safetensors(folder / PARAMS, header, 48)
    assert_refused(folder, f"{PARAMS}: cannot be read as parameters")


def test_a_header_longer_than_the_file_is_detected(folder, limited_memory):
    (folder / PARAMS).write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
    assert_refused(folder, f"{PARAMS}: cannot be read as parameters")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.pop("E_x"), "differing: E_x"),
        (
            lambda p: p.update({f"w{i}": torch.zeros(1) for i in range(50)}),
            "differing: w0, .*, ...",
        ),
        (lambda p: p.update(E_x=p["E_x"].double()), "E_x is F64 .4, 3.*F32"),
        (lambda p: p.update(E_x=p["E_x"].long()), "E_x is I64"),
        (lambda p: p.update(E_x=torch.zeros(5, 3)), "E_x is F32 .5, 3., but config.toml and"),
        (lambda p: p["E_x"].fill_(float("nan")), "E_x has values that are not finite"),
        (lambda p: p["b_y"].view(-1)[0].fill_(float("-inf")), "b_y has values that are not finite"),
    ],
)
def test_parameters_that_do_not_match_the_model_are_refused(folder, change, message):
    parameters = {name: value.clone() for name, value in parameters_of(build(4, 3)).items()}
    change(parameters)
    write_parameters(folder / PARAMS, parameters)
    assert_refused(folder, message)


def test_large_values_are_accepted(folder):
    parameters = {name: value.clone() for name, value in parameters_of(build(4, 3)).items()}
    parameters["E_x"].fill_(3e38)
    write_parameters(folder / PARAMS, parameters)
    load_model(folder, "cpu")


def test_values_that_overflow_are_reported_with_their_file(folder):
    parameters = {name: value.clone() for name, value in parameters_of(build(4, 3)).items()}
    parameters["W_o"].fill_(3e38)
    parameters["b_o"].fill_(-3e38)
    write_parameters(folder / PARAMS, parameters)
    message = f"{PARAMS}: the model gives log-probabilities that are not numbers"
    with pytest.raises(ModelError, match=message):
        list(Translator.load(folder, device="cpu").translate(["a b"]))
    with pytest.raises(ModelError, match=message):
        list(Scorer.load(folder, device="cpu").score([("a b", "c")]))


def build(src, tgt):
    return build_model(CONFIG, src, tgt)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("</s>\t9\n<unk>\t0\na\t5\na\t4\n", "vocab.src:4: 'a' occurs twice"),
        ("</s>\t9\n<unk>\t0\na\tnan\nb\t4\n", "vocab.src:3: 'nan' is not a count"),
        (f"</s>\t9\n<unk>\t0\na\t{'9' * 5000}\nb\t4\n", ":3: '9+ … 9+' is not a count"),
        (
            "</s>\t9\n<unk>\t0\na\t5\n",
            "E_x is F32 .4, 3., but config.toml and .* need F32 .3",
        ),
        ("</s>\t9\n<unk>\t0\na\t5\nb\t1\nc\t1\n", "E_x is F32 .4, 3., .* need F32 .5, 3."),
        ("</s>\r\n<unk>\r\na\r\nb\r\n", ":1: '</s>.r' ends with a carriage return"),
    ],
)
def test_a_vocabulary_of_another_size_or_with_invalid_lines_is_refused(folder, rows, message):
    (folder / "vocab.src").write_text(rows, newline="")
    (folder / "SHA256SUMS").unlink()  # as an attacker could do
    assert_refused(folder, message)


def test_a_small_file_that_grows_by_decompression_is_refused(folder):
    (folder / "vocab.src").write_bytes(gzip.compress(bytes(1 << 20)))
    (folder / "SHA256SUMS").unlink()
    assert_refused(folder, "vocab.src:1: not valid UTF-8")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("max_length = " + "9" * 5000, "config.toml: not a TOML file"),
        ("max_length = " + "[" * 100_000, "config.toml: not a TOML file: .* too deep"),
        ("max_length = '../../etc/passwd'", "max_length: expected a whole number"),
        ("include = '/etc/passwd'", "there is no setting 'include'"),
    ],
)
def test_a_config_cannot_name_other_files(folder, line, message):
    text = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(text.replace("[data]", f"[data]\n{line}", 1))
    text = (folder / "config.toml").read_text().replace("max_length = 50\n", "")
    (folder / "config.toml").write_text(text)
    assert_refused(folder, message)


def test_a_number_too_large_for_a_float_is_out_of_range(folder):
    text = (folder / "config.toml").read_text()
    large = text.replace("learning_rate = 1.0", f"learning_rate = {'9' * 400}")
    assert large != text
    (folder / "config.toml").write_text(large)
    with pytest.raises(NmtkitError, match="training.learning_rate must be above 0, not inf"):
        read_config(folder)


@pytest.fixture
def checkpoint(tmp_path):
    """Return a checkpoint after one update of Adadelta, and its model and optimizer."""
    model = build(4, 3)
    optimizer = make_optimizer(model, CONFIG.training)
    sum(parameter.sum() for parameter in model.parameters()).backward()
    optimizer.step()
    return save_checkpoint(tmp_path / "training", model, optimizer, Progress(updates=3)), (
        model,
        optimizer,
    )


def rewrite_state(checkpoint: Path, change) -> None:
    """Change the state of a checkpoint, and recompute its checksum, as an attacker could do."""
    state = json.loads((checkpoint / "state.json").read_text())
    del state["sha256"]
    change(state)
    (checkpoint / "state.json").write_text(json.dumps(with_checksum(state)))


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["progress"].update(updates="3"),
        lambda s: s["progress"].update(updates=-1),
        lambda s: s["progress"].update(updates=True),
        lambda s: s["progress"].update(skipped=10**30),
        lambda s: s["progress"].update(best="low"),
        lambda s: s["progress"].update(seconds=None),
        lambda s: s["progress"]["position"].update(start=1.5),
        lambda s: s["progress"].update(position=[1, 2, 3]),
        lambda s: s.update(progress=None),
        lambda s: s.update(optimizer={"x.step": 3}),
        lambda s: s.update(sums=[1]),
    ],
)
def test_an_invalid_progress_is_a_damaged_checkpoint(checkpoint, change):
    rewrite_state(checkpoint[0], change)
    with pytest.raises(CorruptFileError, match="damaged checkpoint"):
        load_checkpoint(checkpoint[0], *checkpoint[1])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("0.acc_delta", torch.zeros(1 << 20), "0.acc_delta is F32 .1048576."),
        ("0.acc_delta", torch.zeros(4, 3).double(), "0.acc_delta is F64"),
        ("99.acc_delta", torch.zeros(4, 3), "99.acc_delta belongs to no parameter"),
        ("-1.x", torch.zeros(4, 3), "-1.x belongs to no parameter"),
        ("random.cpu", torch.zeros(1 << 20, dtype=torch.uint8), "random.cpu is U8"),
        ("random.cpu", torch.zeros(5056), "random.cpu is F32"),
        ("random.cpu", torch.zeros(3, dtype=torch.uint8), "RNG state"),
    ],
)
def test_a_state_with_wrong_tensors_is_not_read(checkpoint, name, value, message):
    from nmtkit.io.lines import file_sha256
    from nmtkit.io.parameters import read_parameters

    path = checkpoint[0] / "state.safetensors"
    write_parameters(path, {k: v.clone() for k, v in read_parameters(path).items()} | {name: value})
    rewrite_state(checkpoint[0], lambda s: s["sums"].update({path.name: file_sha256(path)}))
    with pytest.raises(CorruptFileError, match=message):
        load_checkpoint(checkpoint[0], *checkpoint[1])


def test_the_vocabulary_of_a_prepared_folder_is_checked_too(folder):
    (folder.parent / "prepared/vocab.src").write_text("</s>\t1\na b\n")
    from nmtkit.model_folder import read_vocabularies

    with pytest.raises(DataError, match="vocab.src:2: there is no tab"):
        read_vocabularies(folder.parent / "prepared")
