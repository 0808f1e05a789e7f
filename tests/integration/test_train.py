"""`nmtkit train` through the real command line, on 20 lines of number words."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from nmtkit.config import parse_config
from nmtkit.config_io import read_toml, recipe_names
from nmtkit.model_folder import read_config
from nmtkit.training.settings import make_config
from tests.training_metrics import metrics

RECIPES = recipe_names()
LANGUAGE_MODELS = ["cslm"]
"""Recipes of models that read no source."""

FILES = {
    "config.toml",
    "vocab.src",
    "vocab.tgt",
    "params.best.safetensors",
    "params.last.safetensors",
    "metrics.jsonl",
    "checkpoints",
    "SHA256SUMS",
    "origin.json",
}
"""Files of a model folder without subwords."""


def parameter_files(folder: Path):
    """Return the content of every safetensors file by its relative path."""
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.safetensors")}


@pytest.mark.parametrize("recipe", [recipe for recipe in RECIPES if recipe not in LANGUAGE_MODELS])
def test_every_recipe_trains_a_model_that_translates(
    prepared, small_options, nmtkit, tmp_path, recipe
):
    folder, small = tmp_path / "model", small_options(recipe)
    trained = nmtkit("train", prepared, "--output", folder, "--recipe", recipe, *small)
    assert trained.stdout == ""
    assert {path.name for path in folder.iterdir()} == FILES
    assert [row["update"] for row in metrics(folder)] == [1, 2]
    config = parse_config(read_toml(folder / "config.toml"), "")
    assert config.data.sort_pool == make_config(recipe).data.sort_pool and config.model.hidden == 8
    for options in ([], ["--quantize"]):
        text = "two four\n\nsix\n"
        translated = nmtkit("translate", "--model", folder, *options, input=text)
        assert len(translated.stdout.splitlines()) == 3
    pairs = [tmp_path / "two.en", tmp_path / "two.fr"]
    pairs[0].write_text("one two\nsix\n")
    scored_lines = nmtkit("translate", "--model", folder, "--scores", "--no-unk", pairs[0]).stdout
    scores, texts = zip(*(line.split("\t")[:2] for line in scored_lines.splitlines()), strict=True)
    pairs[1].write_text("".join(f"{text}\n" for text in texts))
    scores_of_score = nmtkit("score", "--model", folder, *pairs).stdout.split()
    for line, *both in zip(scored_lines.splitlines(), scores, scores_of_score, strict=True):
        if not line.endswith("unfinished"):  # whose score lacks that of `</s>`
            assert float(both[0]) == pytest.approx(float(both[1]), abs=1e-4)
    one_more_update = [*small, "--set", "training.max_updates=3"]
    nmtkit("train", prepared, "--output", folder, "--recipe", recipe, *one_more_update)
    assert [row["update"] for row in metrics(folder)] == [1, 2, 3]


@pytest.mark.parametrize("recipe", LANGUAGE_MODELS)
def test_a_language_model_is_trained_on_one_side(prepared, small_options, nmtkit, tmp_path, recipe):
    small = small_options(recipe)
    results = {}
    for name, side in (("target", []), ("source", ["--reverse"])):
        folder, text = tmp_path / name, prepared / ("dev.src" if side else "dev.tgt")
        options = ["--output", folder, "--recipe", recipe, *side, *small]
        nmtkit("train", prepared, *options)
        assert {path.name for path in folder.iterdir()} == FILES
        assert [row["dev_bleu"] for row in metrics(folder)] == [None, None]
        nmtkit("train", prepared, *options, "--set", "training.max_updates=3")
        assert [row["update"] for row in metrics(folder)] == [1, 2, 3]
        results[name] = nmtkit("score", "-m", folder, text)
        cost = metrics(folder)[-1]["dev_cost_per_token"]
        assert f"cost per token {cost:.4f}"[:-1] in results[name].stderr
    assert results["target"].stdout != results["source"].stdout


def test_a_language_model_is_validated_each_epoch_until_early_stopping(
    prepared, small_options, nmtkit, tmp_path
):
    options = [*small_options("cslm"), "--set", "training.max_updates=0"]
    options += ["--set", "training.validate_epochs=1", "--set", "training.learning_rate=1e-30"]
    result = nmtkit("train", prepared, "-o", tmp_path / "lm", "-r", "cslm", *options)
    rows = [row for row in metrics(tmp_path / "lm") if row["kind"] == "validation"]
    assert [row["epoch"] for row in rows] == list(range(1, 12))  # the first is the best
    assert [row["best"] for row in rows] == [True, *[False] * 10]
    assert "finished after 44 updates" in result.stderr


def test_a_language_model_does_not_translate(prepared, language_model, nmtkit, tmp_path):
    refused = nmtkit("translate", "-m", language_model, input="one\n", status=1)
    assert "a language model does not translate" in refused.stderr and refused.stdout == ""
    aligned = nmtkit("align", "-m", language_model, "-", prepared / "dev.tgt", status=1)
    assert aligned.stdout == ""
    bleu = ["train", prepared, "-o", tmp_path / "lm", "-r", "cslm", "-S", "training.dev_bleu=true"]
    assert "training.dev_bleu" in nmtkit(*bleu, status=1).stderr
    assert not (tmp_path / "lm").exists()


def test_a_language_model_may_join_an_ensemble(model, language_model, nmtkit):
    def translate(*models):
        return nmtkit("translate", "-m", model, *models, "--scores", input="one two\nsix\n").stdout

    ensemble = translate("-m", language_model)
    assert len(ensemble.splitlines()) == 2 and ensemble != translate()


def test_reverse_trains_the_other_direction(prepared, small, nmtkit, tmp_path):
    folder = tmp_path / "back"
    options = ["--output", folder, "--recipe", "toy", *small]
    nmtkit("train", prepared, "--reverse", *options)
    for ours, theirs in (("src", "tgt"), ("tgt", "src")):
        assert (folder / f"vocab.{ours}").read_bytes() == (
            prepared / f"vocab.{theirs}"
        ).read_bytes()
    config = parse_config(read_toml(folder / "config.toml"), "")
    assert (config.text.src_language, config.text.tgt_language) == ("fr", "en")
    translated = nmtkit("translate", "--model", folder, "--no-unk", input="un deux trois\n").stdout
    words = (prepared / "vocab.src").read_text().split()
    assert set(translated.split()) <= set(words)
    again = nmtkit("train", prepared, "--reverse", *options, "--set", "training.max_updates=3")
    assert "finished after 3 updates" in again.stderr
    refused = nmtkit("train", prepared, *options, "--set", "training.max_updates=3", status=1)
    assert "data.swap_sides" in refused.stderr


def test_guided_attention_is_a_setting_of_the_model(prepared, small, nmtkit, tmp_path):
    folder = tmp_path / "model"
    result = nmtkit("train", prepared, "-o", folder, "--recipe", "toy", "--guided", *small)
    assert " pairs of words that translate each other" in result.stderr
    training = read_config(folder).training
    assert (training.guided_alignment, training.guided_updates) == (0.2, 0)
    again = nmtkit("train", prepared, "-o", folder, "--recipe", "toy", *small, status=1)
    assert "training.guided_alignment" in again.stderr


def test_a_model_without_alignments_says_so(prepared, small_options, nmtkit, tmp_path):
    folder = tmp_path / "model"
    options = small_options("rnnenc-30")
    nmtkit("train", prepared, "--output", folder, "--recipe", "rnnenc-30", *options)
    aligned = tmp_path / "links"
    refused = nmtkit(
        "translate", "-m", folder, "--alignments", aligned, input="one two\n", status=1
    )
    assert "no alignment" in refused.stderr and not aligned.exists()


def test_a_model_of_bpe_text_holds_its_codes(corpus, small, nmtkit, tmp_path):
    data, folder = tmp_path / "prepared", tmp_path / "model"
    sides = [
        option
        for split in ("train", "dev")
        for option in (f"--{split}", corpus / f"{split}.en", corpus / f"{split}.fr")
    ]
    nmtkit("prepare", *sides, "-s", "en", "-t", "fr", "--bpe", 10, "--output", data)
    nmtkit("shortlist", data, "--size", 40)
    nmtkit("train", data, "--output", folder, "--recipe", "toy", *small)
    for name in ("bpe.src", "bpe.tgt", "vocab.src", "vocab.tgt"):
        assert (folder / name).read_bytes() == (data / name).read_bytes()
    shutil.rmtree(data)
    out = nmtkit("translate", "--model", folder, input="one two three\n").stdout
    assert "@@" not in out and out.endswith("\n")


def test_a_model_of_bpe_text_is_trained_further_on_another_corpus(corpus, small, nmtkit, tmp_path):
    general, domain, model, new = (
        tmp_path / name for name in ("general", "domain", "model", "new")
    )
    for side in ("en", "fr"):
        lines = (corpus / f"train.{side}").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / f"other.{side}").write_text("".join(lines[::-1]), encoding="utf-8")

    def prepare(train, output, *options):
        sides = [f"{train}.en", f"{train}.fr", "--dev", corpus / "dev.en", corpus / "dev.fr"]
        nmtkit("prepare", "--train", *sides, "-o", output, *options)

    prepare(corpus / "train", general, "-s", "en", "-t", "fr", "--bpe", 20)
    nmtkit("shortlist", general)
    nmtkit("train", general, "-o", model, "--recipe", "toy", *small)
    prepare(tmp_path / "other", domain, "--like", model)
    before = parameter_files(model)
    refused = nmtkit("train", domain, "-o", model, "--recipe", "toy", *small, status=1).stderr
    assert f"--from {model} with another --output" in refused
    nmtkit("train", domain, "-o", new, "--from", model)
    assert parameter_files(model) == before
    nmtkit("check", new)
    nmtkit("check", domain)
    assert nmtkit("translate", "-m", new, input="one\ntwo\n").stdout.count("\n") == 2


def test_binarised_ids_are_stored_in_the_prepared_folder_and_reused(
    prepared, small, nmtkit, tmp_path
):
    folder = tmp_path / "prepared"
    shutil.copytree(prepared, folder)
    for path in folder.glob("*.ids"):
        path.unlink()
    nmtkit("train", folder, "--output", tmp_path / "one", "--recipe", "toy", *small)
    times = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.ids")}
    assert {name.partition(".")[0] for name in times} == {"train", "dev"}
    nmtkit("train", folder, "--output", tmp_path / "two", "--recipe", "toy", *small)
    assert {path.name: path.stat().st_mtime_ns for path in folder.glob("*.ids")} == times
    assert parameter_files(tmp_path / "one") == parameter_files(tmp_path / "two")


def test_recipes_are_listed(nmtkit):
    assert nmtkit("train", "--list-recipes").stdout.splitlines() == RECIPES


@pytest.mark.parametrize("recipe", RECIPES)
def test_shown_settings_read_back(nmtkit, tmp_path, recipe):
    shown = nmtkit("train", "--show-config", "-r", recipe, "-S", "training.seed=17").stdout
    path = tmp_path / "my.toml"
    path.write_text(shown, encoding="utf-8")
    expected = make_config(recipe, overrides=["training.seed=17"])
    assert make_config(config_file=path) == expected and expected.training.seed == 17
    assert nmtkit("train", "--show-config", "-c", path).stdout == shown


def test_the_modern_recipe_is_the_default(nmtkit):
    shown = nmtkit("train", "--show-config").stdout
    assert shown == nmtkit("train", "--show-config", "--recipe", "rnnsearch-modern").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--recipe", "rnnsearch-51"], "did you mean 'rnnsearch-50'?"),
        (["--set", "training.max_update=3"], "did you mean 'max_updates'?"),
        (["--set", "model.hidden=many"], "model.hidden: expected a whole number, not 'many'"),
        (["--set", "seed=3"], "expected SECTION.KEY=VALUE"),
        (["--config", "missing.toml"], "missing.toml: cannot be read"),
    ],
)
def test_a_wrong_setting_is_one_line_and_no_folder(prepared, nmtkit, tmp_path, arguments, message):
    folder = tmp_path / "model"
    result = nmtkit("train", prepared, "--output", folder, *arguments, status=1)
    assert result.stdout == "" and not folder.exists()
    (line,) = result.stderr.splitlines()
    assert line.startswith("nmtkit: error: ") and message in line


@pytest.mark.parametrize("missing", [0, 1])
def test_folder_and_output_are_needed(prepared, nmtkit, tmp_path, missing):
    arguments = [prepared] if missing else ["--output", tmp_path / "model"]
    assert "needs PREPARED and --output" in nmtkit("train", *arguments, status=2).stderr


def test_a_folder_without_shortlists_is_refused_with_the_remedy(prepared, small, nmtkit, tmp_path):
    folder = tmp_path / "prepared"
    shutil.copytree(prepared, folder)
    for name in ("vocab.src", "vocab.tgt"):
        (folder / name).unlink()
    result = nmtkit("train", folder, "--output", tmp_path / "model", *small, status=1)
    (line,) = result.stderr.splitlines()
    assert "no shortlist vocab.src" in line and f"nmtkit shortlist {folder}" in line
    nmtkit("shortlist", folder, "--size", 12)
    nmtkit("train", folder, "--output", tmp_path / "model", *small)


def test_a_folder_of_raw_text_is_refused_with_the_remedy(corpus, nmtkit, tmp_path):
    result = nmtkit("train", corpus, "--output", tmp_path / "model", status=1)
    (line,) = result.stderr.splitlines()
    assert "manifest.json" in line and "nmtkit prepare" in line


def test_a_finished_training_says_so(prepared, small, model, nmtkit):
    before = parameter_files(model)
    result = nmtkit(
        "train", prepared, "--output", model, "--recipe", "toy", "--device", "cpu", *small
    )
    assert "training is finished after 2 updates" in result.stderr
    assert parameter_files(model) == before


def test_a_changed_setting_needs_force(prepared, small, nmtkit, tmp_path):
    start = ["train", prepared, "--output", tmp_path / "model", "--recipe", "toy", *small]
    nmtkit(*start)
    before = parameter_files(tmp_path / "model")
    result = nmtkit(*start, "--set", "training.seed=2", status=1)
    assert "training.seed = 1, now it is 2" in result.stderr
    assert parameter_files(tmp_path / "model") == before
    nmtkit(*start, "--set", "training.seed=2", "--force")
    assert parameter_files(tmp_path / "model") != before


def test_quiet_training_is_silent(prepared, small, nmtkit, tmp_path):
    result = nmtkit(
        "--quiet", "train", prepared, "--output", tmp_path / "model", "-r", "toy", *small
    )
    assert result.stdout == result.stderr == ""


# In a separate process

KILL_ITSELF = """
import os, signal
from pathlib import Path
from nmtkit.cli.main import main
from nmtkit.training.trainer import Trainer

