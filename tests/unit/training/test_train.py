"""Training from a prepared folder into a model folder, called from Python."""

import dataclasses
import json
import logging
import math
import os
from unittest.mock import Mock

import pytest
import torch

from nmtkit import Scorer, Translator
from nmtkit.config import parse_config
from nmtkit.config_io import read_toml
from nmtkit.errors import ConfigError, DataError, ModelError
from nmtkit.evaluation.metrics import tokenized_bleu
from nmtkit.model_folder import read_config
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.checkpoint_folder import list_checkpoints
from nmtkit.training.informed_start import InformedStart
from nmtkit.training.metrics_logger import MetricsLogger
from nmtkit.training.settings import describe_settings, make_config
from nmtkit.training.train import train
from nmtkit.training.trainer import Trainer
from nmtkit.training.validation import Validation
from tests.training_metrics import metrics
from tests.unit.training.toy_trainings import SMALL, TEXT, WORDS, assert_same_training, write


def test_progress_bar_and_tensorboard_files_are_closed_however_it_ends(run, monkeypatch):
    close = Mock()
    monkeypatch.setattr(MetricsLogger, "close", close)
    for _ in range(2):  # the second time it is finished already
        run()
        close.assert_called_once()
        close.reset_mock()
    monkeypatch.setattr(Trainer, "run", Mock(side_effect=ModelError("diverged")))
    with pytest.raises(ModelError, match="diverged"):
        run("other")
    close.assert_called_once()


def test_all_ranks_start_from_equal_parameters_if_their_sums_differ(run, run_ranks, monkeypatch):
    def task():
        starts = []

        def train_nothing(trainer):
            starts.append(values(trainer.model))
            trainer.progress = dataclasses.replace(trainer.progress, best_cost=1.0)

        monkeypatch.setattr(InformedStart, "initialise", rounded)
        monkeypatch.setattr(Trainer, "run", train_nothing)
        run()
        return starts

    def rounded(_, model):
        model.E_x.data += 1e-6 * int(os.environ["RANK"])

    def values(model):
        return {name: value.tolist() for name, value in model.named_parameters()}

    first, second = (outcome.value for outcome in run_ranks(2, task))
    assert first and first == second


def test_a_model_folder_is_complete(run):
    folder = run()
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "config.toml", "vocab.src", "vocab.tgt", "params.best.safetensors",
        "params.last.safetensors", "metrics.jsonl", "checkpoints", "origin.json",
        "SHA256SUMS",
    }  # fmt: skip
    config = parse_config(read_toml(folder / "config.toml"), "")
    assert config.text.tokenized and config.model.hidden == 5
    assert config == dataclasses.replace(make_config("toy", overrides=SMALL), text=config.text)
    assert [row["update"] for row in metrics(folder)] == [2, 4, 6]


def test_the_same_settings_give_the_same_model(run):
    assert_same_training(run("one"), run("two"))
    first, second = run("one"), run("other", "training.seed=2")
    name = "params.last.safetensors"
    assert (first / name).read_bytes() != (second / name).read_bytes()


def test_the_result_has_the_figures_of_the_whole_training(prepared, tmp_path):
    def trained(updates):
        settings = {
            "training.max_updates": updates,
            "training.seed": 3,
            "training.optimizer": "sgd",
        }
        return train(
            prepared, tmp_path / "model", "toy", overrides=[*SMALL, "training.seed=2"],
            device="cpu", settings=settings,
        )  # fmt: skip

    first, second = trained(4), trained(6)
    config = read_config(tmp_path / "model")
    assert (config.training.seed, config.training.optimizer) == (3, "sgd")
    rows = [row for row in metrics(tmp_path / "model") if row["kind"] == "validation"]
    assert (first.folder, first.updates, second.updates) == (tmp_path / "model", 4, 6)
    assert second.best_dev_cost == pytest.approx(
        min(row["dev_cost_per_token"] for row in rows), abs=1e-5
    )
    assert second.dev_bleu == [row["dev_bleu"] for row in rows if row["best"]][-1]
    assert second.seconds > first.seconds > 0
    assert trained(6) == second  # which was finished
    for row in rows:
        row["update"] -= 1  # as if none of them had chosen the best parameters
    (tmp_path / "model" / "metrics.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in rows))
    assert trained(6).dev_bleu is None


def test_unmeasured_figures_of_the_result_are_none(prepared, tmp_path):
    overrides = [*SMALL, "training.dev_bleu=false"]
    result = train(prepared, tmp_path / "model", "toy", overrides=overrides, device="cpu")
    assert result.dev_bleu is None and result.best_dev_cost is not None
    (tmp_path / "model" / "metrics.jsonl").write_text("not JSON\n")
    assert train(prepared, tmp_path / "model", "toy", overrides=overrides, device="cpu") == result


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"training.sed": 2}, "there is no setting 'sed'; did you mean 'seed'"),
        ({"seed": 2}, "expected SECTION.KEY=VALUE"),
        ({"training.seed": None}, "no setting is of the type NoneType"),
        ({"training.seed": 2.5}, r"expected a whole number, not 2\.5"),
    ],
)
def test_a_mistake_in_the_settings_is_named(prepared, tmp_path, settings, message):
    with pytest.raises(ConfigError, match=message):
        train(prepared, tmp_path / "model", "toy", settings=settings)
    assert not (tmp_path / "model").exists()


