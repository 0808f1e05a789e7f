"""Words and their numbers: the vocabulary, its file, and the shortlist it is cut to.

Two words are special: `</s>` ends every sentence, `<unk>` stands for every word outside. They
have the ids 0 and 1 in every vocabulary. A word of the text that happens to be spelt like one of
them is a word outside: it can neither end a sentence nor claim the place.

File: `word<TAB>count` a line, most frequent first after the two special words, whose counts are
the sentences and the tokens outside. A file without tabs is a plain list of words, each with
count 0. Where the special words are missing, they are put in front.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TextIO

from nmtkit.errors import DataError
from nmtkit.io.lines import open_output, read_lines, read_texts
from nmtkit.io.safe_json import whole_number
from nmtkit.special_symbols import EOS, EOS_WORD, SPECIAL_WORDS, UNK, UNK_WORD

LINES = 2000  # counted at a time


class Vocabulary:
    """Words and their ids; an id is the place of its word in the file, from 0.

    :param words: `</s>` first, `<unk>` second, no word twice.
    :param counts: how often each was seen, in the same order; 0 where not given.
    :raises DataError: the words are not of that form.
    """

    def __init__(self, words: Iterable[str], counts: Iterable[int] | None = None) -> None:
        self.words = tuple(words)
        self.counts = (0,) * len(self.words) if counts is None else tuple(counts)
        if self.words[:2] != SPECIAL_WORDS:
            raise DataError(f"a vocabulary begins with {EOS_WORD} and {UNK_WORD}; put them first")
        if len(self.counts) != len(self.words):
            raise DataError(
                f"{len(self.words)} words have {len(self.counts)} counts; give one each"
            )
        self._ids = {word: number for number, word in enumerate(self.words) if number > UNK}
        if len(set(self.words)) != len(self.words):
            double = next(word for word, count in Counter(self.words).items() if count > 1)
            raise DataError(f"the word '{double}' is in the vocabulary twice; remove one")

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Whether a word of the text has an id of its own."""
        return word in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """The ids of a sentence's tokens, 1 where unknown; no `</s>` is added."""
        return list(map(self._ids.get, tokens, repeat(UNK)))

    def ids_of_lines(self, text: str) -> Iterator[int]:
        """The ids of all lines of a tokenised text in a row, `</s>` after each.

        :param text: tokens with blanks between them; every line ends with a newline.
        """
        tokens = text.replace("\n", " \n ").split(" ")
        return map(self._ids_and_end.get, filter(None, tokens), repeat(UNK))

    @cached_property
    def _ids_and_end(self) -> dict[str, int]:
        return {**self._ids, "\n": EOS}

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The words with these ids; 0 and 1 give `</s>` and `<unk>`."""
        return [self.words[number] for number in ids]

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        """Read a vocabulary file or a plain list of words.

        :raises DataError: the file cannot be read, or has a blank line, a line without tab among
            lines with one, a carriage return behind a word, a count that is none, or a word twice;
            the line is named.
        """
        lines = list(read_lines(path))
        counted = any("\t" in line for line in lines)
        entries: dict[str, int] = {}
        for number, line in enumerate(lines, start=1):
            word, count = _entry(line, counted, f"{path}:{number}")
            if word in entries:
                raise DataError(f"{path}:{number}: '{word}' is there twice; remove one")
            entries[word] = count
        special = [entries.pop(word, 0) for word in SPECIAL_WORDS]
        return cls([*SPECIAL_WORDS, *entries], [*special, *entries.values()])

    def save(
        self, path: str | Path, counts: Mapping[str, int] | None = None, force: bool = False
    ) -> None:
        """Write the vocabulary file, whole or not at all.

        :param counts: of each word, 0 where missing; its own counts when None.
        :raises OutputError: the file exists and `force` is not given, or cannot be written.
        """
        numbers = None if counts is None else [counts.get(word, 0) for word in self.words]
        with open_output(path, force=force) as output:
            (self if numbers is None else Vocabulary(self.words, numbers)).write(output)

    def write(self, output: TextIO) -> None:
        """Write the file's lines."""
        for word, count in zip(self.words, self.counts, strict=True):
            output.write(f"{word}\t{count}\n")


