"""Corrections: raw sentence pairs that a model is to learn, and their ids.

They come in two files, a TSV or a TMX file, as `nmtkit.io.bitext` reads them, and are split into
the model's tokens as its own text was.
"""

import dataclasses
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmtkit.config import DataConfig
from nmtkit.data.corpus import Corpus, Side
from nmtkit.errors import DataError
from nmtkit.inference.side_check import swapped_sides
from nmtkit.io.bitext import read_bitext
from nmtkit.io.inputs import Source
from nmtkit.io.lines import decode_line
from nmtkit.model_folder import LoadedModel
from nmtkit.special_symbols import EOS, UNK
from nmtkit.text.masked_pairs import pair_tokens, translated_names
from nmtkit.text.subword.bpe_dropout import Sentences
from nmtkit.text.vocabulary import Vocabulary

log = logging.getLogger("nmtkit")

MAX_REPORTED = 5
"""Number of lines of each kind that are named; of more only the number is."""

EMPTY_SIDE = "one side is empty, so the pair is left out; write both, or remove it"
"""What is wrong with a pair that has nothing to learn from."""

CHANGED_NAME = (
    "a name or number of the source is not in the translation; the model copies such words without"
    " reading them, so it cannot learn this for one of them alone; use a glossary: 'nmtkit"
    " translate --terms'"
)
"""What is wrong with a pair whose translation lacks a name for which a placeholder stands."""


@dataclass(frozen=True)
class Pair:
    """A raw sentence pair.

    where: its file and line, for messages.
    """

    src: str
    tgt: str
    where: str


Ids = tuple[int, ...]
"""A sentence in the ids of a vocabulary, with `</s>`."""


@dataclass(frozen=True)
class Correction:
    """A sentence pair, and its ids in the model's vocabularies."""

    pair: Pair
    src: Ids
    tgt: Ids

    @property
    def length(self) -> int:
        """Tokens of the longer side, without `</s>`."""
        return max(len(self.src), len(self.tgt)) - 1

    @property
    def lacks_tokens(self) -> bool:
        """Return whether a side has nothing but `</s>`; a tag is a token."""
        return min(len(self.src), len(self.tgt)) == 1


def read_pairs(files: Sequence[Source], languages: tuple[str, str]) -> list[Pair]:
    """Read the pairs of a bitext, without those that have an empty side, which are reported.

    :param files: the source file and the target file, or one file that holds both.
    :param languages: codes of the languages, which choose what is read of a TMX file.
    :raises DataError: a file cannot be read, a line is not UTF-8, or the numbers of lines differ.
    """
    pairs: list[Pair] = []
    empty: list[Pair] = []
    for pair in _all_pairs(files, languages):
        full = pair.src.strip() and pair.tgt.strip()
        (pairs if full else empty).append(pair)
    _report(empty, EMPTY_SIDE)
    return pairs


def _all_pairs(files: Sequence[Source], languages: tuple[str, str]) -> Iterator[Pair]:
    for block in read_bitext(list(files), languages):
        for number, *sides in zip(block.numbers, block.src, block.tgt, strict=True):
            src, tgt = (
                decode_line(line, name, number)
                for line, name in zip(sides, block.names, strict=True)
            )
            yield Pair(src, tgt, f"{block.names[1]}:{number}")


def usable_corrections(
    pairs: Sequence[Pair], model: LoadedModel, tag: str, files: Sequence[str | Path]
) -> list[Correction]:
    """Return the corrections that a model can be trained on; report the others by file and line.

    A pair is left out if it is too long, if a side has no tokens, as it is of characters that are
    left out, or if a later pair corrects the same source.

    :param tag: word to put before each source, one of the model's tags; "" for none.
    :param files: for messages.
    :raises DataError: none is left.
    """
    name = ", ".join(map(str, files))
    limit = model.config.data.max_length
    latest = {_words(pair.src): pair for pair in pairs}
    corrections = [_correction(pair, model, tag) for pair in latest.values()]
    replaced = [pair for pair in pairs if _words(latest[_words(pair.src)].tgt) != _words(pair.tgt)]
    _report(replaced, "a later line has another translation of the same source, which counts")
    _report([item.pair for item in corrections if item.lacks_tokens], EMPTY_SIDE)
    corrections = [item for item in corrections if not item.lacks_tokens]
    if not corrections:
        raise DataError(f"{name}: no corrections; give pairs of a source and its translation")
    too_long = [item.pair for item in corrections if item.length > limit]
    _report(too_long, f"more than {limit} tokens, the model's data.max_length; left out")
    corrections = [item for item in corrections if item.length <= limit]
    if not corrections:
        raise DataError(
            f"{name}: all corrections are longer than {limit} tokens, the data.max_length that the"
            " model was trained with; split them into sentences"
        )
    unknown = [item.pair for item in corrections if UNK in item.tgt]
    _report(unknown, "has characters or words that the model cannot write; it cannot come out")
    pipelines = model.src_text, model.tgt_text
    changed = [
        item.pair
        for item in corrections
        if translated_names(pipelines, item.pair.src, item.pair.tgt)
    ]
    _report(changed, CHANGED_NAME)
    return corrections


def warn_if_swapped(pairs: Sequence[Pair], model: LoadedModel, files: Sequence[str | Path]) -> None:
    """Warn if the sides are in each other's place, as columns of a TSV file often are.

    :param files: the source file and the target file, or one that holds both, for the message.
    """
    sides = (files[0], files[-1]) if len(files) > 1 else ("the sources", f"targets of {files[0]}")
    names = str(sides[0]), str(sides[1])
    warning = swapped_sides(model, names, (p.src for p in pairs), (p.tgt for p in pairs))
    if warning is not None:
        log.warning("%s", warning)


def _words(text: str) -> str:
    """Return a text as models read it: blanks at its ends or in a row make no difference."""
    return " ".join(text.split())


def _correction(pair: Pair, model: LoadedModel, tag: str) -> Correction:
    pipelines = model.src_text, model.tgt_text
    src, tgt = pair_tokens(pipelines, model.src_text.with_tag(pair.src, tag), pair.tgt)
    return Correction(pair, _ids(src, model.src_vocab), _ids(tgt, model.tgt_vocab))


def _ids(tokens: Sequence[str], vocabulary: Vocabulary) -> Ids:
    return (*vocabulary.ids(tokens), EOS)


def _report(pairs: Sequence[Pair], problem: str) -> None:
    """Warn of pairs, the first of them by file and line."""
    for pair in pairs[:MAX_REPORTED]:
        log.warning("%s: %s", pair.where, problem)
    if len(pairs) > MAX_REPORTED:
        log.warning("the same is so of %d more", len(pairs) - MAX_REPORTED)


def corpus_of(pairs: Iterable[tuple[Ids, Ids]], model: LoadedModel, name: str) -> Corpus:
    """Return pairs of a model's ids as a corpus in memory.

    :param pairs: source and target, each with `</s>`.
    :param name: what the pairs are, for messages.
    """
    src, tgt = zip(*pairs, strict=True)
    return Corpus(
        Side(*Sentences.of(src), len(model.src_vocab), name),
        Side(*Sentences.of(tgt), len(model.tgt_vocab), name),
    )


def batching(data: DataConfig, tokens: int) -> DataConfig:
    """Return the settings of batches of at most so many target tokens, in random order.

    :param data: settings of the training of the old model.
    """
    return dataclasses.replace(
        data,
        batch_size=tokens,
        batch_unit="tokens",
        sort_pool=50,
        order="random",
        shuffle="every-epoch",
    )
