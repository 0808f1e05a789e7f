"""The western characters are exactly those of Moses's classes."""

import re
import subprocess
import sys

import pytest
from sacremoses import MosesTokenizer

from nmtkit.text.characters import (
    WESTERN,
    WESTERN_CODES,
    as_ranges,
    is_cased,
    is_grapheme_boundary,
    is_small,
    moses_characters,
    moses_prefixes,
)


@pytest.mark.parametrize("name", ["alnum", "alpha", "lower", "number"])
def test_western_classes_are_the_moses_classes_restricted(name: str) -> None:
    whole = set(getattr(moses_characters("en"), name)) - {"\n"}  # lines have none
    ours = getattr(WESTERN, name)
    assert set(ours) == whole & set(map(chr, WESTERN_CODES))
    assert len(set(ours)) == len(ours) > 200 * (name != "number")


def test_numeric_prefixes_are_disjoint_from_the_others() -> None:
    always, before_digits = moses_prefixes("en")
    assert {"Mr", "Dr"} <= always and {"No", "pp"} <= before_digits
    assert not always & before_digits
    assert moses_prefixes("xx") == (always, before_digits)
    assert "M" in moses_prefixes("fr")[0] and set(
        MosesTokenizer("fr").NUMERIC_ONLY_PREFIXES
    ) == set(moses_prefixes("fr")[1])


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("L’été – à 10 € – n'est pas fini, dit-elle… (1,5 ½).", False),
        ("He met Mr. Smith.", True),  # a prefix, perhaps
        ("Он читает.", True),
    ],
)
def test_western_lines_do_not_need_sacremoses(line: str, needed: bool) -> None:
    code = (
        "import sys; from nmtkit.text.tokenizer import Tokenizer\n"
        f"Tokenizer('fr').tokenize({line!r})\n"
        "print('sacremoses' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{needed}\n"


def test_korean_has_the_letters_of_sacremoses() -> None:
    moses = MosesTokenizer("ko")
    characters = moses_characters("ko")
    assert (characters.alnum, characters.alpha) == (moses.IsAlnum, moses.IsAlpha)


def test_ranges_hold_the_same_characters() -> None:
    letters = "zab" + moses_characters("ko").alpha
    of_class = re.compile(f"[{as_ranges(letters)}]")
    assert set(of_class.findall("".join(map(chr, range(0x110000))))) == set(letters)


def test_small_letters_are_those_that_may_become_capitals_in_running_text() -> None:
    assert all(map(is_small, "aßжωև"))
    assert not any(map(is_small, "Aا我गაჰᲐ1. "))
    assert not is_small("")
    assert all(map(is_cased, "aAßა")) and not any(map(is_cased, "我ا1"))


@pytest.mark.parametrize(
    ("text", "boundaries"),
    [
        ("ab", [0, 1, 2]),
        ("ที่นี่", [0, 3, 6]),
        ("ไป", [0, 2]),
        ("क्षि", [0, 4]),
        ("👍🏽a", [0, 2, 3]),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", [0, 2, 4]),
        ("a\u200db", [0, 3]),
        ("私の", [0, 1, 2]),
    ],
)
def test_boundaries_of_graphemes(text: str, boundaries: list[int]) -> None:
    found = [place for place in range(len(text) + 1) if is_grapheme_boundary(text, place)]
    assert found == boundaries