def _entry(line: str, counted: bool, where: str) -> tuple[str, int]:
    """The word and the count of one line; the last tab counts."""
    if not counted:
        word, count = line, "0"
    else:
        word, tab, count = line.rpartition("\t")
        if line and not tab:
            raise DataError(f"{where}: there is no tab; write word, tab, count")
    if not word:
        raise DataError(f"{where}: there is no word; remove the line")
    if word.endswith("\r"):
        raise DataError(
            f"{where}: {word!r} ends with a carriage return, as no word of a text does; end lines"
            " with \\n alone"
        )
    if (number := whole_number(count)) is None:
        raise DataError(f"{where}: '{count}' is not a count; write word, tab, count")
    return word, number


@dataclass(frozen=True)
class Shortlist:
    """The most frequent words of a corpus, and how much of it they cover.

    tokens, types: of the corpus, `</s>` not counted; `covered_tokens`, `covered_types`: those
    that are in the shortlist.
    """

    vocabulary: Vocabulary
    sentences: int
    tokens: int
    covered_tokens: int
    types: int
    covered_types: int

    @property
    def token_coverage(self) -> float:
        """Share of the tokens that are in the shortlist, from 0 to 1."""
        return self.covered_tokens / self.tokens if self.tokens else 1.0

    @property
    def type_coverage(self) -> float:
        """Share of the different words that are in the shortlist, from 0 to 1."""
        return self.covered_types / self.types if self.types else 1.0


def shortlist(counts: Mapping[str, int], size: int, sentences: int = 0) -> Shortlist:
    """Keep the most frequent words; of equally frequent ones those whose code points come first.

    :param counts: how often each word was seen.
    :param size: words kept, `</s>` and `<unk>` counted.
    :param sentences: in the corpus: the count written for `</s>`.
    :raises DataError: the size leaves no room for a word.
    """
    if size <= len(SPECIAL_WORDS):
        raise DataError(
            f"a shortlist of {size} has no room for words beside {EOS_WORD} and {UNK_WORD};"
            " ask for at least 3"
        )
    ranked = sorted(
        (item for item in counts.items() if item[0] not in SPECIAL_WORDS),
        key=lambda item: (-item[1], item[0]),
    )
    kept = ranked[: size - len(SPECIAL_WORDS)]
    tokens = sum(counts.values())
    covered = sum(count for _, count in kept)
    words = [*SPECIAL_WORDS, *(word for word, _ in kept)]
    numbers = [sentences, tokens - covered, *(count for _, count in kept)]
    return Shortlist(Vocabulary(words, numbers), sentences, tokens, covered, len(counts), len(kept))


def count_words(texts: Iterable[str]) -> tuple[Counter[str], int]:
    """Count the words of a tokenised corpus; memory grows with the different words alone.

    :param texts: parts of it, whole lines with newlines at their ends.
    :return: how often each word was seen, and the number of lines.
    """
    counts: Counter[str] = Counter()
    sentences = 0
    for text in texts:
        counts.update(text.split())
        sentences += text.count("\n")
    return counts, sentences


def count_block(lines: bytes) -> Counter[str]:
    """Count the words of some lines of a tokenised corpus; runs in a worker."""
    return Counter(lines.decode("utf-8").split())


def shortlist_of(corpus: str | Path, size: int) -> Shortlist:
    """The shortlist of a tokenised corpus.

    :param corpus: a file, plain or gzip, or `-`.
    :raises DataError: the corpus cannot be read, or the size leaves no room for a word.
    """
    counts, sentences = count_words(read_texts(corpus, LINES))
    return shortlist(counts, size, sentences)
