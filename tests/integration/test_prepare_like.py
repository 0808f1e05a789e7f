"""Other data are prepared as a model's were, so that its training can go on with them."""

import json

import pytest

from nmtkit import prepare
from nmtkit.errors import ConfigError, ModelError
from nmtkit.text.vocabulary import Vocabulary

KINDS: dict[str, list[object]] = {
    "words": ["--subword", "none"],
    "bpe": ["--bpe", 20],
    "truecase": ["--bpe", 20, "--case", "truecase"],
    "sentencepiece": ["--subword", "sentencepiece", "--subword-size", 300],
    "every-piece": ["--bpe", 20, "--vocabulary-threshold", 0, "--no-copy-names"],
}
LEARNED = ("bpe", "sentencepiece", "pieces", "truecase", "names", "train", "dev")


@pytest.fixture
def corpora(capitals):
    """Return the options of the corpus with capitals, and those of another corpus."""

    def options(train):
        return [
            *("--train", capitals / f"{train}.en", capitals / f"{train}.fr"),
            *("--dev", capitals / "dev.en", capitals / "dev.fr"),
        ]

    return options("train"), options("test")


@pytest.fixture
def trained(corpora, small, nmtkit, tmp_path):
    """Return a function: train a model of text prepared with these options."""

    def call(options, *training):
        prepared, model = tmp_path / "prepared", tmp_path / "model"
        nmtkit("prepare", *corpora[0], "-s", "en", "-t", "fr", *options, "-o", prepared)
        nmtkit("shortlist", prepared)
        nmtkit("train", prepared, "-o", model, "-r", "toy", *small, *training)
        return prepared, model

    return call


def learned(folder):
    """Return the files that depend on the text, but not on file names, and the vocabularies."""
    files = {f.name: f.read_bytes() for f in folder.iterdir() if f.stem in LEARNED}
    return files, *(Vocabulary.load(folder / f"vocab.{side}").words for side in ("src", "tgt"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_trained_further_on_text_prepared_like_its_own(
    trained, corpora, nmtkit, tmp_path, kind
):
    prepared, model = trained(KINDS[kind])
    same, other = tmp_path / "same", tmp_path / "other"
    nmtkit("prepare", "--like", model, *corpora[0], "-o", same)
    assert learned(same) == learned(prepared)
    nmtkit("prepare", "--like", model, *corpora[1], "-o", other)
    assert learned(other)[1:] == learned(prepared)[1:]
    nmtkit("check", other)
    nmtkit("train", other, "-o", tmp_path / "new", "--from", model)
    manifest = json.loads((other / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["settings"]["like"] == str(model)


def test_held_out_pairs_are_prepared_as_at_first(trained, corpora, nmtkit, tmp_path):
    _, model = trained(KINDS["truecase"])
    folders = tmp_path / "one", tmp_path / "two"
    first = ["-s", "en", "-t", "fr", *KINDS["truecase"], "--held-out", 3, "-o", folders[0]]
    nmtkit("prepare", *corpora[0][:3], *first)
    nmtkit("prepare", *corpora[0][:3], "--like", model, "--held-out", 3, "-o", folders[1])
    dev = [
        (folder / "dev.src").read_text(encoding="utf-8").replace("@@ ", "") for folder in folders
    ]
    assert dev[0].count("\n") == 3 and dev[0].lower() == dev[1].lower()


def test_a_reversed_model_takes_sides_as_its_prepared_folder_had_them(
    trained, corpora, nmtkit, tmp_path
):
    prepared, model = trained(KINDS["bpe"], "--reverse")
    nmtkit("prepare", "--like", model, *corpora[0], "-o", tmp_path / "same")
    assert learned(tmp_path / "same") == learned(prepared)
    nmtkit("train", tmp_path / "same", "-o", tmp_path / "new", "--from", model)


def test_words_of_annotated_terms_are_added_by_training_alone(trained, corpora, nmtkit, tmp_path):
    prepared, model = trained(KINDS["words"], "--terms-augment")
    nmtkit("prepare", "--like", model, *corpora[0], "-o", tmp_path / "same")
    assert learned(tmp_path / "same") == learned(prepared)
    nmtkit("train", tmp_path / "same", "-o", tmp_path / "new", "--from", model)


def test_tags_are_those_of_the_model(trained, corpora, nmtkit, tmp_path):
    files = corpora[0][1:3]
    _, model = trained(["--tag", "train", "<bt>", "--subword", "none"])
    nmtkit("prepare", "--like", model, *corpora[1], "-o", tmp_path / "plain")
    nmtkit("train", tmp_path / "plain", "-o", tmp_path / "new", "--from", model)
    other = ["--train", "news:1", *files, "--tag", "news", "<news>", "-o", tmp_path / "tagged"]
    refused = nmtkit("prepare", "--like", model, *other, status=1).stderr
    assert "the model has no tag '<news>'" in refused and "(<bt>)" in refused


def test_pieces_that_the_model_does_not_have_are_refused(trained, corpora, nmtkit, tmp_path):
    """Their words became unknown, without a message."""
    _, model = trained(KINDS["bpe"])
    codes = [option for side in ("src", "tgt") for option in ("--bpe-codes", model / f"bpe.{side}")]
    other = tmp_path / "other"
    nmtkit("prepare", "-s", "en", "-t", "fr", *codes, *corpora[1], "-o", other)
    for side in ("src", "tgt"):
        (other / f"vocab.{side}").write_bytes((model / f"vocab.{side}").read_bytes())
    refused = nmtkit("train", other, "-o", tmp_path / "new", "--from", model, status=1).stderr
    assert f"than by {model}/pieces.src" in refused and f"prepare --like {model}" in refused


def test_a_model_without_its_pieces_is_refused(trained, corpora, tmp_path):
    _, model = trained(KINDS["bpe"])
    (model / "pieces.src").unlink()
    with pytest.raises(ModelError, match=r"pieces.src: cannot be read: .*; restore it"):
        prepare(corpora[0][1:3], tmp_path / "out", like=model)


@pytest.mark.parametrize(
    "option",
    [["-s", "en"], ["--no-nfc"], ["--case", "keep"], ["--bpe", 3], ["--tokenized"]],
)
def test_settings_of_text_are_refused_beside_a_models(corpora, nmtkit, tmp_path, option):
    refused = nmtkit("prepare", "--like", "m", *option, *corpora[0], "-o", "out", status=2).stderr
    assert f"--like and {option[0]} exclude each other" in refused


def test_settings_of_text_are_refused_beside_a_models_in_python(tmp_path):
    with pytest.raises(ConfigError, match="hyphens is a setting of the model in model; leave it"):
        prepare(("a", "b"), tmp_path / "out", like="model", hyphens=True)
    with pytest.raises(ConfigError, match="-s : not a language code"):
        prepare(("a", "b"), tmp_path / "out")