def die():
    os.kill(os.getpid(), signal.SIGKILL)

update, replace = Trainer.update, os.replace

def update_or_die(self):
    result = update(self)
    if {moment!r} == f"update {{self.progress.updates + 1}}":
        die()
    return result

def replace_or_die(source, target):
    if {moment!r} == f"before {{Path(target).name}}":
        die()
    replace(source, target)
    if {moment!r} == f"after {{Path(target).name}}":
        die()

Trainer.update, os.replace = update_or_die, replace_or_die
main()
"""


def test_a_training_killed_and_restarted_equals_one_never_killed(
    prepared, small, nmtkit, preloaded, tmp_path
):
    settings = ["training.max_updates=18", "training.validate_every=4", "model.dropout=0.2"]
    options = ["--recipe", "toy", "--threads", 1, "--device", "cpu", *small]
    options += [option for setting in settings for option in ("--set", setting)]
    nmtkit("train", prepared, "--output", tmp_path / "undisturbed", *options)
    killed = tmp_path / "killed"
    moments = [
        "update 3",
        "before params.last.safetensors",
        "before 00000008",
        "after 00000012",
        "",
    ]
    for moment in moments:
        argv = ["train", prepared, "--output", killed, *options]
        process = subprocess.run(
            [preloaded / "python", "-c", KILL_ITSELF.format(moment=moment), *map(str, argv)],
            capture_output=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert process.returncode == (128 + signal.SIGKILL if moment else 0), process.stderr
        assert process.stdout == b""
    assert b"resuming from update 12" in process.stderr
    assert b"finished after 18 updates" in process.stderr
    files = parameter_files(tmp_path / "undisturbed")
    assert len(files) >= 4 and parameter_files(killed) == files
    assert metrics(killed) == metrics(tmp_path / "undisturbed")
    assert not [path.name for path in killed.rglob(".*")]
