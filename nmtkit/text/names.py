"""Names and numbers that a model copies: placeholders stand for them in its text.

A model cannot spell what it has not seen. So names and numbers that are rare in the training data,
and stand on both sides of a pair, become placeholders, which are words of the vocabulary, in the
order of the source. A model learns to put them into its translation, as it learns other words;
there, the names of the source take their place again (Luong et al. 2015, "Addressing the Rare Word
Problem", section 3.1, with names and numbers in place of all unknown words).

Whether a word is a name is learned from the training data: a word with a capital, a digit or an
inner `_` or `.`, that translations usually copy. A word that the training data lacks is judged by
the others of its shape: `newWidth` by words with inner capitals, `3,5` by numbers like it; and if
there are few of them, by all words. So names are not copied into another script, nor the nouns of
German into English.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Self

from nmtkit.errors import DataError
from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import open_output, read_lines
from nmtkit.text.memo import Memo
from nmtkit.text.truecaser import first_words

NAMES = "names"
"""Name of the file of a side, without the side."""

PLACEHOLDERS = ("❶", "❷", "❸", "❹", "❺", "❻")
"""Words that stand for the names of a sentence, in their order; further names stay as they are.

Each is one character, so that no subword model splits it."""

RARE = 20
"""A word in as many pairs of the training data, or more, is translated like any other."""

MIN_PAIRS = 10
"""Shapes in fewer pairs of the training data are not judged; words that no shape judges are copied.
"""

MAX_ENTRIES = 1_000_000
"""Maximum number of words that are kept of the training data, the most frequent ones."""

_WORD = re.compile(r"[^\W_][\w.&'’/-]*")
_MARKED = re.compile(r"[\d" + "".join(PLACEHOLDERS) + "]")
_JOINED = re.compile(r"\w[_.]\w")
_NUMBER, _LETTERS = re.compile(r"\d+"), re.compile(r"[^\W\d_]+")
_ENTRY = re.compile(r"(\S+)\t(\d{1,15})\t(\d{1,15})\t(\d{1,15})")


class Uses(NamedTuple):
    """Uses of a word in the training data.

    pairs: sentence pairs in whose source it stands.
    copied: those in whose target it stands, too.
    inner: those in whose source it stands other than at the beginning of a sentence.
    """

    pairs: int
    copied: int
    inner: int

    @property
    def is_translated(self) -> bool:
        """Return whether the target usually has another word."""
        return 2 * self.copied < self.pairs


class Names:
    """Finds the names and numbers of a line that a model should copy.

    :param uses: the words of the source of the training data that may be names. Files of nmtkit 0.2
        lack those in lower case, which are no names then: their models have learned words such as
        `p.m.` and `20th` like any other.
    """

    def __init__(self, uses: Mapping[str, Uses]) -> None:
        self.uses = dict(uses)
        self._has_lower = any(map(_is_lower, self.uses))
        pairs: Counter[str] = Counter()
        copied: Counter[str] = Counter()
        for word, use in self.uses.items():
            if use.pairs < RARE:
                for shape in _shapes(word):
                    pairs[shape] += use.inner
                    copied[shape] += min(use.copied, use.inner)
        self._is_shape_copied = {
            shape: 2 * copied[shape] >= count
            for shape, count in pairs.items()
            if count >= MIN_PAIRS
        }

    @classmethod
    def learn(cls, counts: "NameCounts") -> Self:
        """Learn from counts of the training data."""
        words = sorted(counts.pairs, key=lambda word: (-counts.pairs[word], word))[:MAX_ENTRIES]
        return cls({word: Uses(*(part[word] for part in counts)) for word in sorted(words)})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a file.

        :raises DataError: it cannot be read, or a line is malformed.
        """
        uses = {}
        for number, line in enumerate(read_lines(VerbatimFile(path)), start=1):
            match = _ENTRY.fullmatch(line)
            if not match:
                raise DataError(
                    f"{path}:{number}: not a word and three numbers, separated by tabs; prepare"
                    " again, or restore the file from a copy"
                )
            uses[match[1]] = Uses(*map(int, match.groups()[1:]))
        return cls(uses)

    def save(self, path: str | Path) -> None:
        """Write the file atomically: a word and its uses on each line."""
        with open_output(path) as output:
            output.writelines(f"{word}\t{a}\t{b}\t{c}\n" for word, (a, b, c) in self.uses.items())

    def find(self, words: Sequence[str]) -> list[str]:
        """Return the names of a line in the order of its placeholders, each once.

        Beside a name, the other words of its run of capitals and numbers are names, too, as in
        `Kids Food Basket`, unless words of their shape are usually translated, as nouns of German.

        :param words: the words of a tokenised line.
        """
        candidates = _candidates(words)
        if not self._has_lower:
            candidates = [index for index in candidates if not _is_lower(words[index])]
        if not candidates:
            return []
        first = frozenset(first_words(words))
        names: dict[str, None] = {}
        for run in _runs(candidates, first):
            found = {index for index in run if self._is_name(words[index], index in first)}
            if found:
                chosen = (i for i in run if i in found or self._is_usually_copied(words[i]))
                names |= dict.fromkeys(words[index] for index in chosen)
        return _at_most(len(PLACEHOLDERS), names)

    def _is_name(self, word: str, is_first: bool) -> bool:
        uses = self.uses.get(word)
        if uses is not None:
            return uses.pairs < RARE and not uses.is_translated
        if is_first and word[1:] == word[1:].lower() and not _MARKED.search(word):
            return False  # a word in its usual case would not have the capital
        return self._is_usually_copied(word)

    def _is_usually_copied(self, word: str) -> bool:
        """Return whether rare words of this shape are copied."""
        judged = (self._is_shape_copied.get(shape) for shape in _shapes(word))
        return next((is_copied for is_copied in judged if is_copied is not None), True)


