"""Warnings about text that is not in the form that a metric expects, or in two forms."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmtkit.evaluation.bleu_tokenizer import BleuTokenizer
from nmtkit.evaluation.retokenize import Retokenizer
from nmtkit.evaluation.text_checks import (
    MAX_FOREIGN,
    holds_subwords,
    looks_decomposed,
    looks_escaped,
    looks_tokenized,
    looks_unspaced,
    shared_words,
)


class Conversion(NamedTuple):
    """How text is brought into the form that each metric expects."""

    tokenize: Retokenizer | None
    detokenize: Retokenizer | None
    tokenizer: BleuTokenizer


def text_warnings(
    texts: Sequence[Sequence[str]],
    names: Sequence[str],
    conversion: Conversion,
    measures: Sequence[str] = (),
) -> Iterator[str]:
    """Yield warnings about text that is not in the form that a metric needs, each once.

    :param texts: hypotheses, and one or more lists of references.
    :param names: of the texts.
    :param measures: names of the metrics; all if empty.
    """
    hyps, *references = texts
    warnings: dict[str, None] = {}
    for name, refs in zip(names[1:], references, strict=True):
        warnings |= dict.fromkeys(
            _pair_warnings(hyps, refs, (names[0], name), conversion, measures)
        )
        if conversion.tokenizer.spaced and looks_unspaced(refs):
            unspaced = (
                f"the script of {name} has no spaces between words, but BLEU counts words; give its"
                " -t LANG"
            )
            warnings[unspaced] = None
        elif conversion.tokenizer.spaced and (
            foreign := _foreign_warning(hyps, refs, names[0], name)
        ):
            warnings[foreign] = None
    yield from warnings


def _foreign_warning(hyps: Sequence[str], refs: Sequence[str], hyp: str, ref: str) -> str | None:
    """Return a warning if two texts have so few words in common as texts of two languages."""
    share = shared_words(hyps, refs)
    if share is None or share > MAX_FOREIGN:
        return None
    return (
        f"of the words of {hyp} {share:.0%} are in the same line of {ref}; give the translations,"
        " and references of the same lines in the same language"
    )


def _pair_warnings(
    hyps: Sequence[str],
    refs: Sequence[str],
    names: tuple[str, str],
    conversion: Conversion,
    measures: Sequence[str],
) -> Iterator[str]:
    """Yield the warnings of one list of references."""
    tokenized = looks_tokenized(hyps), looks_tokenized(refs)
    yield from _form_warnings(hyps, refs, names, tokenized)
    tokenize, detokenize, _ = conversion
    if set(tokenized) == {True, False}:
        return
    if True in tokenized and not detokenize and set(measures) != {"bleu"}:
        yield (
            "the text looks tokenised already; add --tokenized"
            if tokenize
            else "the text looks tokenised, but sacreBLEU's BLEU, chrF and TER are meant for"
            " raw text; add --tokenized -t LANG"
        )
    if False in tokenized and not tokenize and ("bleu" in measures or not measures):
        yield (
            "the text looks raw; leave out --tokenized"
            if detokenize
            else "the text looks raw, but the papers' BLEU is meant for tokenised text; add -t LANG"
        )


def form_warnings(
    hyps: Sequence[str], refs: Sequence[str], names: tuple[str, str]
) -> Iterator[str]:
    """Yield warnings about hypotheses and references in two forms, or split into subwords."""
    yield from _form_warnings(hyps, refs, names, (looks_tokenized(hyps), looks_tokenized(refs)))


def _form_warnings(
    hyps: Sequence[str],
    refs: Sequence[str],
    names: tuple[str, str],
    tokenized: tuple[bool | None, bool | None],
) -> Iterator[str]:
    """Yield the warnings of `form_warnings`; whether the texts are tokenised is known."""
    for name, lines in zip(names, (hyps, refs), strict=True):
        if holds_subwords(lines):
            yield f"{name} holds subwords (@@ or ▁), but BLEU counts words; undo them first"
    escaped = looks_escaped(hyps), looks_escaped(refs)
    yield from _mismatch_warnings(names, *escaped, ("escaped", "unescaped"))
    decomposed = looks_decomposed(hyps), looks_decomposed(refs)
    yield from _mismatch_warnings(
        names, *decomposed, ("to be in Unicode's form NFD", "to be in NFC")
    )
    yield from _mismatch_warnings(names, *tokenized, ("tokenised", "raw"))


def _mismatch_warnings(
    names: tuple[str, str], hyp: bool | None, ref: bool | None, forms: tuple[str, str]
) -> Iterator[str]:
    """Yield a warning if one text is in the first form and the other in the second."""
    if hyp is None or ref is None or hyp == ref:
        return
    first, second = forms if hyp else forms[::-1]
    yield f"{names[0]} looks {first} but {names[1]} looks {second}; bring both into one form"
