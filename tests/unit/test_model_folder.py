"""Model folders are loaded ready for use, or a message says what is wrong."""

import dataclasses
from typing import Any

import pytest
import torch

from nmtkit.errors import ConfigError, DataError, ModelError
from nmtkit.io.parameters import parameters_of, write_parameters
from nmtkit.model_folder import build_model, find_device, load_model, read_config
from nmtkit.new_model_folder import new_model_folder, write_config
from nmtkit.text.subword.bpe import BPE
from nmtkit.training.checkpoint import load_newest_checkpoint
from nmtkit.training.optimizers import make_optimizer
from tests.unit.small_prepared import CONFIG, write_prepared


@pytest.fixture
def prepared(tmp_path):
    return write_prepared(tmp_path / "prepared")


@pytest.fixture
def model_folder(tmp_path, prepared):
    """Return a model folder whose best and last parameters differ."""
    folder = tmp_path / "model"
    with new_model_folder(folder, CONFIG, prepared):
        pass
    for seed, name in enumerate(["best", "last"]):
        torch.manual_seed(seed)
        write(folder / f"params.{name}.safetensors", build_model(CONFIG, 4, 3))
    return folder


def write(path, model):
    write_parameters(path, parameters_of(model))


def load(folder, params="best"):
    model: Any = load_model(folder, "cpu", params).model
    return model


def E_x(seed):
    torch.manual_seed(seed)
    return build_model(CONFIG, 4, 3).E_x


def test_bpe_merges_are_copied_and_used(tmp_path, prepared):
    for side in ("src", "tgt"):
        BPE.learn({"aab": 5}, 1).save(prepared / f"bpe.{side}")
    text = dataclasses.replace(CONFIG.text, subwords="joint")
    config = dataclasses.replace(CONFIG, text=text)
    with new_model_folder(tmp_path / "model", config, prepared):
        pass
    torch.manual_seed(0)
    write(tmp_path / "model" / "params.best.safetensors", build_model(config, 4, 3))
    loaded = load_model(tmp_path / "model", "cpu")
    assert len(loaded.src_text.tokens("aab")) == len(BPE.load(prepared / "bpe.src").apply(["aab"]))
    assert loaded.tgt_text.line(["a@@", "b"]) == "ab"


