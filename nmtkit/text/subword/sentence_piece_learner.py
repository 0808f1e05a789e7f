"""Learning models of SentencePiece from the words of a corpus.

The library's byte pair encoding learns ten times as fast as its unigram model and needs as few
pieces. Blanks aside, whitespace is never learned, and text is not normalised.
"""

import io
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import cast

from nmtkit.errors import DataError, counted
from nmtkit.text.subword.normalization import BLANK

CHARACTER_COVERAGE = 0.9995
"""Share of the text whose characters become pieces; the rarest are left to their bytes."""

MAX_LEARNED_LENGTH = 1000
"""Longer stretches without whitespace are learned from part by part."""


def learn_model(counts: Mapping[str, int], size: int) -> bytes:
    """Return the library's model of the words of a corpus.

    :raises DataError: the size is too small for the characters of the text.
    """
    import sentencepiece

    lines = [f"{word}\t{count}" for word, count in sorted(_learnable(counts).items())]
    if not lines:
        raise DataError("SentencePiece has no text to learn from; look at the training data")
    output = io.BytesIO()
    train = cast(Callable[..., None], sentencepiece.SentencePieceTrainer.train)
    try:
        train(
            sentence_iterator=iter(lines),
            model_writer=output,
            input_format="tsv",
            vocab_size=size,
            model_type="bpe",
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            byte_fallback=True,
            character_coverage=CHARACTER_COVERAGE,
            hard_vocab_limit=False,
            split_digits=True,
            user_defined_symbols=_symbols_in(counts),
            num_threads=1,
            minloglevel=3,
        )
    except RuntimeError as error:
        needed = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
        if needed is None:
            reason = str(error).splitlines()[0]
            raise DataError(
                f"SentencePiece cannot learn {counted(size, 'piece')} from this text: {reason};"
                " give another size, or more text"
            ) from error
        raise DataError(
            f"{size:,} pieces are too few for the characters of this text; SentencePiece needs at"
            f" least {int(needed[1]):,}"
        ) from error
    return output.getvalue()


def _learnable(counts: Mapping[str, int]) -> Counter[str]:
    """Return the words of limited length that a model is learned from, with their counts."""
    learnable: Counter[str] = Counter()
    for text, count in counts.items():
        for word in text.replace(BLANK, " ").replace("\0", " ").split():
            for start in range(0, len(word), MAX_LEARNED_LENGTH):
                learnable[word[start : start + MAX_LEARNED_LENGTH]] += count
    return learnable


def _symbols_in(counts: Mapping[str, int]) -> list[str]:
    """Return the symbols of markup in a text: each is a piece, and in no other."""
    from nmtkit.text.markers import SYMBOLS  # only learning needs it: start-up

    found = {symbol for word in counts for symbol in SYMBOLS.intersection(word)}
    return sorted(found)
