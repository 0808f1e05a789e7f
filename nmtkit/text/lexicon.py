"""Which target words a source sentence may become: a lexical table, and the candidates it gives.

A model that weighs a few hundred words at each position instead of its whole vocabulary is faster
(Jean et al. 2015, section 3.2; Marian's `--shortlist`). The candidates of a sentence are the most
probable translations of each of its words, and the most frequent words of the target vocabulary.

A table is a text file, plain or gzip, in UTF-8, of three columns with blanks or a tab between. Two
forms are read, the lines in any order, and told apart by the sign of the first line's number:

    target source p(target|source)      Moses's lex.f2e, Marian's lex.s2t, and what is written here
    source target log p(target|source)  what `fast_align -p FILE` writes; natural log

Moses's lex.e2f looks like lex.f2e with the sides exchanged; it belongs to a model of the other
direction. Entries of no word, NULL in Moses and <eps> in fast_align, are passed over.
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

FREQUENT = 100
"""Most frequent target words, which are candidates of every sentence."""

EACH = 50
"""Translations of each source word."""

CHUNK = 100_000  # lines read together
ROOM = 4_000_000  # entries held before those that are not among the best are dropped
ABOUT_0 = 1e-6  # programs round
CLEARLY = 0.2  # shares of words that differ by more tell the direction of a table
NO_WORD = {b"NULL", b"<eps>"}

Ids = npt.NDArray[np.int32]
Values = npt.NDArray[np.float32]


class Entries(NamedTuple):
    """Pairs of words. Shapes: [entries] each.

    sources: numbers of the source words. targets: ids of the target words.
    values: p(target|source) or its logarithm.
    """

    sources: Ids
    targets: Ids
    values: Values

    def best(self, each: int) -> "Entries":
        """Those of the highest values of each source word, `each` at most, sorted by the word."""
        order = np.lexsort((self.targets, -self.values, self.sources))
        sources = self.sources[order]
        ranks = np.arange(len(order)) - np.searchsorted(sources, sources)
        kept = order[ranks < each]
        return Entries(self.sources[kept], self.targets[kept], self.values[kept])


class Lexicon:
    """The candidates of source sentences.

    :param sources: source word, in UTF-8 -> its number.
    :param entries: translations of the source words, sorted by them.
    :param always: so many first ids of the target vocabulary are candidates of every sentence.
    """

    def __init__(self, sources: dict[bytes, int], entries: Entries, always: int) -> None:
        self._sources = sources
        self._always = np.arange(always, dtype=np.int32)
        rare = entries.targets >= always
        self._targets = entries.targets[rare]
        counts = np.bincount(entries.sources[rare], minlength=len(sources))
        self._ends: list[int] = [0, *np.cumsum(counts).tolist()]

    @classmethod
    def load(
        cls, path: str | Path, tgt_vocab: Vocabulary, frequent: int = FREQUENT, each: int = EACH
    ) -> "Lexicon":
        """Read a table; see the top of this file.

        :param tgt_vocab: target words outside it are passed over.
        :param frequent: so many of its first words, which are the most frequent ones, are
            candidates of every sentence; `</s>` and `<unk>` are besides.
        :param each: so many of the most probable translations of a source word are candidates.
        :raises DataError: the file cannot be read, a line is not of the form, or the words are not
            those of the model; file, line and remedy are named.
        """
        ids = {word.encode(): number for number, word in enumerate(tgt_vocab)}
        for word in (*NO_WORD, *(word.encode() for word in SPECIAL_WORDS)):
            ids.pop(word, None)
        numbers: defaultdict[bytes, int] = defaultdict(count().__next__)
        held: list[Entries] = []
        room = ROOM
        for sources, targets, values in _columns(path, ids):
            found = np.array([ids.get(word, -1) for word in targets], np.int32)
            known = (found >= 0) & ~np.fromiter(map(NO_WORD.__contains__, sources), bool)
            places = np.fromiter(map(numbers.__getitem__, compress(sources, known)), np.int32)
            held.append(Entries(places, found[known], values[known]))
            if sum(len(entries.values) for entries in held) > room:
                held = [_joined(held).best(each)]
                room = max(ROOM, 2 * len(held[0].values))
        always = min(len(SPECIAL_WORDS) + frequent, len(tgt_vocab))
        return cls(dict(numbers), _joined(held).best(each), always)

    def candidates(self, source_tokens: Sequence[str]) -> Ids:
        """The ids of the words that may translate a sentence: ascending, 0 and 1 always in.

        :param source_tokens: as the model has them; one that the table lacks adds nothing.
        """
        places = [self._sources.get(token.encode()) for token in source_tokens]
        ends = self._ends
        found = [self._targets[ends[p] : ends[p + 1]] for p in places if p is not None]
        if not found:
            return self._always
        return np.concatenate([self._always, np.unique(np.concatenate(found))])


def best_translations(path: str | Path, src_vocab: Vocabulary | None = None) -> dict[str, str]:
    """The most probable translation of each source word of a table; of equals the first.

    :param src_vocab: of the model; any word may be in the table, but where its target words are the
        model's source words, it is of the other direction, and would never be of use.
    :raises DataError: as `Lexicon.load`, but any target word may be in it; or a word that would be
        given is not UTF-8.
    """
    best: dict[bytes, tuple[float, bytes]] = {}
    for sources, targets, values in _columns(path, None):
        for source, target, value in zip(sources, targets, values.tolist(), strict=True):
            if source in NO_WORD or target in NO_WORD:
                continue
            if source not in best or value > best[source][0]:
                best[source] = value, target
    try:
        found = {source.decode(): target.decode() for source, (_, target) in best.items()}
    except UnicodeDecodeError as error:
        _refuse_word(path, error.object)
    if found and src_vocab is not None:
        share, exchanged = (
            sum(map(src_vocab.__contains__, words)) / len(words)
            for words in (found.keys(), found.values())
        )
        if exchanged > share + CLEARLY:
            raise DataError(
                f"{path}: the target words of this table are the model's source words; give the"
                " table of the other direction (Moses's lex.f2e, not lex.e2f)"
            )
    return found


def _refuse_word(path: str | Path, word: bytes) -> NoReturn:
    """Name the first line that has a word which is not UTF-8."""
    lines = enumerate(read_raw_lines(path), start=1)
    number = next((number for number, line in lines if word in line.split()), "unknown")
    raise DataError(f"{path}:{number}: not UTF-8: {word!r}; convert the file to UTF-8")


class LinkCounts:
    """How often each target word was linked to each source word: what a table is made of."""

    def __init__(self) -> None:
        self._links: Counter[tuple[str, str]] = Counter()

    def add(self, source: Sequence[str], target: Sequence[str], links: Iterable[int]) -> None:
        """Count the links of one pair of sentences.

        :param links: for each target word the place of its source word.
        """
        self._links.update(zip((source[place] for place in links), target, strict=True))

    def write(self, output: TextIO, min_count: int = 1) -> int:
        """Write the table `target source p(target|source)`: by source word, the likeliest first.

        p is the share of the links of the source word that go to the target word, seven digits.

        :param min_count: pairs linked less often are left out, but count for the shares.
        :return: the number of lines.
        """
        totals: Counter[str] = Counter()
        for (source, _), number in self._links.items():
            totals[source] += number
        kept = [(s, -number, t) for (s, t), number in self._links.items() if number >= min_count]
        for source, number, target in sorted(kept):
            output.write(f"{target} {source} {-number / totals[source]:.7f}\n")
        return len(kept)


Columns = tuple[Sequence[bytes], Sequence[bytes], Values]
"""Source words, target words, and values of some lines."""


def _columns(path: str | Path, ids: dict[bytes, int] | None) -> Iterator[Columns]:
    """The lines of a table, some at a time, whatever its form.

    :param ids: has the words of the target vocabulary, if they are to be those.
    """
    logs: bool | None = None
    first = 1  # number of the chunk's first line
    lines = read_raw_lines(path)
    while chunk := list(islice(lines, CHUNK)):
        words = _words(chunk)
        try:
            with np.errstate(over="ignore"):  # what is beyond float32 is infinite
                values = np.fromiter(map(float, words[2::3]), np.float32, len(chunk))
        except ValueError:
            _refuse(path, first, chunk, logs)
        new = logs is None
        if logs is None:
            logs = bool((values[values != 0][:1] < 0).any())
        sound = values <= ABOUT_0 if logs else (values >= 0) & (values <= 1 + ABOUT_0)
        if not sound.all():
            _refuse(path, first, chunk, logs)
        sources, targets = (words[0::3], words[1::3]) if logs else (words[1::3], words[0::3])
        if new and ids is not None:
            _check_words(path, targets, sources, ids)
        yield sources, targets, values
        first += len(chunk)
    if logs is None:
        raise DataError(f"{path}: empty; 'nmtkit align --lexicon' makes a table")


def _words(lines: Sequence[bytes]) -> list[bytes]:
    """Three words of each line; none at all where a line has more or fewer.

    Lines are split together, which takes a third of the time, where each has its three words, two
    blanks or tabs and no other whitespace; that is checked first.
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


