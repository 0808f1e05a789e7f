"""Vocabularies, their files, and the shortlist of the most frequent words.

Two words are special: `</s>` ends every sentence, and `<unk>` stands for every word that is not in
the vocabulary. They have the ids 0 and 1 in every vocabulary. A word of the text that is spelt like
one of them is treated as unknown: it neither ends a sentence nor gets that id.

File: one `word<TAB>count` per line, the two special words first, then by falling frequency. The
counts of the special words are the sentences and the unknown tokens. A file without tabs is a plain
list of words with count 0. Missing special words are added in front.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TextIO

from nmtkit.errors import DataError
from nmtkit.io.inputs import Source, VerbatimFile
from nmtkit.io.lines import BLOCK_LINES, open_output, read_lines, read_text_blocks
from nmtkit.io.safe_json import parse_natural
from nmtkit.special_symbols import EOS, EOS_WORD, SPECIAL_WORDS, UNK, UNK_WORD


class Vocabulary:
    """Words and their ids; an id is the position of its word in the file, from 0.

    :param words: `</s>` first, `<unk>` second, no word twice.
    :param counts: how often each word occurred, in the same order; 0 when None.
    :raises DataError: the special words are not first, or a word occurs twice.
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
            duplicate = next(word for word, count in Counter(self.words).items() if count > 1)
            raise DataError(f"the word '{duplicate}' is in the vocabulary twice; remove one")

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Return whether a word of the text is in the vocabulary and not a special word."""
        return word in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Return the ids of a sentence's tokens, 1 for unknown ones, without `</s>`."""
        return list(map(self._ids.get, tokens, repeat(UNK)))

    def ids_of_lines(self, text: str) -> Iterator[int]:
        """Return the ids of all lines of a tokenised text, with `</s>` after each line.

        :param text: tokens separated by blanks; every line ends with a newline.
        """
        tokens = text.replace("\n", " \n ").split(" ")
        return map(self._ids_and_end.get, filter(None, tokens), repeat(UNK))

    @cached_property
    def _ids_and_end(self) -> dict[str, int]:
        return {**self._ids, "\n": EOS}

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the words with these ids; 0 and 1 give `</s>` and `<unk>`."""
        return [self.words[number] for number in ids]

    @classmethod
    def load(cls, path: str | Path, verbatim: bool = True) -> "Vocabulary":
        """Load a vocabulary file or a plain list of words.

        :param verbatim: the file is one of nmtkit's folders. Else it may be compressed, and a byte
            order mark and carriage returns before the ends of lines are taken off.
        :raises DataError: the file cannot be read, or has a blank line, a line without tab among
            lines with one, a carriage return after a word, an invalid count, or a word twice; the
            message names the line.
        """
        lines = list(read_lines(VerbatimFile(path) if verbatim else path))
        counted = any("\t" in line for line in lines)
        entries: dict[str, int] = {}
        for number, line in enumerate(lines, start=1):
            word, count = _parse_entry(line, counted, f"{path}:{number}")
            if word in entries:
                raise DataError(f"{path}:{number}: '{word}' occurs twice; remove one")
            entries[word] = count
        special = [entries.pop(word, 0) for word in SPECIAL_WORDS]
        return cls([*SPECIAL_WORDS, *entries], [*special, *entries.values()])

    def save(self, path: str | Path) -> None:
        """Write the vocabulary file atomically.

        :raises OutputError: the file exists, or cannot be written.
        """
        with open_output(path) as output:
            self.write(output)

    def write(self, output: TextIO) -> None:
        """Write the lines of a vocabulary file."""
        for word, count in zip(self.words, self.counts, strict=True):
            output.write(f"{word}\t{count}\n")


def _parse_entry(line: str, counted: bool, where: str) -> tuple[str, int]:
    """Return the word and the count of one line, separated by its last tab."""
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
    if (number := parse_natural(count)) is None:
        raise DataError(f"{where}: '{count}' is not a count; write word, tab, count")
    return word, number


@dataclass(frozen=True)
class Shortlist:
    """The most frequent words of a corpus, and their coverage of the corpus.

    sentences, tokens, types: size of the corpus, `</s>` not counted.
    covered_tokens, covered_types: number of tokens and types that are in the shortlist.
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
        """Share of the distinct words that are in the shortlist, from 0 to 1."""
        return self.covered_types / self.types if self.types else 1.0


def shortlist(
    counts: Mapping[str, int], size: int, sentences: int = 0, required: Sequence[str] = ()
) -> Shortlist:
    """Select the most frequent words, with ties in the order of code points.

    :param counts: how often each word occurs in the corpus.
    :param size: number of words, `</s>` and `<unk>` included.
    :param sentences: sentences of the corpus, the count of `</s>`.
    :param required: words that are selected whatever their counts.
    :raises DataError: the size leaves no room for a word.
    """
    if required and size <= len(SPECIAL_WORDS) + len(required):
        raise DataError(
            f"a shortlist of {size} has no room for words besides {EOS_WORD}, {UNK_WORD} and"
            f" {len(required)} that are required; ask for at least {len(required) + 3}"
        )
    if size <= len(SPECIAL_WORDS):
        raise DataError(
            f"a shortlist of {size} has no room for words besides {EOS_WORD} and {UNK_WORD};"
            " ask for at least 3"
        )
    always = dict.fromkeys(required, 0)
    ranked = sorted(
        (item for item in counts.items() if item[0] not in SPECIAL_WORDS and item[0] not in always),
        key=lambda item: (-item[1], item[0]),
    )
    kept = ranked[: size - len(SPECIAL_WORDS) - len(always)]
    if always:
        kept += [(word, counts.get(word, 0)) for word in always]
        kept.sort(key=lambda item: (-item[1], item[0]))
    tokens = sum(counts.values())
    covered = sum(count for _, count in kept)
    words = [*SPECIAL_WORDS, *(word for word, _ in kept)]
    known = sum(word in counts for word, _ in kept)
    numbers = [sentences, tokens - covered, *(count for _, count in kept)]
    return Shortlist(Vocabulary(words, numbers), sentences, tokens, covered, len(counts), known)


def count_words(texts: Iterable[str]) -> tuple[Counter[str], int]:
    """Count the words of a tokenised corpus; memory grows only with the distinct words.

    :param texts: parts of the corpus: whole lines, each with its newline.
    :return: how often each word occurs, and the number of lines.
    """
    counts: Counter[str] = Counter()
    sentences = 0
    for text in texts:
        counts.update(text.split())
        sentences += text.count("\n")
    return counts, sentences


def count_block(lines: bytes) -> Counter[str]:
    """Count the words of some lines of a tokenised corpus, in a worker process."""
    return Counter(lines.decode("utf-8").split())


def shortlist_of(corpus: Source, size: int, required: Sequence[str] = ()) -> Shortlist:
    """Return the shortlist of a tokenised corpus.

    :param corpus: a file, plain or compressed, or `-`.
    :param required: words that are selected whatever their counts.
    :raises DataError: the corpus cannot be read, or the size leaves no room for a word.
    """
    counts, sentences = count_words(read_text_blocks(corpus, BLOCK_LINES))
    return shortlist(counts, size, sentences, required)
