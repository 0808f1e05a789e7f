"""Lexical translation tables, and the candidate target words of a sentence.

Translating is faster when the softmax is over a few hundred candidates instead of the whole
vocabulary (Jean et al. 2015, section 3.2; Marian's `--shortlist`). The candidates of a sentence are
the most probable translations of each of its words, and the most frequent target words.

A table is a text in UTF-8, plain or compressed, with three columns separated by blanks or a tab.
Two formats are read, with lines in any order; the sign of the first line's number tells which:

    target source p(target|source)      Moses's lex.f2e, Marian's lex.s2t, `LinkCounts.write`
    source target log p(target|source)  what `fast_align -p FILE` writes; natural log

Moses's lex.e2f looks like lex.f2e with the sides exchanged; it belongs to a model of the other
direction. Entries of the empty word, NULL in Moses and <eps> in fast_align, are skipped.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, count, islice
from pathlib import Path
from typing import NamedTuple, NoReturn, TextIO

import numpy as np
import numpy.typing as npt

from nmtkit.errors import DataError
from nmtkit.io.lines import read_raw_lines
from nmtkit.special_symbols import SPECIAL_WORDS
from nmtkit.text.vocabulary import Vocabulary

NUM_FREQUENT = 100
"""Default number of frequent target words that are candidates of every sentence."""

TRANSLATIONS_PER_WORD = 50
"""Default number of candidates for each source word."""

LINES_PER_BLOCK = 100_000
"""Lines read at a time."""

MAX_ENTRIES_UNPRUNED = 4_000_000
"""Entries in memory before all but the best translations of each word are dropped."""

ROUNDING_TOLERANCE = 1e-6
"""Amount by which a rounded probability may exceed 1."""

MIN_SHARE_DIFFERENCE = 0.2
"""A table has the wrong direction if its source words are in the target vocabulary more often than
its target words, by at least this share."""

NULL_WORDS = {b"NULL", b"<eps>"}
"""Names of the empty word in Moses and fast_align."""

Ids = npt.NDArray[np.int32]
Values = npt.NDArray[np.float32]


class TableEntries(NamedTuple):
    """Pairs of words with their values, as columns. Shape of each: [entries].

    sources: indices of the source words. targets: ids of the target words.
    values: p(target|source) or its logarithm.
    """

    sources: Ids
    targets: Ids
    values: Values

    def best(self, num_translations: int) -> "TableEntries":
        """Return the highest-valued entries of each source word, sorted by source word."""
        order = np.lexsort((self.targets, -self.values, self.sources))
        sources = self.sources[order]
        ranks = np.arange(len(order)) - np.searchsorted(sources, sources)
        kept = order[ranks < num_translations]
        return TableEntries(self.sources[kept], self.targets[kept], self.values[kept])


class Lexicon:
    """Candidate target words for source sentences.

    :param sources: index of each source word, by its UTF-8 bytes.
    :param entries: translations of the source words, sorted by source word.
    :param num_frequent: ids below this, the most frequent target words, are candidates of every
        sentence.
    """

    def __init__(self, sources: dict[bytes, int], entries: TableEntries, num_frequent: int) -> None:
        self._sources = sources
        self._frequent = np.arange(num_frequent, dtype=np.int32)
        rare = entries.targets >= num_frequent
        self._targets = entries.targets[rare]
        counts = np.bincount(entries.sources[rare], minlength=len(sources))
        self._ends: list[int] = [0, *np.cumsum(counts).tolist()]

    @classmethod
    def load(
        cls,
        path: str | Path,
        tgt_vocab: Vocabulary,
        frequent: int = NUM_FREQUENT,
        per_word: int = TRANSLATIONS_PER_WORD,
        known_direction: bool = False,
    ) -> "Lexicon":
        """Load a table in one of the formats of this module.

        :param tgt_vocab: the model's vocabulary; other target words are skipped.
        :param frequent: number of most frequent target words that are candidates of every sentence,
            in addition to `</s>` and `<unk>`.
        :param per_word: number of most probable translations of a source word that are candidates.
        :param known_direction: the table is the model's own; its words are not checked.
        :raises DataError: the file cannot be read, a line is malformed, or the words are not
            those of the model; the message names file, line and remedy.
        """
        ids = {word.encode(): number for number, word in enumerate(tgt_vocab)}
        for word in (*NULL_WORDS, *(word.encode() for word in SPECIAL_WORDS)):
            ids.pop(word, None)
        source_index: defaultdict[bytes, int] = defaultdict(count().__next__)
        tables: list[TableEntries] = []
        max_entries = MAX_ENTRIES_UNPRUNED
        for sources, targets, values, _ in read_columns(path, None if known_direction else ids):
            target_ids = np.array([ids.get(word, -1) for word in targets], np.int32)
            known = (target_ids >= 0) & ~np.fromiter(map(NULL_WORDS.__contains__, sources), bool)
            indices = np.fromiter(map(source_index.__getitem__, compress(sources, known)), np.int32)
            tables.append(TableEntries(indices, target_ids[known], values[known]))
            if sum(len(table.values) for table in tables) > max_entries:
                tables = [_concatenate(tables).best(per_word)]
                max_entries = max(MAX_ENTRIES_UNPRUNED, 2 * len(tables[0].values))
        num_frequent = min(len(SPECIAL_WORDS) + frequent, len(tgt_vocab))
        return cls(dict(source_index), _concatenate(tables).best(per_word), num_frequent)

    def candidates(self, source_tokens: Sequence[str]) -> Ids:
        """Return the candidate ids of a sentence, ascending; 0 and 1 are always among them.

        :param source_tokens: the model's tokens; those that are not in the table are ignored.
        """
        indices = [self._sources.get(token.encode()) for token in source_tokens]
        ends = self._ends
        translations = [self._targets[ends[i] : ends[i + 1]] for i in indices if i is not None]
        if not translations:
            return self._frequent
        return np.concatenate([self._frequent, np.unique(np.concatenate(translations))])


def best_translations(path: str | Path, src_vocab: Vocabulary | None = None) -> dict[str, str]:
    """Return the most probable translation of each source word of a table, the first of equals.

    :param src_vocab: the model's source vocabulary, to refuse a table of the other direction.
    :raises DataError: as `Lexicon.load`, but any target word is accepted; or a word that would be
        returned is not UTF-8.
    """
    best: dict[bytes, tuple[float, bytes, int]] = {}
    number = 0
    for sources, targets, values, _ in read_columns(path, None):
        for source, target, value in zip(sources, targets, values.tolist(), strict=True):
            number += 1
            if source in NULL_WORDS or target in NULL_WORDS:
                continue
            if source not in best or value > best[source][0]:
                best[source] = value, target, number
    translations = {
        _decode_word(source, path, line): _decode_word(target, path, line)
        for source, (_, target, line) in best.items()
    }
    if translations and src_vocab is not None:
        share, exchanged = (
            sum(map(src_vocab.__contains__, words)) / len(words)
            for words in (translations.keys(), translations.values())
        )
        if exchanged > share + MIN_SHARE_DIFFERENCE:
            raise DataError(
                f"{path}: the target words of this table are the model's source words; give the"
                " table of the other direction (Moses's lex.f2e, not lex.e2f)"
            )
    return translations


def _decode_word(word: bytes, path: str | Path, number: int) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}:{number}: not valid UTF-8: {word!r}; convert the file to UTF-8"
        ) from error


class LinkCounts:
    """Counts of alignment links between source and target words, to estimate a table."""

    def __init__(self) -> None:
        self._links: Counter[tuple[str, str]] = Counter()

    def add(self, source: Sequence[str], target: Sequence[str], links: Iterable[int]) -> None:
        """Count the links of one pair of sentences.

        :param links: for each target word, the index of its source word.
        """
        self._links.update(zip((source[index] for index in links), target, strict=True))

    def write(self, output: TextIO, min_count: int = 1) -> int:
        """Write the table `target source p(target|source)`, sorted by source word, then by p.

        p is the share of the source word's links that go to the target word, with seven digits.

        :param min_count: pairs with fewer links are left out, but count for the shares.
        :return: the number of lines.
        """
        totals: Counter[str] = Counter()
        for (source, _), number in self._links.items():
            totals[source] += number
        kept = [(s, -number, t) for (s, t), number in self._links.items() if number >= min_count]
        for source, number, target in sorted(kept):
            output.write(f"{target} {source} {-number / totals[source]:.7f}\n")
        return len(kept)


class Columns(NamedTuple):
    """Source words, target words, and values of some lines: probabilities, or their logarithms."""

    sources: Sequence[bytes]
    targets: Sequence[bytes]
    values: Values
    are_logs: bool


def read_columns(path: str | Path, ids: dict[bytes, int] | None) -> Iterator[Columns]:
    """Yield the columns of a table in either format, some lines at a time.

    :param ids: the target vocabulary, to check the direction of the table; None for no check.
    """
    are_logs: bool | None = None
    first = 1  # line number of the block's first line
    lines = read_raw_lines(path)
    while block := list(islice(lines, LINES_PER_BLOCK)):
        words = _split_lines(block)
        try:
            with np.errstate(over="ignore"):  # numbers beyond float32 become infinite
                values = np.fromiter(map(float, words[2::3]), np.float32, len(block))
        except ValueError:
            _raise_for_line(path, first, block, are_logs)
        is_first = are_logs is None
        if are_logs is None:
            are_logs = bool((values[values != 0][:1] < 0).any())
        highest = ROUNDING_TOLERANCE if are_logs else 1 + ROUNDING_TOLERANCE
        valid = values <= highest if are_logs else (values >= 0) & (values <= highest)
        if not valid.all():
            _raise_for_line(path, first, block, are_logs)
        sources, targets = (words[0::3], words[1::3]) if are_logs else (words[1::3], words[0::3])
        if is_first and ids is not None:
            _check_direction(path, targets, sources, ids)
        yield Columns(sources, targets, values, are_logs)
        first += len(block)
    if are_logs is None:
        raise DataError(f"{path}: empty; 'nmtkit align --lexicon' makes a table")


def _split_lines(lines: Sequence[bytes]) -> list[bytes]:
    """Return the words of all lines, three per line, or none if a line has more or fewer.

    If each line has three words, two blanks or tabs and no other whitespace, which is checked
    first, all lines are split together in a third of the time.
    """
    text = b"\n".join(lines)
    words = text.split()
    characters = np.frombuffer(text, np.uint8)
    between = characters[characters <= ord(" ")]
    ends = between == ord("\n")
    plain = (between == ord(" ")) | (between == ord("\t"))
    if len(words) == 3 * len(lines) == len(ends) + 1 and ends[2::3].all():
        if (ends | plain).all() and ends.sum() == len(lines) - 1:
            return words
    rows = [line.split() for line in lines]
    return list(chain.from_iterable(rows)) if set(map(len, rows)) == {3} else []


def _raise_for_line(
    path: str | Path, first: int, lines: Sequence[bytes], are_logs: bool | None
) -> NoReturn:
    """Raise DataError for the first malformed line."""
    expected = {
        None: "'target source probability'",
        False: "'target source probability', a number from 0 to 1",
        True: "'source target logarithm', a number of at most 0, as in the first line",
    }
    for number, line in enumerate(lines, start=first):
        row = line.split()
        if len(row) != 3 or not _is_valid(row[2], are_logs):
            text = line.decode("utf-8", errors="replace")
            raise DataError(
                f"{path}:{number}: expected {expected[are_logs]}, not {text!r}; correct or remove"
                " the line"
            )
    raise AssertionError("no line is malformed")


def _is_valid(text: bytes, are_logs: bool | None) -> bool:
    """Return whether a text is a number, within the range of the table's format if known."""
    try:
        value = float(text)
    except ValueError:
        return False
    if are_logs is None:
        return True
    return value <= ROUNDING_TOLERANCE if are_logs else 0 <= value <= 1 + ROUNDING_TOLERANCE


def _check_direction(
    path: str | Path, targets: Sequence[bytes], sources: Sequence[bytes], ids: dict[bytes, int]
) -> None:
    """Raise DataError if the target words are not the model's, or the sides are exchanged.

    This works because few words belong to both languages. In a joint vocabulary of subwords most
    do, and exchanged sides are not detected.
    """
    share, exchanged = (
        sum(map(ids.__contains__, words)) / len(words) for words in (targets, sources)
    )
    if exchanged > share + MIN_SHARE_DIFFERENCE:
        raise DataError(
            f"{path}: the source words of this table are the model's target words; give the table"
            " of the other direction (Moses's lex.f2e, not lex.e2f)"
        )
    if share == 0:
        raise DataError(
            f"{path}: no target word of this table is in the model's vocabulary; give one made of"
            " text that was tokenised as the model's"
        )


def _concatenate(tables: Sequence[TableEntries]) -> TableEntries:
    return TableEntries(*(np.concatenate(columns) for columns in zip(*tables, strict=True)))