def load_names(folder: str | Path, side: str) -> Names:
    """Load the names of one side of a prepared folder or a model folder."""
    return Names.load(Path(folder) / f"{NAMES}.{side}")


def same_names(first: Names | None, other: Names | None) -> bool:
    """Return whether two models copy the same names."""
    return (first and first.uses) == (other and other.uses)


def may_be_name(word: str) -> bool:
    """Return whether a word has a capital, a digit or an inner sign, and no signs but of names."""
    if not _WORD.fullmatch(word):
        return word in PLACEHOLDERS
    has_signs = _MARKED.search(word) or _JOINED.search(word)
    return word != word.lower() or has_signs is not None


_MAY_BE_NAME = Memo(may_be_name)


def _is_lower(word: str) -> bool:
    """Return whether a word is in lower case, neither a number nor a placeholder."""
    return word == word.lower() and (word.islower() or not _MARKED.search(word))


def mask(
    words: Sequence[str], names: Sequence[str], placeholders: Sequence[str] = PLACEHOLDERS
) -> list[str]:
    """Replace names by their placeholders."""
    replaced = dict(zip(names, placeholders, strict=False))
    return [replaced.get(word, word) for word in words]


def unmask(words: Iterable[str], names: Sequence[str]) -> list[str]:
    """Replace placeholders by their names; those without a name stay."""
    originals = dict(zip(PLACEHOLDERS, names, strict=False))
    return [originals.get(word, word) for word in words]


def names_in_both(src: Sequence[str], tgt: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return those names that stand in both sides of a training pair, equally often."""
    return [name for name in names if src.count(name) == tgt.count(name)]


class NameCounts(NamedTuple):
    """The numbers of `Uses` for each word."""

    pairs: Counter[str]
    copied: Counter[str]
    inner: Counter[str]

    @classmethod
    def empty(cls) -> "NameCounts":
        """Return counts of nothing."""
        return cls(Counter(), Counter(), Counter())

    def add_pair(self, src: Sequence[str], tgt: Sequence[str]) -> None:
        """Count the words of a source that may be names."""
        candidates = _candidates(src)
        if not candidates:
            return
        first = frozenset(first_words(src))
        inner = {src[index] for index in candidates if index not in first}
        words = {src[index] for index in candidates}
        copied = words.intersection(tgt)
        for word in words:
            self.pairs[word] += 1
            self.copied[word] += word in copied
            self.inner[word] += word in inner

    def add(self, other: "NameCounts") -> None:
        """Add other counts."""
        for counts, more in zip(self, other, strict=True):
            counts.update(more)


def _at_most(size: int, names: Iterable[str]) -> list[str]:
    """Return the first names; words of the text that look like placeholders cannot be left out."""
    names = list(names)
    room = size - sum(name in PLACEHOLDERS for name in names)
    others = [name for name in names if name not in PLACEHOLDERS][:room]
    return [name for name in names if name in PLACEHOLDERS or name in others]


def _candidates(words: Sequence[str]) -> list[int]:
    """Return the indices of words that may be names."""
    return [index for index, word in enumerate(words) if _MAY_BE_NAME[word]]


def _runs(candidates: Iterable[int], first: frozenset[int]) -> Iterator[list[int]]:
    """Yield the indices of words that may be names, those next to each other together.

    A word that begins a sentence is a run by itself.

    :param first: the indices of words that begin a sentence.
    """
    run: list[int] = []
    for index in candidates:
        if run and (index > run[-1] + 1 or index in first or run[-1] in first):
            yield run
            run = []
        run.append(index)
    if run:
        yield run


@lru_cache(maxsize=100_000)
def _shapes(word: str) -> tuple[str, ...]:
    """Return the shapes of a word, the most exact one first.

    `a` stands for letters, `Aa`, `A` and `aA` for those with capitals at the beginning, everywhere
    or inside, `#` for digits: `#,#` for `3,5`, `Aa-a` for `Anglo-saxon`. The last one knows of
    letters only that they are some, `*`.
    """
    exact = _LETTERS.sub(_case_of, _NUMBER.sub("#", word))
    if not _MARKED.search(word):
        return exact, "*"
    return exact, _LETTERS.sub("*", _NUMBER.sub("#", word))


def _case_of(letters: re.Match[str]) -> str:
    """Return where a run of letters has capitals."""
    run = letters[0]
    if run == run.lower():
        return "a"
    if run == run.upper():
        return "A"
    return "Aa" if run[1:] == run[1:].lower() else "aA"
