"""Tokenisers and detokenisers of evaluated text, with the names that signatures give them."""

from collections.abc import Callable
from dataclasses import dataclass

from nmtkit.evaluation.bleu_tokenizer import BleuTokenizer, choose_tokenizer, load_tokenizer
from nmtkit.text.tokenizer import Detokenizer, Tokenizer

AS_GIVEN = "none"
"""Name in signatures of text that is evaluated as it was given."""


@dataclass(frozen=True)
class Retokenizer:
    """A way to tokenise or detokenise a line of text.

    name: in signatures.
    convert: from a line to the same line in the other form.
    """

    name: str
    convert: Callable[[str], str]


def word_tokenizer(
    language: str | None, hyphens: bool = False, tokenizer: BleuTokenizer | None = None
) -> Retokenizer | None:
    """Return a retokenizer that finds the words of raw text.

    They are Moses's where spaces separate words, as after `nmtkit prepare`; elsewhere they are
    those of sacreBLEU's tokeniser.

    :param language: code of the language; None if it is unknown, and then text with spaces stays
        as it is.
    :param hyphens: split words at hyphens, too.
    :param tokenizer: sacreBLEU's tokeniser; by default the one that suits the language.
    :raises ConfigError: sacreBLEU's tokeniser cannot be used.
    """
    tokenizer = tokenizer or choose_tokenizer(language)
    if not tokenizer.spaced:
        return Retokenizer(*load_tokenizer(tokenizer.name))
    if not language:
        return None
    moses = Tokenizer(language, hyphens=hyphens)
    name = f"moses-{language}-hyphens" if hyphens else f"moses-{language}"
    return Retokenizer(name, lambda line: " ".join(moses.tokenize(line)))


def moses_detokenizer(language: str) -> Retokenizer:
    """Return a retokenizer that turns tokenised text into raw text."""
    detokenizer = Detokenizer(language)
    return Retokenizer(f"moses-{language}", lambda line: detokenizer.detokenize(line.split()))
