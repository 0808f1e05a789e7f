"""Markup as symbols of the training text, through the real command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from nmtkit.text.markers import CLOSING, OPENING, POINTS, SYMBOLS

Nmtkit = Callable[..., Result]

BOLD = OPENING[0], CLOSING[0]


@pytest.fixture
def marked(corpus: Path, tmp_path: Path) -> Path:
    """Return a folder with the corpus of number words, the first word of each line marked."""
    for split in ("train", "dev"):
        for side in ("en", "fr"):
            lines = (corpus / f"{split}.{side}").read_text(encoding="utf-8").splitlines()
            text = "".join("<b>{}</b> {}<br/>\n".format(*line.split(" ", 1)) for line in lines)
            (tmp_path / f"{split}.{side}").write_text(text, encoding="utf-8")
    return tmp_path


def prepare_options(folder: Path) -> list[object]:
    files = [[folder / f"{split}.{side}" for side in ("en", "fr")] for split in ("train", "dev")]
    return ["prepare", "--train", *files[0], "--dev", *files[1], "-s", "en", "-t", "fr"]


@pytest.mark.parametrize("method", ["none", "bpe", "sentencepiece"])
def test_markup_is_symbols_from_the_text_to_the_translation(
    marked: Path, small: list[str], nmtkit: Nmtkit, method: str
) -> None:
    data, model = marked / "prepared", marked / "model"
    size = [] if method == "none" else ["--subword-size", 300]
    options = ["--subword", method, *size, "--markup", "html", "-o", data]
    nmtkit(*prepare_options(marked), *options)
    for name in ("train.src", "train.tgt", "dev.src", "dev.tgt"):
        for line in (data / name).read_text(encoding="utf-8").splitlines():
            tokens = line.split()
            assert [token for token in tokens if token in SYMBOLS] == [*BOLD, POINTS[0]]
            assert not re.search("[<>]b", line)
    nmtkit("shortlist", data)
    nmtkit("train", data, "-o", model, "--recipe", "toy", "--device", "cpu", *small)
    nmtkit("check", model)
    text = "<b>one</b> two &amp; three<br/>\n\nfour five\n<b>six</b> <i>seven</i>\n"
    result = nmtkit("translate", "-m", model, "--markup", "html", "--json", input=text)
    first, empty, plain, more = map(json.loads, result.stdout.splitlines())
    assert [t for t in first["source_tokens"] if t in SYMBOLS] == [*BOLD, POINTS[0]]
    tags = re.findall("<[^<>]*>", first["translations"][0]["text"])
    assert sorted(tags) == sorted(["<b>", "</b>", "<br/>"])
    tags = re.findall("<[^<>]*>", more["translations"][0]["text"])
    assert sorted(tags) == sorted(["<b>", "</b>", "<i>", "</i>"])
    for other in (empty, plain, more):  # no line of the training text has two such elements
        assert not SYMBOLS.intersection(other["source_tokens"])
        assert not SYMBOLS.intersection(other["translations"][0]["text"])


def test_pairs_with_other_markup_are_plain(marked: Path, nmtkit: Nmtkit) -> None:
    path = marked / "train.fr"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[0] = re.sub("<[^<>]*>", "", lines[0])
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    data = marked / "prepared"
    nmtkit(*prepare_options(marked), "--subword", "none", "--markup", "xml", "-o", data)
    for name in ("train.src", "train.tgt"):
        first, second, *_ = (data / name).read_text(encoding="utf-8").splitlines()
        assert not SYMBOLS.intersection(first) and SYMBOLS.intersection(second)
    assert json.loads((data / "manifest.json").read_text())["text"]["markup"] == "xml"


def test_a_file_of_another_format_is_translated_with_symbols(
    marked: Path, small: list[str], nmtkit: Nmtkit
) -> None:
    data, model = marked / "prepared", marked / "model"
    nmtkit(*prepare_options(marked), "--subword", "none", "--markup", "html", "-o", data)
    nmtkit("shortlist", data)
    nmtkit("train", data, "-o", model, "--recipe", "toy", "--device", "cpu", *small)
    page = "<p>one <b>two</b> three</p>\n<p>four five</p>\n"
    result = nmtkit("translate", "-m", model, "--format", "html", input=page)
    assert re.findall("<[^<>]*>", result.stdout) == re.findall("<[^<>]*>", page)
    assert not SYMBOLS.intersection(result.stdout)


@pytest.mark.parametrize("option", ["--tokenized", "--phrase-table"])
def test_tokenised_text_has_no_markup_to_find(marked: Path, nmtkit: Nmtkit, option: str) -> None:
    given = [option] if option == "--tokenized" else []
    files = prepare_options(marked)
    if option == "--phrase-table":
        files = ["prepare", option, marked / "train.en", "-s", "en", "-t", "fr"]
    result = nmtkit(*files, *given, "--markup", "html", "-o", marked / "out", status=2)
    assert "--markup" in result.stderr and not (marked / "out").exists()