def test_a_model_without_attention_cannot_be_guided(prepared, tmp_path):
    settings = {"training.guided_alignment": 0.2}
    with pytest.raises(ConfigError, match="guided_alignment: this model has no attention"):
        train(prepared, tmp_path / "model", "rnnenc-30", settings=settings, device="cpu")
    assert not (tmp_path / "model").exists()


def test_a_factored_softmax_is_trained_saved_and_translates(run):
    settings = ["model.tied=false", "model.softmax_rank=3", "training.softmax_samples=4"]
    settings += ["training.cooldown=0"]
    folder = run("model", *settings, "training.max_updates=4")
    assert read_config(folder).model.softmax_rank == 3
    assert_same_training(run("again", *settings), run("model", *settings))  # the second resumes
    for quantize in (False, True):
        translator = Translator.load(folder, device="cpu", quantize=quantize)
        assert len(list(translator.translate(["alpha beta"], tokenized=True))) == 1


def test_a_new_training_sets_one_rank_of_the_output_matrix(run, prepared, tmp_path):
    with pytest.raises(ConfigError, match="softmax_rank = 3: .* set model.tied to false"):
        run("model", "model.softmax_rank=3", "model.tied=true")
    assert not (tmp_path / "model").exists()
    sizes = {"model.embedding": 4, "model.hidden": 5, "model.maxout": 3}
    settings = {**sizes, "model.tied": True, "training.max_updates": 1}
    train(prepared, tmp_path / "tied", "phrase-rnn", settings=settings, device="cpu")  # its default


def test_a_gradient_that_is_not_finite_is_explained(run):
    wild = ["training.optimizer=sgd", "training.learning_rate=1e38", "training.clip_norm=0"]
    wild.append("training.max_nonfinite=1")
    with pytest.raises(ModelError, match=r"not finite at update \d+ \(training lines \d+, \d+"):
        run("model", *wild, "training.warmup=0", "training.cooldown=0", "model.dropout=0")


@pytest.mark.parametrize("cost", [math.nan, math.inf])
def test_a_training_without_a_model_that_can_be_used_is_no_success(run, monkeypatch, cost):
    diverged = Validation(cost, cost, None)
    monkeypatch.setattr("nmtkit.training.validation.validate", lambda *_, **__: diverged)
    for _ in range(2):  # the second time it is finished already
        with pytest.raises(ModelError, match="after 2 updates, but the dev cost was never finite"):
            run("model", "training.max_updates=2", "training.cooldown=0")


MISSPELT = '{"format": 1, "text": {"subword": 1}}'


@pytest.mark.parametrize(
    ("name", "content", "kind", "message"),
    [
        ("manifest.json", None, DataError, "manifest.json: cannot be read.*nmtkit prepare"),
        ("manifest.json", "{", DataError, "manifest.json: not JSON"),
        ("manifest.json", MISSPELT, ConfigError, "'subword'; did you mean 'subwords'"),
        ("vocab.src", None, DataError, "no shortlist vocab.src; make it: nmtkit shortlist "),
        ("vocab.tgt", None, DataError, "no shortlist vocab.tgt; make it: nmtkit shortlist "),
        ("dev.src", None, DataError, "has no dev.src to validate on"),
        ("train.tgt", None, DataError, "train.tgt: no such file"),
        ("train.src", "alpha\n", DataError, "1 source and 30 target lines"),
        ("dev.src", "", DataError, "0 source and 5 target lines"),
    ],
)
def test_mistakes_in_the_prepared_folder_are_reported(
    run, prepared, tmp_path, name, content, kind, message
):
    (prepared / name).unlink()
    if content is not None:
        (prepared / name).write_text(content)
    with pytest.raises(kind, match=message) as error:
        run()
    assert "\n" not in str(error.value)
    assert not (tmp_path / "model").exists()


def test_tagged_source_lines_cannot_become_the_target(run, prepared):
    manifest = {"format": 1, "text": {**TEXT, "tags": ["<bt>"]}}
    (prepared / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ConfigError, match="have the tags <bt>.* prepare the other direction"):
        run("model", "data.swap_sides=true")


def test_an_empty_dev_set_is_refused(run, prepared):
    write(prepared / "dev.src", [])
    write(prepared / "dev.tgt", [])
    with pytest.raises(DataError, match="the dev set is empty; prepare again with --dev"):
        run()


def test_a_corpus_of_only_long_pairs_is_refused(run, prepared):
    for side in ("src", "tgt"):
        write(prepared / f"train.{side}", ["alpha " * 80 + "beta"])
    with pytest.raises(DataError, match="raise data.max_length") as error:
        run()
    assert "at most 80 tokens a side" in str(error.value)


def test_a_mistake_in_the_settings_leaves_no_folder(run, tmp_path):
    with pytest.raises(ConfigError, match="did you mean 'max_updates'"):
        run("model", "training.max_update=3")
    assert not (tmp_path / "model").exists()


