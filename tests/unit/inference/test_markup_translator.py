"""Lines with markup, translated by models that know nothing of it, and by some that do."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.errors import DataError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.markup_translator import MarkupTranslator, read_patterns
from nmtkit.inference.translator import Translator
from nmtkit.inference.word_alignment import Alignment
from nmtkit.model_folder import LoadedModel
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.text.markers import CLOSING, OPENING, POINTS
from nmtkit.text.markup_symbols import has_symbols
from nmtkit.text.placeholders import PLACEHOLDER_PATTERN

MARKUP = re.compile(r"<[^<>]*>|&(?:amp|gt);")

same_model = settings(max_examples=40)

words = st.sampled_from(["a", "b", "c", "d", "%s", "{0}", "http://x.org/a", "zz", "5px", ","])
tags = st.sampled_from(
    ["<b>", "</b>", "<i class='x'>", "</i>", "<br/>", "&amp;", "&gt;", "&eacute;"]
)
lines = st.lists(words | tags, max_size=10).map(" ".join)


@pytest.fixture
def translator(make_model: Callable[..., LoadedModel]) -> Translator:
    """Return an untrained model, whose translations are noise."""
    model = make_model(1, src="a b c d", tgt="w x y & < > %s")
    return Translator(Ensemble((model,))).with_search(beam=3)


def check_that_all_came_back(line: str, translation: str) -> None:
    """Check that a translation has the markup and the placeholders of its line, each as often."""
    assert sorted(MARKUP.findall(translation)) == sorted(MARKUP.findall(line))
    for kept in ("%s", "{0}", "http://x.org/a", "5px"):
        assert translation.count(kept) == line.count(kept)


@same_model
@given(st.lists(lines, max_size=4))
def test_nothing_is_lost_and_nothing_comes_twice(translator: Translator, texts: list[str]) -> None:
    keeper = MarkupTranslator(translator, "html")
    results = list(keeper.translate(texts, n_best=2))
    assert len(results) == len(texts)
    for line, translations in zip(texts, results, strict=True):
        for translation in translations:
            check_that_all_came_back(line, translation.text)


class Nfkc:
    """Rules of a SentencePiece model."""

    def normalize(self, line: str) -> str:
        return unicodedata.normalize("NFKC", line)

    def origins(self, line: str) -> tuple[str, list[int]]:
        return self.normalize(line), [*range(len(line) + 1)]


@pytest.mark.parametrize("side", ["src_text", "tgt_text"])
def test_wide_signs_that_rules_write_as_markup_come_back(translator: Translator, side: str) -> None:
    getattr(translator.ensemble.first, side).rules = Nfkc()
    (best,), *_ = MarkupTranslator(translator, "html").translate(["a＆b ＜c＞ & d"])
    assert sorted(re.findall("[<>&＜＞＆]", best.text)) == ["&", "＆", "＜", "＞"]


@same_model
@given(st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join))
def test_text_without_markup_is_translated_as_ever(translator: Translator, line: str) -> None:
    ((expected,),) = translator.translate([line])
    ((found,),) = MarkupTranslator(translator).translate([line])
    # A placeholder that the source does not have is left out.
    text = " ".join(word for word in expected.text.split(" ") if word != "%s")
    assert (found.text, found.tokens) == (text, expected.tokens)
    assert found.score == pytest.approx(expected.score)


@same_model
@given(st.lists(lines, max_size=4))
def test_a_model_without_attention_loses_nothing(
    make_model: Callable[..., LoadedModel], texts: list[str]
) -> None:
    model = make_model(1, src="a b c d", tgt="w x y & < > %s", sizes=RNNencConfig(6, 8, 4))
    keeper = MarkupTranslator(Translator(Ensemble((model,))), "html", [PLACEHOLDER_PATTERN])
    for line, (translation,) in zip(texts, keeper.translate(texts), strict=True):
        check_that_all_came_back(line, translation.text)


def test_without_attention_words_are_in_the_order_of_the_source(
    make_model: Callable[..., LoadedModel],
) -> None:
    keeper = MarkupTranslator(
        Translator(Ensemble((make_model(1, sizes=RNNencConfig(6, 8, 4)),))), "html"
    )
    marked = keeper.take_apart("a b <b>c</b> d")
    ((translation,),) = keeper.translate(["a b c d"])
    by_hand = replace(translation, text="v w x y", tokens=["v", "w", "x", "y"])
    assert keeper.restore(marked, by_hand) == "v w <b>x</b> y"


SYMBOLS = [*OPENING[:3], *CLOSING[:3], *POINTS[:3]]


@pytest.fixture
def reader(make_model: Callable[..., LoadedModel]) -> Translator:
    """Return an untrained model that reads markup, and writes symbols at random."""
    symbols = " ".join(SYMBOLS)
    model = make_model(2, src=f"a b c d {symbols}", tgt=f"w x {symbols}", markup="html")
    return Translator(Ensemble((model,))).with_search(beam=3)


@same_model
@given(st.lists(lines, max_size=4))
def test_a_model_that_reads_markup_loses_nothing(reader: Translator, texts: list[str]) -> None:
    keeper = MarkupTranslator(reader, "html", [PLACEHOLDER_PATTERN])
    for line, (translation,) in zip(texts, keeper.translate(texts), strict=True):
        check_that_all_came_back(line, translation.text)
        assert not has_symbols(translation.text)


@same_model
@given(st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join))
def test_a_model_that_reads_markup_writes_none_of_its_own(reader: Translator, line: str) -> None:
    ((plain,),) = reader.translate([line])
    ((marked,),) = MarkupTranslator(reader, "html").translate([line])
    assert not has_symbols(plain.text)
    assert re.sub("[<>]", "", plain.text) == marked.text


def test_markup_goes_where_its_symbols_are(reader: Translator) -> None:
    keeper = MarkupTranslator(reader, "html", [PLACEHOLDER_PATTERN])
    marked = keeper.take_apart("a <b>b %s</b> c<br/> d")
    assert keeper.source_text(marked) == f"a {OPENING[0]}b %s{CLOSING[0]} c{POINTS[0]} d"
    ((translation,),) = reader.translate([keeper.source_text(marked)], alignments=True)
    written = [OPENING[0], "w", "x", CLOSING[0], "w", POINTS[0], "w"]
    matrix = torch.full((len(written) + 1, len(translation.src_tokens) + 1), 0.1)
    alignment = Alignment(translation.src_tokens, written, matrix)
    by_hand = replace(
        translation,
        text=f"{OPENING[0]}w x{CLOSING[0]} w {POINTS[0]}w",
        tokens=written,
        alignment=matrix,
        word_alignment=alignment,
    )
    found = keeper.restore(marked, by_hand).replace(" %s", "").replace("%s ", "")
    assert found == "<b>w x</b> w<br/> w"


def test_a_tag_of_the_models_is_no_markup(make_model: Callable[..., LoadedModel]) -> None:
    model = make_model(1, src="<x> a b", tgt="w x", tags=("<x>",))
    translator = Translator(Ensemble((model,)))
    ((own,),) = MarkupTranslator(translator, "html").translate(["<x> <b>a</b> b"])
    ((given,),) = MarkupTranslator(translator.with_tag("<x>"), "html").translate(["<b>a</b> b"])
    assert own.src_tokens == ["<x>", "a", "b"]
    assert own.text == given.text and "<x>" not in own.text
    ((other,),) = MarkupTranslator(translator, "html").translate(["<x>a</x> b"])
    assert other.src_tokens == ["a", "b"]


def test_symbols_in_the_text_are_text(reader: Translator) -> None:
    line = f"a {POINTS[0]} <b>b</b>"
    keeper = MarkupTranslator(reader, "html")
    assert keeper.source_text(keeper.take_apart(line)) == f"a {POINTS[0]} b"
    ((translation,),) = keeper.translate([line])
    assert translation.text.count("<b>") == 1


def test_lines_of_markup_alone_stay(translator: Translator) -> None:
    for line in ("", "<br/>", "<b></b>", "  ", "<!-- a b -->"):
        ((translation,),) = MarkupTranslator(translator, "html").translate([line])
        assert translation.text == line.strip()


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("a www.x.org/?a=1&amp;b=2&lt;c> &amp; b", ["www.x.org/?a=1&amp;b=2", "&lt;", "&amp;"]),
        ("{{ a &lt; b }} &nbsp;", ["{{ a &lt; b }}", "&nbsp;"]),
        ("5&nbsp;kg", ["5&nbsp;kg"]),
        ("https://x.org/?a&amp;<b>b</b>", ["&amp;"]),
        ("x&bne;_a &NotEqualTilde;", ["&bne;", "&NotEqualTilde;"]),
    ],
)  # fmt: skip
def test_entities_may_be_parts_of_placeholders(
    translator: Translator, line: str, kept: list[str]
) -> None:
    marked = MarkupTranslator(translator, "html", [PLACEHOLDER_PATTERN]).take_apart(line)
    assert [one.source for one in marked.atoms if len(one.source) > 1] == kept


def test_blanks_beside_one_another_are_one_for_models(translator: Translator) -> None:
    keeper = MarkupTranslator(translator, "html")
    marked = keeper.take_apart("<p>  a\t\t<b> b</b> &nbsp;c </p>")
    assert keeper.source_text(marked) == "a b \xa0c"


def test_patterns_are_read_from_files(tmp_path: Path) -> None:
    path = tmp_path / "patterns"
    path.write_text("# names\n#\nACME\\w*\n\n#[0-9]+\n")
    patterns = read_patterns([str(path), "placeholders"])
    assert [pattern.pattern for pattern in patterns[:2]] == ["ACME\\w*", "#[0-9]+"]
    assert patterns[2] is PLACEHOLDER_PATTERN
    assert read_patterns([], placeholders=True) == [PLACEHOLDER_PATTERN]
    path.write_text("a\n(b\n")
    with pytest.raises(DataError, match=r"patterns:2: not a regular expression: missing \)"):
        read_patterns([str(path)])


@pytest.mark.parametrize(
    "text",
    ["https://a.org/b?c=d", "me@a.org", "%s", "%(name)s", "%1$d", "{0}", "{{x}}", "${VAR}"]
    + ["/etc/fstab", "C:\\a\\b", "notes.txt", "my_name", "10px", "64MB", "5 km", "$(name)", "%d"]
    + ["%%"],
)
def test_placeholders_are_found_whole(text: str) -> None:
    found = PLACEHOLDER_PATTERN.search(f"Take {text} now.")
    assert found and found[0] == text


@pytest.mark.parametrize(
    "text", ["e.g.", "5 minutes", "100 % of", "either/or", "and so on...", "U.S."]
)
def test_words_are_no_placeholders(text: str) -> None:
    assert not PLACEHOLDER_PATTERN.search(f"Take {text} now.")
