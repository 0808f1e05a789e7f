"""Detokenised lines follow the writing rules of their language.

Detokenising the tokens of each line of `cases/reads.LANG` restores the line.
"""

import random
from pathlib import Path

import pytest

from nmtkit.io.lines import read_lines
from nmtkit.text.detokenizer import Detokenizer
from nmtkit.text.tokenizer import Tokenizer

CASES = Path(__file__).parent / "cases"


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("escape", [False, True])
@pytest.mark.parametrize("hyphens", [False, True])
def test_detokenizing_restores_the_line(language: str, escape: bool, hyphens: bool) -> None:
    tokenizer = Tokenizer(language, hyphens=hyphens, escape=escape)
    detokenizer = Detokenizer(language)
    for line in read_lines(CASES / f"reads.{language}"):
        assert detokenizer.detokenize(tokenizer.tokenize(line)) == line


@pytest.mark.parametrize(
    ("language", "tokens", "line"),
    [
        ("fr", "l' arbre", "l'arbre"),
        ("fr", "l ’ arbre", "l’arbre"),
        ("fr", "l &apos; 1er", "l'1er"),
        ("fr", "Qu' en dit l' autre ?", "Qu'en dit l'autre ?"),
        ("fr", "non ; oui : non !", "non ; oui : non !"),
        ("fr", "vrai ? ! ( peut-être )", "vrai ?! (peut-être)"),
        ("fr", "fin .", "fin."),
        ("fr", "l'", "l'"),
        ("fr", "' mot '", "'mot'"),
        ("fr", "‘ mot ’ et", "‘mot’ et"),
        ("fr", "$ 5", "$5"),
        ("fr", "il a dit &amp; amp ; non ; oui", "il a dit &amp; non ; oui"),
        ("fr", 'l " arbre', 'l"arbre'),
        ("fr", "5 M $ et US $ 5", "5 M$ et US$ 5"),
        ("en", "do n't", "don't"),
        ("en", "I ' m here", "I'm here"),
        ("en", "get ' em", "get 'em"),
        ("en", "the boss ’ s", "the boss’s"),
        ("en", "the boys ’ house", "the boys’ house"),
        ("en", "goin ' home", "goin' home"),
        ("en", "a ' 90s thing", "a '90s thing"),
        ("en", "the ’ 90s", "the ’90s"),
        ("en", "sign says ' free '", "sign says 'free'"),
        ("en", "5 ' tall", "5' tall"),
        ("en", "a @-@ b @-@ c", "a-b-c"),
        ("en", "@-@ b", "-b"),
        ("en", "b @-@", "b-"),
        ("en", "@-@", "-"),
        ("en", "&lt; a &gt; &amp;quot;", "< a > &quot;"),
        ("en", "¿ x", "¿x"),
        ("en", "hello @ you", "hello @ you"),
        ("de", "Er sagt : &quot; ja &quot; .", 'Er sagt: "ja".'),
        ("it", "l' uomo è qui .", "l'uomo è qui."),
        ("de", "<unk> <unk> ist da", "<unk> <unk> ist da"),
        ("en", "<b> yes </b> !", "<b>yes</b>!"),
        ("fr", "", ""),
        ("en", "", ""),
        ("de", "", ""),
    ],
)
def test_words_are_joined(language: str, tokens: str, line: str) -> None:
    assert Detokenizer(language).detokenize(tokens.split()) == line


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_detokenizing_moves_blanks_only(language: str) -> None:
    signs = list("'\"’‘“”«»,.?!:;%$#&@/°()[]{}-–…") + [
        "...",
        "@-@",
        "'s",
        "l'",
        "l",
        "s",
        "12",
        "A",
        "n't",
    ]
    draw = random.Random(3)
    for _ in range(3000):
        tokens = [draw.choice([*signs, "mot", "words"]) for _ in range(draw.randint(0, 12))]
        line = Detokenizer(language).detokenize(tokens)
        assert line.replace(" ", "") == "".join(tokens).replace("@-@", "-")
        assert line == " ".join(line.split())


def test_empty_tokens_are_ignored() -> None:
    assert Detokenizer("en").detokenize(["a", "", "b"]) == "a b"