def test_dev_figures_equal_those_of_translator_and_scorer(run, prepared):
    folder = run("model", "training.average_checkpoints=1")
    last = metrics(folder)[-1]
    src, tgt = ((prepared / f"dev.{side}").read_text().splitlines() for side in ("src", "tgt"))
    translator = Translator.load(folder, device="cpu", params="last").with_search(beam=2)
    translations = [best[0].text for best in translator.translate(src, tokenized=True)]
    assert last["dev_bleu"] == pytest.approx(tokenized_bleu(translations, tgt).value, abs=1e-3)
    scorer = Scorer.load(folder, device="cpu", params="last")
    total = -sum(score.log_prob for score in scorer.score(zip(src, tgt, strict=True)))
    tokens = sum(len(line.split()) + 1 for line in tgt)
    assert last["dev_cost_per_token"] == pytest.approx(total / tokens, abs=1e-4)
    assert last["dev_cost_per_sentence"] == pytest.approx(total / 5, abs=1e-3)


def test_the_first_costs_are_near_chance(run):
    folder = run("model", "model.initialisation=paper", "training.max_updates=2",
                 "training.cooldown=0")  # fmt: skip
    first = metrics(folder)[0]["dev_cost_per_token"]
    assert first == pytest.approx(math.log(7), abs=0.1)  # seven words, all equally likely


def test_the_first_costs_with_an_output_bias_are_near_the_entropy_of_the_words(run, prepared):
    counts = [30, 1, 40, 5, 2, 2, 1]  # of </s>, <unk> and five words
    words = [line.split("\t")[0] for line in (prepared / "vocab.tgt").read_text().splitlines()]
    write(prepared / "vocab.tgt", [f"{w}\t{n}" for w, n in zip(words, counts, strict=True)])
    folder = run("model", "model.initialisation=paper", "training.init_output_bias=true",
                 "training.learning_rate=1e-9", "training.max_updates=2",
                 "training.cooldown=0")  # fmt: skip
    references = [
        line.split() + ["</s>"] for line in (prepared / "dev.tgt").read_text().splitlines()
    ]
    share = {word: count / sum(counts) for word, count in zip(words, counts, strict=True)}
    costs = [-math.log(share[word]) for line in references for word in line]
    first = metrics(folder)[-1]["dev_cost_per_token"]
    assert first == pytest.approx(sum(costs) / len(costs), abs=0.01)


def test_dev_bleu_can_be_turned_off(run):
    folder = run("model", "training.dev_bleu=false")
    assert {row["dev_bleu"] for row in metrics(folder)} == {None}


def test_early_stopping_on_bleu(run):
    folder = run(
        "model", "training.max_updates=0", "training.cooldown=0",
        "training.early_stopping_metric=bleu", "training.patience=2",
        "training.validate_every=1", "training.learning_rate=1e-9",
    )  # fmt: skip
    assert [row["best"] for row in metrics(folder)] == [True, False, False]


def test_the_prepared_folder_may_be_gone_when_the_model_is_used(run, prepared):
    folder = run()
    for path in prepared.iterdir():
        path.unlink()
    (best,) = Translator.load(folder, device="cpu").translate(["alpha beta"])
    assert set(best[0].tokens) <= {*(word.upper() for word in WORDS), "<unk>"}
    assert len(Vocabulary.load(folder / "vocab.src")) == 7


def test_keep_checkpoints_sets_the_number_of_checkpoints(run):
    folder = run("model", "training.keep_checkpoints=2", "training.average_checkpoints=1")
    assert [int(path.name) for path in list_checkpoints(folder)] == [4, 6]


def test_described_settings_are_the_ones_used(tmp_path):
    text = describe_settings("toy", None, SMALL)
    (tmp_path / "my.toml").write_text(text, encoding="utf-8")
    assert make_config(config_file=tmp_path / "my.toml") == make_config("toy", overrides=SMALL)


def test_the_start_is_logged_with_versions_and_seed(run, caplog):
    with caplog.at_level(logging.INFO, "nmtkit"):
        run()
    first = caplog.messages[0]
    assert torch.__version__ in first and "seed 1" in first and "prepared" in first
    assert "30 training pairs" in caplog.text


def test_a_vocabulary_without_counts_trains_as_one_with_them(run, prepared):
    """`prepare --like` leaves them out; words were then drawn as if all were equally frequent."""
    text = (prepared / "train.tgt").read_text()
    words = ["</s>", "<unk>", *(word.upper() for word in WORDS)]
    counts = [text.count("\n"), 0, *(text.split().count(word) for word in words[2:])]
    lists = words, [f"{word}\t{count}" for word, count in zip(words, counts, strict=True)]
    bytes_of = []
    for name, listed in zip(("listed", "counted"), lists, strict=True):
        write(prepared / "vocab.tgt", listed)
        folder = run(name, "training.softmax_samples=3", "training.init_output_bias=true")
        bytes_of.append((folder / "params.last.safetensors").read_bytes())
    assert bytes_of[0] == bytes_of[1]
