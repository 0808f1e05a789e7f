"""`nmtkit adapt` through the real command line, on number words."""

import json
import shutil
from itertools import product
from pathlib import Path

import pytest

from nmtkit import LossRefused, adapt
from nmtkit.config_io import read_toml
from nmtkit.io.parameters import read_parameters
from nmtkit.training.adaptation import adaptation
from nmtkit.training.adaptation.fine_tuning import settings_for

PAIRS = [("one two", "deux un"), ("six five", "cinq six"), ("nine", "zéro")]
TIME = ["--time", "2s", "--allow-loss", "100", "--device", "cpu"]


def write_tsv(path: Path, pairs=PAIRS) -> Path:
    path.write_text("".join(f"{src}\t{tgt}\n" for src, tgt in pairs), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def corrections(tmp_path_factory) -> Path:
    return write_tsv(tmp_path_factory.mktemp("corrections") / "corrections.tsv")


@pytest.fixture(scope="module")
def adapted(model, corrections, nmtkit, tmp_path_factory):
    """Return an adapted model folder, and the report as JSON."""
    folder = tmp_path_factory.mktemp("adapted") / "adapted"
    result = nmtkit("adapt", model, "--data", corrections, "-o", folder, "--json", *TIME)
    return folder, json.loads(result.stdout)


def test_the_adapted_folder_is_a_whole_model_folder(adapted, model, nmtkit):
    folder, _ = adapted
    assert "no errors" in nmtkit("check", folder).stdout
    assert read_toml(folder / "config.toml") == read_toml(model / "config.toml")
    for name in ("vocab.src", "vocab.tgt"):
        assert (folder / name).read_bytes() == (model / name).read_bytes()


def test_other_commands_take_the_adapted_folder(adapted, corpus, nmtkit, tmp_path):
    folder, _ = adapted
    pair = corpus / "test.en", corpus / "test.fr"
    assert len(nmtkit("translate", "-m", folder, pair[0]).stdout.splitlines()) == 4
    assert len(nmtkit("score", "-m", folder, *pair).stdout.splitlines()) == 4
    assert nmtkit("align", "-m", folder, *pair).stdout
    nmtkit(
        "report",
        "-m",
        folder,
        "--source",
        pair[0],
        "--reference",
        pair[1],
        "-o",
        tmp_path / "report.html",
    )
    assert "adapt" in (tmp_path / "report.html").read_text()


def test_an_adapted_model_goes_on_in_training(adapted, prepared, small, nmtkit, tmp_path):
    folder, _ = adapted
    nmtkit("train", prepared, "-o", tmp_path / "on", "--from", folder, *small)
    assert (tmp_path / "on" / "params.best.safetensors").exists()


def test_the_report_has_figures_of_corrections_and_guard(adapted, prepared):
    _, report = adapted
    assert report["corrections"] == 3 and 0 <= report["right_after"] <= 3
    assert report["replayed"] == str(prepared)
    kinds = [changed["kind"] for changed in report["sets"]]
    assert kinds == ["corrections", "guard"]
    assert report["sets"][1]["lines"] == report["sets"][1]["available"] == 6
    for changed in report["sets"]:
        for change in changed["changes"].values():
            figures = change["before"], change["after"]
            assert all(f["interval"]["low"] <= f["interval"]["high"] for f in figures)
            difference = figures[1]["value"] - figures[0]["value"]
            assert change["difference"] == pytest.approx(difference)


def test_provenance_names_the_old_model_and_the_corrections(adapted, model, corrections):
    origin = json.loads((adapted[0] / "origin.json").read_text())
    assert origin["initial"]["path"] == str(model)
    assert str(corrections) in origin["inputs"]
    assert origin["command"].startswith(f"nmtkit adapt {model} --data {corrections} --time 2s")
    assert origin["data"] == json.loads((model / "origin.json").read_text())["data"]


def test_an_adapted_model_finds_the_data_of_the_first_training(
    adapted, prepared, corrections, nmtkit, tmp_path
):
    result = nmtkit("adapt", adapted[0], "--data", corrections, "-o", tmp_path / "again", *TIME)
    assert f"replaying pairs of {prepared.resolve()}" in result.stderr


def test_the_old_model_is_not_changed(model, corrections, nmtkit, tmp_path):
    before = {path.name: path.read_bytes() for path in model.iterdir() if path.is_file()}
    nmtkit("adapt", model, "--data", corrections, "-o", tmp_path / "new", *TIME)
    after = {path.name: path.read_bytes() for path in model.iterdir() if path.is_file()}
    assert before == after
    old, new = (read_parameters(f / "params.best.safetensors") for f in (model, tmp_path / "new"))
    assert any(not value.equal(new[name]) for name, value in old.items())


def test_two_files_and_guards_without_data_to_replay(model, corpus, nmtkit, tmp_path):
    alone = tmp_path / "alone"
    shutil.copytree(model, alone)
    (alone / "origin.json").unlink()
    sums = (alone / "SHA256SUMS").read_text().splitlines()
    kept = [line for line in sums if not line.endswith("origin.json")]
    (alone / "SHA256SUMS").write_text("".join(f"{line}\n" for line in kept))
    pair = corpus / "train.en", corpus / "train.fr"
    guards = ["--guard", corpus / "dev.en", corpus / "dev.fr"]
    guards += ["--guard", write_tsv(tmp_path / "guard.tsv")]
    result = nmtkit(
        "adapt", alone, "--data", *pair, *guards, "-o", tmp_path / "new", "--json", *TIME
    )
    report = json.loads(result.stdout)
    assert report["replayed"] is None
    assert "no training data to replay" in result.stderr
    assert [changed["lines"] for changed in report["sets"][1:]] == [6, 3]


def test_tmx_corrections_are_read(model, nmtkit, tmp_path):
    side = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = "".join(
        f"<tu>{side.format('en', src)}{side.format('fr', tgt)}</tu>" for src, tgt in PAIRS
    )
    path = tmp_path / "memory.tmx"
    path.write_text(f'<tmx version="1.4"><header/><body>{units}</body></tmx>', encoding="utf-8")
    result = nmtkit("adapt", model, "--data", path, "-o", tmp_path / "new", *TIME)
    assert "of 3 corrections come out right, before 0" in result.stderr


def test_corrections_that_come_out_right_before_are_named_so(model, corpus, nmtkit, tmp_path):
    lines = (corpus / "test.en").read_text().splitlines()
    said = nmtkit("translate", "-m", model, corpus / "test.en").stdout.splitlines()
    pairs = [pair for pair in zip(lines, said, strict=True) if pair[1]]
    data = write_tsv(tmp_path / "corrections.tsv", pairs)
    result = nmtkit("adapt", model, "--data", data, "-o", tmp_path / "new", *TIME)
    assert "all corrections came out right before, so that nothing could be won" in result.stderr
    assert "give more of them" not in result.stderr


def test_unusable_lines_are_reported_with_file_and_line(model, nmtkit, tmp_path):
    long = " ".join(["one"] * 99)
    pairs = [*PAIRS, ("two", ""), (long, "un"), ("six", "inconnu"), ("nine", "neuf")]
    data = write_tsv(tmp_path / "corrections.tsv", pairs)
    result = nmtkit("adapt", model, "--data", data, "-o", tmp_path / "new", *TIME)
    for line, problem in (
        (4, "one side is empty"),
        (5, "more than 80 tokens"),
        (6, "words that the model cannot write"),
        (3, "a later line has another translation"),
    ):
        found = [text for text in result.stderr.splitlines() if f"{data}:{line}: " in text]
        assert len(found) == 1 and problem in found[0]


def test_a_loss_on_a_guard_is_refused_and_nothing_is_written(
    model, corrections, nmtkit, tmp_path, monkeypatch
):
    """The guard is what the old model says, and every new model has parameters of 0."""
    source = tmp_path / "guard.en"
    source.write_text("one two five\nsix six\nfive nine eight\n" * 5)
    said = nmtkit("translate", "-m", model, source).stdout.splitlines()
    pairs = [pair for pair in zip(source.read_text().splitlines(), said, strict=True) if pair[1]]
    guard = write_tsv(tmp_path / "guard.tsv", pairs)

    def nothing(old, new, point):
        return {name: value * 0 for name, value in new.items()}

    monkeypatch.setattr("nmtkit.training.adaptation.adaptation.interpolate", nothing)
    options = ["--guard", guard, "--time", "2s", "--device", "cpu", "--json"]
    result = nmtkit(
        "adapt", model, "--data", corrections, "-o", tmp_path / "new", *options, status=1
    )
    assert "has lost" in result.stderr.splitlines()[-1]
    assert json.loads(result.stdout)["sets"][1]["kind"] == "guard"
    assert not (tmp_path / "new").exists()


MISTAKES = {
    "no corrections": (
        lambda folder: ["--data", write_tsv(folder / "a.tsv", [])],
        "no corrections",
    ),
    "all too long": (
        lambda folder: ["--data", write_tsv(folder / "a.tsv", [("one " * 99, "un " * 99)])],
        "longer than 80 tokens",
    ),
    "missing file": (lambda folder: ["--data", folder / "none.tsv"], "none.tsv"),
    "guard of unequal lengths": (
        lambda folder: [
            *["--data", write_tsv(folder / "a.tsv")],
            *["--guard", write_tsv(folder / "g.en", [("a", "b")]), write_tsv(folder / "g.fr")],
        ],
        "g.fr",
    ),
    "empty guard": (
        lambda folder: [
            *["--data", write_tsv(folder / "a.tsv")],
            *["--guard", write_tsv(folder / "g.tsv", [])],
        ],
        "no pairs",
    ),
    "unknown tag": (
        lambda folder: ["--data", write_tsv(folder / "a.tsv"), "--tag", "<x>"],
        "has no tag '<x>'",
    ),
    "no prepared folder": (
        lambda folder: ["--data", write_tsv(folder / "a.tsv"), "--replay", folder],
        "manifest.json",
    ),
    "too little time": (
        lambda folder: ["--data", write_tsv(folder / "a.tsv"), "--time", "0.5s"],
        "too short",
    ),
    "not UTF-8": (
        lambda folder: ["--data", _write_bytes(folder / "a.tsv", b"one\tun\ntwo\t\xe9\n")],
        "a.tsv:2: not valid UTF-8",
    ),
}


def _write_bytes(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_one_line_and_nothing_is_written(model, nmtkit, tmp_path, mistake):
    make_options, message = MISTAKES[mistake]
    options = make_options(tmp_path)
    before = sorted(tmp_path.iterdir())
    result = nmtkit("adapt", model, *options, "-o", tmp_path / "new", status=1)
    assert message in result.stderr.splitlines()[-1]
    assert result.stderr.splitlines()[-1].startswith("nmtkit: error: ")
    assert sorted(tmp_path.iterdir()) == before


def test_a_language_model_is_refused(language_model, corrections, nmtkit, tmp_path):
    result = nmtkit(
        "adapt", language_model, "--data", corrections, "-o", tmp_path / "new", status=1
    )
    assert "reads no source" in result.stderr


def test_a_damaged_model_is_refused(model, corrections, nmtkit, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(model, damaged)
    path = damaged / "params.best.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    result = nmtkit("adapt", damaged, "--data", corrections, "-o", tmp_path / "new", status=1)
    assert str(path) in result.stderr and not (tmp_path / "new").exists()


def test_existing_output_is_kept_without_force(model, corrections, nmtkit, tmp_path):
    kept = tmp_path / "kept"
    shutil.copytree(model, kept)
    arguments = ["adapt", model, "--data", corrections, "-o"]
    assert "--force" in nmtkit(*arguments, kept, status=1).stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    result = nmtkit(*arguments, tmp_path / "mine", "--force", status=1)
    assert "not a model folder" in result.stderr
    assert "that is adapted" in nmtkit(*arguments, model, "--force", status=1).stderr
    nmtkit(*arguments, kept, "--force", *TIME)
    assert "initial" in json.loads((kept / "origin.json").read_text())


def test_a_number_of_updates_gives_the_same_model_again(model, corrections, nmtkit, tmp_path):
    options = ["--updates", "4", "--allow-loss", "100", "--device", "cpu", "--force"]
    contents = []
    for _ in range(2):
        nmtkit("adapt", model, "--data", corrections, "-o", tmp_path / "new", *options)
        contents.append({p.name: p.read_bytes() for p in (tmp_path / "new").iterdir()})
    assert contents[0] == contents[1]
    assert b"--updates 4" in contents[0]["origin.json"]


def test_an_interruption_leaves_nothing_behind(model, corrections, nmtkit, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("nmtkit.training.adaptation.folder.write_model_files", interrupt)
    nmtkit("adapt", model, "--data", corrections, "-o", tmp_path / "new", *TIME, status=130)
    assert list(tmp_path.iterdir()) == []


def test_the_python_function_returns_the_report(model, corrections, tmp_path):
    result = adapt(model, corrections, tmp_path / "new", time=2, allow_loss=100, device="cpu")
    assert result.folder == tmp_path / "new" and result.report.corrections == 3
    assert issubclass(LossRefused, Exception)


def test_of_many_corrections_some_are_held_out_and_the_others_learned_fast(
    model, prepared, tmp_path, monkeypatch
):
    words = ["one", "two", "three", "four", "five", "six"]
    pairs = [(" ".join(three), " ".join(reversed(three))) for three in product(words, repeat=3)]
    data = write_tsv(tmp_path / "many.tsv", [*pairs, ("one", "un")])  # 217
    settings = []

    def record(*arguments):
        settings.append(settings_for(*arguments))
        return settings[-1]

    monkeypatch.setattr(adaptation, "settings_for", record)
    options = {"updates": 2, "allow_loss": 100, "device": "cpu", "replay": prepared, "force": True}
    for many in (196, 197):  # a tenth, 21, is held out
        monkeypatch.setattr(adaptation, "MANY", many)
        report = adapt(model, data, tmp_path / "new", **options).report
        assert report.corrections == 196 and report.right_after is None
    assert [tuned.tokens for tuned in settings] == [800, 400]
