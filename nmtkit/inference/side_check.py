"""Find out whether source and target of a test set were swapped, by the model's vocabularies.

A word is known if the model reads it as one token. Text in the wrong language has few such words,
with a shortlist of words (they become `<unk>`) as with subwords (they are split).
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.io.inputs import path_to_reread
from nmtkit.io.lines import read_lines
from nmtkit.model_folder import LoadedModel
from nmtkit.special_symbols import UNK
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.vocabulary import Vocabulary

MAX_LINES = 500
"""Number of lines that are looked at."""

MIN_WORDS = 50
"""Fewer words say too little."""

MIN_DIFFERENCE = 0.1
"""Swapped sides: the other vocabulary knows a share of the words that is larger by this. On four
language pairs and texts it was larger by 0.13 at least, and in the right order never larger."""


def swapped_sides(
    model: LoadedModel,
    files: tuple[str, str],
    sources: Iterable[str],
    targets: Iterable[str],
    tokenized: bool = False,
) -> str | None:
    """Return a warning if the words of both sides are better known on the other side.

    :param files: source and target, for the warning.
    :param sources, targets: lines of a test set; at most `MAX_LINES` of each are read.
    :param tokenized: the lines are already tokenised.
    """
    source, target = (model.src_text, model.src_vocab), (model.tgt_text, model.tgt_vocab)
    lines = list(islice(sources, MAX_LINES)), list(islice(targets, MAX_LINES))
    shares = []
    for side, own, other in ((lines[0], source, target), (lines[1], target, source)):
        share = known_words(side, *own, tokenized)
        swapped = known_words(side, *other, tokenized)
        if share is None or swapped is None or swapped < share + MIN_DIFFERENCE:
            return None
        shares.append((share, swapped))
    own_share, other_share = shares[0]
    return (
        f"{files[0]} and {files[1]} look swapped: of the words of {files[0]} the model knows"
        f" {own_share:.0%} in its source language and {other_share:.0%} in its target language;"
        " give the source first"
    )


def swapped_files(
    model: LoadedModel, source: str, target: str, tokenized: bool = False
) -> str | None:
    """Return a warning as `swapped_sides` does; None if a file cannot be read twice."""
    again = path_to_reread(source), path_to_reread(target)
    if again[0] is None or again[1] is None or not model.model.reads_source:
        return None
    with suppress(DataError):  # reported where all is read
        lines = read_lines(again[0]), read_lines(again[1])
        return swapped_sides(model, (source, target), *lines, tokenized)
    return None


def refuse_swapped(model: LoadedModel, source: str | Path, target: str | Path) -> None:
    """Raise DataError if files look swapped: what is learned from them would spoil translations."""
    if message := swapped_files(model, str(source), str(target)):
        raise DataError(message)


def known_words(
    lines: Sequence[str], text: TextPipeline, vocabulary: Vocabulary, tokenized: bool = False
) -> float | None:
    """Return the share of the words of some lines that are one known token; None of few words."""
    count = known = 0
    for line in lines:
        tokens = text.tokens(line, tokenized)
        words, word_of_token = text.join(tokens)
        unknown = set[int]()
        for position, (word, index) in enumerate(
            zip(word_of_token, vocabulary.ids(tokens), strict=True)
        ):
            split = position > 0 and word_of_token[position - 1] == word
            if index == UNK or split:
                unknown.add(word)
        count += len(words)
        known += len(words) - len(unknown)
    return known / count if count >= MIN_WORDS else None
