"""The tokenising and detokenising of text that is measured, with the names that signatures give."""

from nmtkit.evaluation.metrics import Rewriting
from nmtkit.text.tokenizer import Detokenizer, Tokenizer


def tokenizing(language: str, hyphens: bool = False) -> Rewriting:
    """Tokenise raw text as `nmtkit prepare` does.

    :param hyphens: split words at hyphens, too.
    """
    tokenizer = Tokenizer(language, hyphens=hyphens)
    name = f"moses-{language}-hyphens" if hyphens else f"moses-{language}"
    return Rewriting(name, lambda line: " ".join(tokenizer.tokenize(line)))


def detokenizing(language: str) -> Rewriting:
    """Make raw text of tokenised text."""
    detokenizer = Detokenizer(language)
    return Rewriting(f"moses-{language}", lambda line: detokenizer.detokenize(line.split()))
