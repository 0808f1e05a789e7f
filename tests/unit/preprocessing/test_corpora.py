"""Training corpora: what the values of --train mean, and the checks of names, weights and tags."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nmtkit.errors import ConfigError, DataError
from nmtkit.preprocessing.corpora import (
    TrainingCorpus,
    as_corpora,
    checked_corpora,
    parse_corpus,
    parse_test_set,
    read_corpora,
    with_names,
    with_tags,
)

PAIR = ("a.en", "a.fr")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in (*PAIR, "b.tmx", "plain"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("a.en a.fr", TrainingCorpus(PAIR)),
        ("- a.fr", TrainingCorpus(("-", "a.fr"))),
        ("b.tmx", TrainingCorpus(("b.tmx",))),
        ("news a.en a.fr", TrainingCorpus(PAIR, "news")),
        ("v1.2:0.5 a.en a.fr", TrainingCorpus(PAIR, "v1.2", 0.5)),
        ("news b.tmx", TrainingCorpus(("b.tmx",), "news")),
        ("news:3 b.tmx", TrainingCorpus(("b.tmx",), "news", 3.0)),
        ("plain a.fr", TrainingCorpus(("plain", "a.fr"))),
    ],
)
def test_the_values_of_train_are_a_name_and_files(values: str, expected: TrainingCorpus) -> None:
    assert parse_corpus(values.split()) == expected


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ("typo.en a.fr", DataError, "^typo.en: cannot be read: No such file or directory$"),
        ("dir/typo a.fr", DataError, "^dir/typo: cannot be read"),
        ("a.en a.fr b.en b.fr", ConfigError, "4 values, a.en .*repeat the option for each corpus"),
        ("my/news a.en a.fr", ConfigError, "'my/news' cannot be the name of a corpus"),
        ("news:twice a.en a.fr", ConfigError, "the weight 'twice' is not a number"),
    ],
)
def test_other_values_are_refused(values: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        parse_corpus(values.split())


def test_a_test_set_has_a_name() -> None:
    assert parse_test_set(["news", "b.tmx"]) == TrainingCorpus(("b.tmx",), "news")
    for values in (["news"], ["news", "a", "b", "c"]):
        with pytest.raises(ConfigError, match="give NAME SRC TGT, or NAME and one FILE"):
            parse_test_set(values)


def test_a_file_of_corpora_is_read_relative_to_itself(folder: Path) -> None:
    (folder / "sub").mkdir()
    path = folder / "sub" / "corpora.toml"
    path.write_text(
        'crawl = { files = "c.tsv", tag = "<bt>", columns = [3, 4] }\n'
        '[news]\nfiles = ["a.en", "../a.fr"]\nweight = 2\n'
    )
    for name in ("c.tsv", "a.en"):
        (folder / "sub" / name).touch()
    assert read_corpora(path) == [
        TrainingCorpus((f"{folder}/sub/c.tsv",), "crawl", 1, "<bt>", columns=(3, 4)),
        TrainingCorpus((f"{folder}/sub/a.en", f"{folder}/sub/../a.fr"), "news", 2),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no corpus"),
        ("news = 1", "news: expected a table"),
        ("[news]\nwieght = 2", "news: there is no setting 'wieght'; did you mean 'weight'"),
        ("[news]\nweight = 2", "news: files must be a file, or a list of two"),
        ('[news]\nfiles = "b.tms"', "news: there is no file .*b.tms; paths are relative to .*toml"),
        ('[news]\nfiles = "a"\nweight = true', "news: weight must be a number"),
        ('[news]\nfiles = "plain"\ncolumns = 3', "news: columns must be a list of two numbers"),
        ("[news\n", "not a TOML file"),
    ],
)
def test_a_malformed_file_of_corpora_is_refused(folder: Path, text: str, message: str) -> None:
    (folder / "corpora.toml").write_text(text)
    with pytest.raises(ConfigError, match=rf"corpora\.toml: {message}"):
        read_corpora(folder / "corpora.toml")


def test_corpora_are_named_after_their_files() -> None:
    files = ["x/train.en.gz", "y/train.en", "-", "crawl.en-fr.tsv", ".hidden", "a b.en", "train"]
    corpora = [TrainingCorpus((file, "t")) for file in files]
    names = [corpus.name for corpus in with_names(corpora)]
    assert names == ["train", "train-2", "stdin", "crawl.en-fr", "hidden", "a-b", "train-3"]
    assert [c.name for c in with_names([TrainingCorpus(PAIR), TrainingCorpus(PAIR, "a")])] == [
        "a-2",
        "a",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": 0.0}, "corpus news: the weight must be from 0.001 to 1000, not 0"),
        ({"weight": float("nan")}, "the weight must be"),
        ({"weight": -1.0}, "the weight must be"),
        ({"files": ("a", "b", "c")}, "3 files; give two, or one"),
        ({"tag": "two words"}, "'two words' cannot be a tag"),
        ({"tag": "</s>"}, "cannot be a tag"),
        ({"tag": "a\u00a0b"}, "cannot be a tag"),
        ({"columns": (3, 3)}, "column 3 is given for both source and target"),
        ({"columns": (0, 1)}, "columns are counted from 1, not from 0"),
        ({"name": "a b"}, "cannot be the name of a corpus"),
        ({"name": "other"}, "two corpora have the same name, other; choose another"),
        ({"files": ("x", "y")}, "two corpora have the same files, x y; give it a weight instead"),
    ],
)
def test_what_cannot_be_used_is_refused(change: dict[str, object], message: str) -> None:
    corpus = replace(TrainingCorpus(PAIR, "news"), **change)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=message):
        checked_corpora([corpus, TrainingCorpus(("x", "y"), "other")])


def test_a_name_with_a_hyphen_is_given_once_too() -> None:
    corpora = [TrainingCorpus(PAIR, "common-crawl"), TrainingCorpus(("x", "y"), "common-crawl")]
    with pytest.raises(ConfigError, match="two corpora have the same name, common-crawl"):
        checked_corpora(corpora)


def test_tags_are_given_by_name() -> None:
    corpora = [TrainingCorpus(PAIR), TrainingCorpus(("b.tmx",), "web")]
    tagged = with_tags(corpora, [("a", "<a>")])
    assert [(corpus.name, corpus.tag) for corpus in tagged] == [("a", "<a>"), ("web", "")]
    with pytest.raises(
        ConfigError, match="--tag b <a>: no corpus has that name; there are: a, web"
    ):
        with_tags(corpora, [("b", "<a>")])
    with pytest.raises(ConfigError, match="--tag a <b>: the corpus has the tag <a>"):
        with_tags(corpora, [("a", "<a>"), ("a", "<b>")])


def test_training_data_has_several_forms() -> None:
    corpus = TrainingCorpus(PAIR)
    assert as_corpora(PAIR) == as_corpora(corpus) == as_corpora([PAIR]) == [corpus]
    assert as_corpora([corpus, ("b.tmx",)]) == [corpus, TrainingCorpus(("b.tmx",))]
    assert as_corpora(("table",)) == [TrainingCorpus(("table",), is_phrase_table=True)]
    with pytest.raises(ConfigError, match="no training data"):
        as_corpora([])


def test_a_corpus_of_one_file_has_it_in_a_tuple() -> None:
    for file in ("a.tsv", Path("a.tsv")):
        with pytest.raises(TypeError, match="put it into a tuple"):
            TrainingCorpus(file)  # type: ignore[arg-type]


def test_a_weight_of_numpy_is_a_number() -> None:
    assert type(TrainingCorpus(("a.tsv",), weight=np.float32(2)).weight) is float  # type: ignore[arg-type]
