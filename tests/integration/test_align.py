"""`nmtkit align` through the real command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]

PAIRS = [("one two three", "un deux"), ("", "trois"), ("four", ""), ("five hello", "cinq bonjour")]


@pytest.fixture
def align(nmtkit: Nmtkit, model: Path, tmp_path: Path) -> Nmtkit:
    for side, name in enumerate(("src", "tgt")):
        text = "".join(f"{pair[side]}\n" for pair in PAIRS)
        (tmp_path / name).write_text(text, encoding="utf-8")

    def call(*options: object, status: int = 0) -> Result:
        paths = (tmp_path / "src", tmp_path / "tgt")
        return nmtkit("align", "-m", model, *paths, "--device", "cpu", *options, status=status)

    return call


def test_every_target_word_has_a_source_word(align):
    found = align().stdout.split("\n")[:-1]
    assert len(found) == len(PAIRS)
    for (source, target), row in zip(PAIRS, found, strict=True):
        links = [tuple(map(int, link.split("-"))) for link in row.split()]
        words = target.split() if source else []
        assert [j for _, j in links] == list(range(len(words)))
        assert all(0 <= i < len(source.split()) for i, _ in links)


def test_the_soft_form_has_words_and_weights(align):
    tables = [json.loads(row) for row in align("--soft").stdout.splitlines()]
    for (source, target), table in zip(PAIRS, tables, strict=True):
        assert table["source"] == [*source.split(), "</s>"]
        assert table["target"] == [*target.split(), "</s>"]
        assert len(table["alignment"]) == len(table["target"])
        for weights in table["alignment"]:
            assert len(weights) == len(table["source"])
            assert sum(weights) == pytest.approx(1, abs=1e-4)


def test_the_drawing_shows_the_words(align):
    drawn = align("--show").stdout
    assert "cinq│" in drawn and "bonjour│" in drawn


@pytest.mark.parametrize(
    ("kind", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_each_pair_has_a_picture(align, tmp_path, kind, begin):
    pytest.importorskip("matplotlib")
    links = align("--plot", tmp_path / "pictures", "--format", kind).stdout
    assert links == align().stdout
    pictures = sorted((tmp_path / "pictures").iterdir())
    assert [p.name for p in pictures] == [f"{n:06d}.{kind}" for n in range(1, len(PAIRS) + 1)]
    assert all(picture.read_bytes().startswith(begin) for picture in pictures)
    assert "--force" in align("--plot", tmp_path / "pictures", "--format", kind, status=1).stderr


def test_its_own_links_have_no_error(align, tmp_path):
    links = tmp_path / "links"
    align("-o", links)
    told = align("--reference", links).stdout
    assert re.match(r"AER 0\.0000  precision 1\.0000  recall 1\.0000  links 4 ", told)
    other = tmp_path / "other"
    with_links = align("--reference", links, "-o", other)
    assert with_links.stdout == told
    assert other.read_text() == links.read_text()


def test_other_links_have_an_error(align, tmp_path):
    right = align().stdout.split("\n")
    first = (int(right[0].split("-")[0]) + 1) % 3
    (tmp_path / "gold").write_text("\n".join([f"{first}-0 {right[0].split()[1]}", *right[1:]]))
    told = align("--reference", tmp_path / "gold").stdout
    assert told.startswith("AER 0.2500  precision 0.7500  recall 0.7500")


def test_gold_links_of_other_sentences_are_an_error(align, tmp_path):
    (tmp_path / "gold").write_text("0-0\n")
    result = align("--reference", tmp_path / "gold", status=1)
    assert result.stdout == "" and len(result.stderr.splitlines()) == 1


def test_files_of_different_length_are_an_error(nmtkit, model, align, tmp_path):
    (tmp_path / "short").write_text("un\n")
    result = nmtkit("align", "-m", model, tmp_path / "src", tmp_path / "short", status=1)
    assert "src has 4" in result.stderr and "short has 1" in result.stderr


def test_the_soft_form_and_the_drawing_exclude_each_other(align):
    align("--soft", "--show", status=2)
