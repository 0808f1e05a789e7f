"""Tokens equal those of tokenizer.perl; any line of tokens can be joined and split again.

`cases/moses.tok.LANG` is the output of `tokenizer.perl -a` for `cases/moses.LANG`.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from sacremoses import MosesTokenizer

from nmtkit.io.lines import read_lines
from nmtkit.text import memo
from nmtkit.text.tokenizer import Tokenizer

CASES = Path(__file__).parent / "cases"
ROOT = Path(__file__).parents[3]
LETTERS = "ab AE e'.,-5\"'’ .,' \u00a0\u2028&|;()[]é\x01\x1c...`«»²½ß€…я字"


def moses_data() -> tuple[Path, Path]:
    """Multi30k and the output of tokenizer.perl, if they are in NMTKIT_DATA."""
    data = Path(os.environ.get("NMTKIT_DATA", ROOT.parent / "shared" / "data"))
    raw, tokenized = data / "multi30k", data / "moses-multi30k" / "corpus"
    if not (raw.is_dir() and tokenized.is_dir()):
        pytest.skip("NMTKIT_DATA has no multi30k and moses-multi30k")
    return raw, tokenized


def random_lines(count: int, seed: int) -> Iterator[str]:
    draw = random.Random(seed)
    for _ in range(count):
        yield "".join(draw.choice(LETTERS) for _ in range(draw.randint(0, 14)))


def differences(language: str, raw: Path, tokenized: Path) -> list[tuple[str, str]]:
    tokenizer = Tokenizer(language, hyphens=True, escape=True)
    ours = [" ".join(tokenizer.tokenize(line)) for line in read_lines(raw)]
    theirs = list(read_lines(tokenized))
    assert len(ours) == len(theirs) > 0
    return [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]


@pytest.mark.parametrize("language", ["en", "fr"])
def test_tokens_of_case_files_equal_tokenizer_perl(language: str) -> None:
    assert differences(language, CASES / f"moses.{language}", CASES / f"moses.tok.{language}") == []


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("split", ["val", "test2016"])
def test_tokens_of_multi30k_equal_tokenizer_perl(language: str, split: str) -> None:
    raw, tokenized = moses_data()
    name = f"{split}.{language}", f"{split}.tok.{language}"
    assert differences(language, raw / name[0], tokenized / name[1]) == []


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "fr"])
def test_tokens_of_multi30k_train_equal_tokenizer_perl(language: str) -> None:
    raw, tokenized = moses_data()
    reference = tokenized / f"train.tok.{language}.gz"
    assert differences(language, raw / f"train.{language}", reference) == []


@pytest.mark.parametrize("language", ["en", "fr", "it", "de", "cs", "xx"])
@pytest.mark.parametrize("hyphens", [False, True])
def test_tokens_equal_sacremoses_except_the_last_period(language: str, hyphens: bool) -> None:
    tokenizer = Tokenizer(language, hyphens=hyphens)
    moses = MosesTokenizer(language)
    seen_period = False
    for line in random_lines(4000, seed=len(language) + hyphens):
        ours = tokenizer.tokenize(line)
        theirs = moses.tokenize(line, aggressive_dash_splits=hyphens, escape=False)
        if theirs and theirs[-1].endswith(".") and theirs[-1].strip("."):
            seen_period = True
            theirs[-1:] = [theirs[-1][:-1], "."]
        assert ours == theirs, line
    assert seen_period


@pytest.mark.parametrize("language", ["en", "fr", "de"])
@pytest.mark.parametrize("escape", [False, True])
def test_tokens_hold_no_whitespace_of_any_kind(language: str, escape: bool) -> None:
    tokenizer = Tokenizer(language, hyphens=True, escape=escape)
    odd = "".join(map(chr, range(0x3100))) + "\ufeff\U0001f600"
    words = ["a", "l'", "Mr.", "x-y", "...", "5,", '"']
    draw = random.Random(7)
    for _ in range(300):
        line = "".join(draw.choice([draw.choice(odd), draw.choice(words)]) for _ in range(9))
        tokens = tokenizer.tokenize(line)
        assert " ".join(tokens).split() == tokens
        assert all(tokens)
        assert "\n" not in "".join(tokens)


def test_tokens_of_a_word_do_not_depend_on_its_first_occurrence() -> None:
    lines = list(random_lines(1000, seed=5))
    warm = Tokenizer("en")
    first = [warm.tokenize(line) for line in lines]
    assert [warm.tokenize(line) for line in lines] == first
    assert [Tokenizer("en").tokenize(line) for line in lines[:40]] == first[:40]


def test_changing_the_result_does_not_change_the_memo() -> None:
    tokenizer = Tokenizer("en")
    tokenizer.tokenize("a b c").append("d")
    assert tokenizer.tokenize("a b c") == ["a", "b", "c"]


def test_memory_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "MAX_WORDS", 10)
    small, large = Tokenizer("fr"), Tokenizer("fr")
    for number in range(200):
        line = f"l'a{number} b{number}, c{number}. " + "d" * 100
        assert small.tokenize(line) == large.tokenize(line)
        assert max(len(small._inner), len(small._first), len(small._last)) <= 10


@pytest.mark.parametrize("blank", ["", " ", "\t\r", "\u00a0\u2028", "\x01", " \x02 "])
def test_blank_lines_have_no_tokens(blank: str) -> None:
    for escape in (False, True):
        assert Tokenizer("en", escape=escape).tokenize(blank) == []


def test_marker_words_of_the_library_are_only_words() -> None:
    assert Tokenizer("en").tokenize("a DOTMULTI b...") == ["a", "DOTMULTI", "b", "..."]


def test_entities() -> None:
    line = "a&b|c<d>e'f\"g[h]"
    escaped = Tokenizer("de", escape=True).tokenize(line)
    for character, entity in {
        "&": "&amp;", "|": "&#124;", "<": "&lt;", ">": "&gt;",
        "'": "&apos;", '"': "&quot;", "[": "&#91;", "]": "&#93;",
    }.items():  # fmt: skip
        assert entity in escaped
        assert character in Tokenizer("de").tokenize(line)


def test_very_long_words_and_lines() -> None:
    tokenizer = Tokenizer("en")
    assert tokenizer.tokenize("x" * 100_000 + ".") == ["x" * 100_000, "."]
    assert len(tokenizer.tokenize("word, " * 50_000)) == 100_000
    assert tokenizer.tokenize("." * 50_000) == ["." * 50_000]