def test_a_loaded_model_is_ready_for_use(model_folder):
    loaded = load_model(model_folder, "cpu")
    assert loaded.config == CONFIG and loaded.device == torch.device("cpu")
    assert loaded.src_vocab.words == ("</s>", "<unk>", "a", "b")
    assert loaded.tgt_vocab.words == ("</s>", "<unk>", "c")
    assert loaded.src_text.tokens("a b.") == ["a", "b."]
    model: Any = loaded.model
    assert not model.training
    assert not any(p.requires_grad for p in model.parameters())
    ids = torch.tensor([[2, 3, 0]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    first, second = (model.loss(ids, mask, torch.tensor([[2, 0]]), mask[:, :2]) for _ in range(2))
    assert torch.equal(first, second) and first.isfinite()


def test_best_last_or_any_file_of_parameters_is_loaded(model_folder, tmp_path):
    assert torch.equal(load(model_folder).E_x, E_x(0))
    assert torch.equal(load(model_folder, "last").E_x, E_x(1))
    torch.manual_seed(7)
    write(tmp_path / "mine", build_model(CONFIG, 4, 3))
    assert torch.equal(load(model_folder, str(tmp_path / "mine")).E_x, E_x(7))


def test_a_folder_can_be_moved(model_folder, tmp_path):
    model_folder.rename(tmp_path / "elsewhere")
    assert torch.equal(load(tmp_path / "elsewhere").E_x, E_x(0))


def test_a_folder_without_a_config_is_reported(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "prepared").mkdir()
    (tmp_path / "prepared" / "manifest.json").touch()
    for name, message in (
        (".", r"no config\.toml; is this a folder that 'nmtkit train' made"),
        ("missing", "missing: no such folder"),
        ("file", "file: is no folder"),
        (
            "prepared",
            "is a prepared folder, not a model; first train one: nmtkit train .* -o MODEL",
        ),
    ):
        folder = tmp_path / name
        with pytest.raises(ModelError, match=message):
            load_model(folder)


def test_the_folder_of_a_checkpoint_is_answered_by_its_parameters(tmp_path):
    parameters = tmp_path / "model" / "checkpoints" / "00000200" / "params.safetensors"
    parameters.parent.mkdir(parents=True)
    parameters.touch()
    with pytest.raises(ModelError, match=f"is a checkpoint; .* --params {parameters}"):
        load_model(parameters.parent)


def test_a_later_format_is_refused(model_folder):
    text = (model_folder / "config.toml").read_text()
    (model_folder / "config.toml").write_text(text.replace("format = 3", "format = 4\nnews = 1"))
    with pytest.raises(
        ModelError, match="format 4 was written by a later nmtkit, this one reads 1 to 3; install"
    ):
        load_model(model_folder)


@pytest.mark.parametrize("version", ["-2", '"1"', "0", "true", "1.0"])
def test_another_format_is_refused(model_folder, version):
    text = (model_folder / "config.toml").read_text()
    (model_folder / "config.toml").write_text(text.replace("format = 3", f"format = {version}"))
    with pytest.raises(ModelError, match="this nmtkit reads 1 to 3; use the version that wrote it"):
        load_model(model_folder)


def test_a_missing_format_is_refused(model_folder):
    text = (model_folder / "config.toml").read_text()
    (model_folder / "config.toml").write_text(text.replace("format = 3", ""))
    with pytest.raises(ModelError, match="format None"):
        load_model(model_folder)


def test_missing_parameters_are_explained(model_folder):
    (model_folder / "params.best.safetensors").unlink()
    with pytest.raises(ModelError, match=r"params\.best\.safetensors.*first validation"):
        load_model(model_folder, "cpu")
    with pytest.raises(ModelError, match="bset: no such file of parameters; give best, last, or a"):
        load_model(model_folder, "cpu", params="bset")
    with pytest.raises(ModelError, match="model: is a folder, .* such as params.safetensors$"):
        load_model(model_folder, "cpu", params=str(model_folder))


@pytest.mark.parametrize("name", ["vocab.src", "vocab.tgt"])
def test_a_changed_vocabulary_is_refused(model_folder, name):
    """With two lines in another order, every translation would be wrong."""
    lines = (model_folder / name).read_text().splitlines(keepends=True)
    (model_folder / name).write_text("".join([*lines[:-2], lines[-1], lines[-2]]))
    with pytest.raises(ModelError, match=rf"{name}: damaged: its checksum is not the one in SHA"):
        load(model_folder)


@pytest.mark.parametrize("name", ["vocab.src", "vocab.tgt"])
def test_a_missing_vocabulary_is_named(model_folder, name):
    (model_folder / name).unlink()
    with pytest.raises(DataError, match=name):
        load_model(model_folder, "cpu")


def test_parameters_of_other_sizes_are_refused(model_folder):
    (model_folder / "SHA256SUMS").unlink()
    with open(model_folder / "vocab.tgt", "a") as file:
        file.write("d\t1\n")
    with pytest.raises(ModelError, match="but config.toml and the vocabularies need"):
        load_model(model_folder, "cpu")


@pytest.mark.parametrize("content", [b"", b"rubbish", None])
def test_damaged_parameters_are_named(model_folder, content):
    path = model_folder / "params.best.safetensors"
    path.write_bytes(path.read_bytes()[:-1] if content is None else content)
    with pytest.raises(ModelError, match=r"params\.best\.safetensors: cannot be read"):
        load_model(model_folder, "cpu")


@pytest.mark.parametrize("available", [True, False])
def test_devices_are_found_by_name(monkeypatch, available):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    assert find_device("cpu") == torch.device("cpu")
    assert find_device("auto") == torch.device("cuda" if available else "cpu")
    if available:
        assert find_device("cuda") == torch.device("cuda")
    else:
        with pytest.raises(ConfigError, match="finds no CUDA device here; use --device cpu"):
            find_device("cuda")


@pytest.fixture
def gpus(monkeypatch):
    """Return a function that pretends that torch finds GPUs; it returns those made current."""
    current: list[int] = []

    def find(count):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "set_device", current.append)
        return current

    return find


def test_a_gpu_with_a_number_becomes_the_current_one(gpus):
    current = gpus(2)
    assert find_device("cuda:1") == torch.device("cuda:1")
    assert current == [1]


@pytest.mark.parametrize(
    ("name", "count", "message"),
    [
        ("cuda:7", 1, "--device cuda:7: torch finds 1 GPU, cuda:0; use one of them"),
        (
            "cuda:2",
            2,
            "--device cuda:2: torch finds 2 GPUs here, cuda:0 to cuda:1; use one of",
        ),
        ("cuda:0", 0, "--device cuda:0: torch finds no CUDA device here; use --device cpu"),
        ("mps", 0, "--device mps: torch finds no GPU of a Mac (MPS) here; use --device cpu"),
        *(
            (name, 2, f"--device {name}: not one of auto, cpu, cuda, cuda:0, cuda:1, ..., mps")
            for name in (
                "tpu",
                "",
                "cpu:0",
                "auto:0",
                "cuda:",
                "cuda:-1",
                "cuda:x",
                "mps:0",
                "cuda:²",
            )
        ),
    ],
)
def test_a_device_that_torch_does_not_find_is_refused(gpus, name, count, message):
    gpus(count)
    with pytest.raises(ConfigError) as error:
        find_device(name)
    assert str(error.value).startswith(message)


def test_the_gpu_of_a_mac_is_taken_when_it_is_asked_for(gpus, monkeypatch):
    gpus(0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert find_device("mps") == torch.device("mps")
    assert find_device("auto") == torch.device("cpu")


@pytest.mark.parametrize(
    "lines",
    [
        'type = "rnnsearch"\nhidden = 1000001',
        'type = "rnnsearch"\nembedding = 10000000000000',
        'type = "deep-lstm"\nlayers = 1000000',
        'type = "cslm"\ncontext = 100000',
        'type = "phrase-rnn"\noutput_rank = 9999999',
    ],
)
def test_impossible_sizes_are_refused_before_memory_is_taken(model_folder, lines):
    settings = (model_folder / "config.toml").read_text()
    begin, end = settings.index("[model]"), settings.index("[data]")
    (model_folder / "config.toml").write_text(
        f"{settings[:begin]}[model]\n{lines}\n\n{settings[end:]}"
    )
    with pytest.raises(ConfigError, match="must be from"):
        load_model(model_folder, "cpu")


def test_sizes_that_the_file_does_not_have_cost_no_memory(model_folder):
    """A matrix of a million rows and columns would take four terabytes."""
    settings = (model_folder / "config.toml").read_text()
    large = settings.replace("hidden = 4", "hidden = 1000000")
    (model_folder / "config.toml").write_text(large.replace("align = 3", "align = 1000000"))
    with pytest.raises(ModelError, match="but config.toml and the vocabularies need"):
        load_model(model_folder, "cpu")


def test_a_half_written_config_of_a_killed_process_is_removed(model_folder):
    (model_folder / ".config.toml.0123456789abcdef").write_text("[mod")
    write_config(model_folder, CONFIG)
    model = build_model(CONFIG, 4, 3)
    assert (
        load_newest_checkpoint(model_folder, model, make_optimizer(model, CONFIG.training)) is None
    )
    assert not list(model_folder.glob(".config.toml.*"))
    assert read_config(model_folder) == CONFIG
