"""Benchmarks refuse what they cannot measure in one sentence."""

from collections.abc import Callable, Sequence
from pathlib import Path

import adapt
import alternatives
import confidence
import latency
import markup
import nbest
import pytest
import rare_words
import roundtrip
import scale_model
import serve
import terms
import trained_tags
from timing import BenchError

Main = Callable[[Sequence[str]], int]


@pytest.fixture
def text(tmp_path: Path) -> str:
    """Return the stem of two files with the same two short lines."""
    for side in ("en", "fr"):
        (tmp_path / f"text.{side}").write_text("one two\nthree\n")
    (tmp_path / "empty").touch()
    return str(tmp_path / "text")


@pytest.mark.parametrize(
    ("main", "arguments", "message"),
    [
        (alternatives.main, "MODEL TEXT.en TEXT.fr", "fewer than 2 lines have 20 to 30 words"),
        (latency.main, "MODEL TEXT.en", "2 lines; more than 10 are needed"),
        (markup.main, "--model MODEL --text TEXT.en TEXT.fr", "no element has contents"),
        (roundtrip.main, "en=EMPTY", "there are no lines"),
        (scale_model.main, "--largest 0", "leaves no point of a curve"),
        (serve.main, "throughput MODEL EMPTY", "there are no sentences"),
        (serve.main, "beside http://example.org:5000 TEXT.en", "a server on this machine"),
        (serve.main, "beside localhost TEXT.en", "expected http://localhost:PORT"),
        (serve.main, "beside http://localhost:99999 TEXT.en", "expected http://localhost:PORT"),
    ],
)
def test_unfit_input(main: Main, arguments: str, message: str, text: str) -> None:
    empty = str(Path(text).with_name("empty"))
    words = [w.replace("TEXT", text).replace("EMPTY", empty) for w in arguments.split()]
    with pytest.raises(BenchError, match=message) as found:
        main(words)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("main", "arguments"),
    [
        (serve.main, "throughput MODEL"),
        (serve.main, "fuzz MODEL --minutes 0"),
        (roundtrip.main, "file.en"),
        (trained_tags.main, "--marked . --plain . --pair en-de --config FILE"),
        (trained_tags.main, "--marked . --plain . --pair en-de --updates 5"),
        (trained_tags.main, "--marked . --plain . --pair en"),
    ],
)
def test_wrong_usage(main: Main, arguments: str) -> None:
    with pytest.raises(SystemExit, match="^2$"):
        main(arguments.split())


def test_translations_are_as_many_as_lines(text: str, tmp_path: Path) -> None:
    (tmp_path / "train").write_text("three\n")
    (tmp_path / "short").write_text("un\n")
    files = ["--train", str(tmp_path / "train"), "--source", f"{text}.en"]
    options = ["-s", "en", "-t", "fr", *files, "--reference", f"{text}.fr"]
    with pytest.raises(BenchError, match="short: 1 lines, not 2"):
        rare_words.main([*options, str(tmp_path / "short")])
    (tmp_path / "train").write_text("one two three\n")
    with pytest.raises(BenchError, match="0 of 2 lines have a word that .* lacks"):
        rare_words.main([*options, f"{text}.fr"])


def test_lists_have_sources(tmp_path: Path) -> None:
    (tmp_path / "src").write_text("a b\n")
    (tmp_path / "list").write_text("1 ||| v w ||| LM0= 1 ||| 1\n")
    with pytest.raises(BenchError, match="src: 1 lines, but .*list has sentence 1"):
        nbest.read_lists(tmp_path / "list", tmp_path / "src", 5)
    (tmp_path / "list").write_text("")
    with pytest.raises(BenchError, match="has no hypotheses"):
        nbest.read_lists(tmp_path / "list", None, 5)


@pytest.mark.parametrize("names", [["a", "b", "a"], [""], ["."], [".."], ["a/b"]])
def test_a_system_has_a_folder_of_its_own(names: list[str]) -> None:
    confidence.check_names(["a", "b"])
    with pytest.raises(BenchError, match="--system "):
        confidence.check_names(names)


def test_a_text_without_rare_words_has_no_wrong_terms() -> None:
    pairs = [("the house", "la maison")] * 9
    assert terms.wrong_terms(pairs, pairs).sources == []


def test_a_row_has_as_many_pairs_as_it_says(text: str, tmp_path: Path) -> None:
    files = [Path(f"{text}.{side}") for side in ("en", "fr")]
    assert adapt.draw_all(files, 2, 0, tmp_path).read_text().count("\n") == 2
    with pytest.raises(BenchError, match="2 pairs, but 3 are to be drawn"):
        adapt.draw_all(files, 3, 0, tmp_path)
    with pytest.raises(BenchError, match="0 pairs of 4 to 20 words, but 1 are"):
        adapt.draw_all(files, 1, 20, tmp_path)