def _refuse(path: str | Path, first: int, lines: Sequence[bytes], logs: bool | None) -> NoReturn:
    """Name the first line that is not of the table's form."""
    wanted = {
        None: "'target source probability'",
        False: "'target source probability', a number from 0 to 1",
        True: "'source target logarithm', a number of at most 0 as before",
    }
    for number, line in enumerate(lines, start=first):
        row = line.split()
        if len(row) != 3 or not _is_value(row[2], logs):
            text = line.decode("utf-8", errors="replace")
            raise DataError(
                f"{path}:{number}: expected {wanted[logs]}, not {text!r}; mend or remove it"
            )
    raise AssertionError("every line is of the form")


def _is_value(text: bytes, logs: bool | None) -> bool:
    try:
        value = float(text)
    except ValueError:
        return False
    return logs is None or (value <= ABOUT_0 if logs else 0 <= value <= 1 + ABOUT_0)


def _check_words(
    path: str | Path, targets: Sequence[bytes], sources: Sequence[bytes], ids: dict[bytes, int]
) -> None:
    """See that target words are the model's, and that the sides are not exchanged.

    Words that both languages have are few; in a joint vocabulary of subwords most are shared,
    and then nothing can be told.
    """
    share, exchanged = (
        sum(map(ids.__contains__, words)) / len(words) for words in (targets, sources)
    )
    if exchanged > share + CLEARLY:
        raise DataError(
            f"{path}: the source words of this table are the model's target words; give the table"
            " of the other direction (Moses's lex.f2e, not lex.e2f)"
        )
    if share == 0:
        raise DataError(
            f"{path}: no target word of this table is in the model's vocabulary; give one made of"
            " text that was tokenised as the model's"
        )


def _joined(held: Sequence[Entries]) -> Entries:
    return Entries(*(np.concatenate(columns) for columns in zip(*held, strict=True)))
