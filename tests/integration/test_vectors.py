"""`nmtkit embed` and `nmtkit map`, from a model to a map."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from nmtkit.extras import install_command

Nmtkit = Callable[..., Result]


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


@pytest.mark.parametrize(
    ("recipe", "size"), [("rnnenc-50", 8), ("grconv", 7), ("seq2seq-lstm", 32), ("phrase-rnn", 8)]
)
def test_every_translation_model_gives_sentence_vectors(
    recipe: str,
    size: int,
    prepared: Path,
    small_options: Callable[[str], list[str]],
    corpus: Path,
    nmtkit: Nmtkit,
    tmp_path: Path,
) -> None:
    options = ["--recipe", recipe, "--device", "cpu", *small_options(recipe)]
    nmtkit("train", prepared, "--output", tmp_path / "m", *options)
    embed = ["embed", "-m", tmp_path / "m", "--device", "cpu"]
    vectors = rows(nmtkit(*embed, corpus / "test.en").stdout)
    assert [row[0] for row in vectors] == (corpus / "test.en").read_text().splitlines()
    assert all(len(row) == 1 + size for row in vectors)
    words = rows(nmtkit(*embed, "--vocabulary", "source").stdout)
    vocabulary = (tmp_path / "m" / "vocab.src").read_text().splitlines()
    assert [row[0] for row in words] == [line.split("\t")[0] for line in vocabulary[2:]]
    assert all(len(row) == 1 + 6 for row in words)


def test_sentences_through_a_pipe_to_a_figure(model: Path, nmtkit: Nmtkit, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    embed = nmtkit("embed", "-m", model, "--device", "cpu", input="one two\n\nnine, one\n")
    assert [row[0] for row in rows(embed.stdout)] == ["one two", "", "nine, one"]
    picture = tmp_path / "map.svg"
    assert nmtkit("map", "-", "--plot", picture, input=embed.stdout).stdout == ""
    assert picture.read_bytes().startswith(b"<?xml")
    assert "exists already" in nmtkit("map", "none", "--plot", picture, status=1).stderr
    options = ["--plot", picture, "--force", "--zoom", "one two", "--nearest", 2, "-o", "-"]
    positions = nmtkit("map", "-", *options, input=embed.stdout).stdout
    assert [len(row) for row in rows(positions)] == [3, 3, 3]
    again = nmtkit("map", "-", input=positions).stdout
    assert again == positions  # a map of positions leaves them unchanged
    assert nmtkit("map", "-", input=embed.stdout).stdout == positions


def test_tokenized_lines_are_not_tokenized_again(model: Path, nmtkit: Nmtkit) -> None:
    embed = ["embed", "-m", model, "--device", "cpu"]
    raw = rows(nmtkit(*embed, input="nine, one\n").stdout)[0]
    tokenized = rows(nmtkit(*embed, "--tokenized", input="nine , one\n").stdout)[0]
    assert raw[1:] == tokenized[1:]
    assert raw[1:] != rows(nmtkit(*embed, "--tokenized", input="nine, one\n").stdout)[0][1:]


def test_tsne_of_word_vectors_is_reproducible(model: Path, nmtkit: Nmtkit, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    vectors = tmp_path / "words.tsv.gz"
    embed = ["embed", "-m", model, "--device", "cpu", "--vocabulary", "target", "-o", vectors]
    nmtkit(*embed, "--limit", 7)
    tsne = ["map", vectors, "--method", "tsne", "--perplexity", 2]
    maps = [nmtkit(*tsne, "--seed", seed).stdout for seed in (0, 0)]
    assert maps[0] == maps[1]
    assert [len(row) for row in rows(maps[0])] == [3] * 7


def test_missing_or_unsuitable_inputs_are_reported(
    model: Path, language_model: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    def fails(*arguments: object, input: str | None = None) -> str:
        stderr = nmtkit(*arguments, input=input, status=1).stderr
        assert stderr.count("\n") == 1
        return stderr

    out = tmp_path / "out.tsv"
    embed = ["embed", "--device", "cpu", "-o", out]
    assert "reads no source" in fails(*embed, "-m", language_model, input="a\n")
    assert "no-model" in fails(*embed, "-m", tmp_path / "no-model")
    assert "no-text" in fails(*embed, "-m", model, tmp_path / "no-text")
    assert "stdin" not in fails("map", tmp_path / "no-vectors")
    assert "has no vectors" in fails("map", "-", input="")
    assert "at least 4 vectors" in fails("map", "-", "--method", "tsne", input="a\t1\t2\n")
    picture = ["--plot", tmp_path / "a.png"]
    assert "no text 'b' to zoom in" in fails("map", "-", *picture, "--zoom", "b", input="a\t1\t2\n")
    assert ".png, .svg or .pdf" in fails("map", "-", "--plot", tmp_path / "a.gif", input="a\t1\n")
    assert not list(tmp_path.iterdir())


def test_without_sklearn_nothing_is_read(
    nmtkit: Nmtkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    stderr = nmtkit("map", "no-vectors", "--method", "tsne", status=1).stderr
    assert install_command("plots") in stderr and stderr.count("\n") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ["embed"],
        ["embed", "-m", "model", "--vocabulary", "source", "text"],
        ["embed", "-m", "model", "--limit", 5],
        ["embed", "-m", "model", "--vocabulary", "both"],
        ["map"],
        ["map", "v.tsv", "--zoom", "a"],
        ["map", "v.tsv", "--plot", "a.png", "--nearest", 5],
        ["map", "v.tsv", "--seed", 0],
        ["map", "v.tsv", "--method", "tsne", "--seed", 1 << 32],
        ["map", "v.tsv", "--method", "pca", "--perplexity", 5],
    ],
)
def test_wrong_usage(nmtkit: Nmtkit, wrong: list[object]) -> None:
    nmtkit(*wrong, status=2)
