"""Tokenisers and detokenisers of evaluated text, with the names that signatures give them."""

from collections.abc import Callable
from dataclasses import dataclass

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


def moses_tokenizer(language: str, hyphens: bool = False) -> Retokenizer:
    """Return a retokenizer that tokenises raw text as `nmtkit prepare` does.

    :param hyphens: split words at hyphens, too.
    """
    tokenizer = Tokenizer(language, hyphens=hyphens)
    name = f"moses-{language}-hyphens" if hyphens else f"moses-{language}"
    return Retokenizer(name, lambda line: " ".join(tokenizer.tokenize(line)))


def moses_detokenizer(language: str) -> Retokenizer:
    """Return a retokenizer that turns tokenised text into raw text."""
    detokenizer = Detokenizer(language)
    return Retokenizer(f"moses-{language}", lambda line: detokenizer.detokenize(line.split()))
