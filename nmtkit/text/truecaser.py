"""Truecasing as in Moses: words at the beginning of a sentence get their most frequent case.

The model is learned from tokenised text, from words that do not begin a sentence. Its file is that
of `train-truecaser.perl`, sorted by word: `best (count/total) other (count) ...` on each line.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Self

from nmtkit.errors import DataError
from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import open_output, read_lines
from nmtkit.text.case_markers import capitalize, lower
from nmtkit.text.characters import is_cased
from nmtkit.text.languages import base_language
from nmtkit.text.markers import BLANK, JOINED, NO_BREAK, SYMBOLS
from nmtkit.text.memo import Memo

TRUECASE = "truecase"
"""Name of a model's file, without the side."""

MAX_ENTRIES = 1_000_000
"""Maximum number of words of a model that is learned; the most frequent are kept."""

_SENTENCE_END = frozenset(".:?!")
_BEFORE_SENTENCE = frozenset(
    ("(", "[", '"', "'", "&apos;", "&quot;", "&#91;", "&#93;", JOINED, BLANK, NO_BREAK)
    + ("„", "“", "«", "»", "‚", "‘", "¿", "¡", *sorted(SYMBOLS))
)
"""Tokens that may stand before the first word of a sentence."""

_FIRST_WORD = re.compile(
    rf"(?:^|(?<= [{''.join(_SENTENCE_END)}] ))"
    rf"(?:(?:{'|'.join(map(re.escape, sorted(_BEFORE_SENTENCE)))}|<[^ \n]+>) |(?!))*+([^ \n]+)",
    re.MULTILINE,
)
_ENTRY = re.compile(r"(\S+) \((\d+)(?:/(\d+))?\)(?: |$)")


class Truecaser:
    """The most frequent case of each word, and the other cases that occurred.

    :param language: language tag, such as `de` or `pt-BR`, for its small letters.
    :param variants: for each word in small letters, its forms, the most frequent first, with their
        counts.
    """

    def __init__(self, language: str, variants: dict[str, list[tuple[str, int]]]) -> None:
        self._language = language = base_language(language)
        self._variants = variants
        self._best = {small: forms[0][0] for small, forms in variants.items()}
        self._known = {form for forms in variants.values() for form, _ in forms}
        self._inner = Memo(self._inner_word)

    @classmethod
    def learn(cls, language: str, counts: Counter[str]) -> Self:
        """Learn a model from the counts of words that do not begin a sentence (`count_inner`)."""
        language = base_language(language)
        variants: dict[str, list[tuple[str, int]]] = {}
        for form in sorted(counts):
            if counts[form] > 0 and any(map(is_cased, form)):
                variants.setdefault(lower(form, language), []).append((form, counts[form]))
        for forms in variants.values():
            forms.sort(key=lambda item: (-item[1], item[0]))
        if len(variants) > MAX_ENTRIES:
            frequent = sorted(variants, key=lambda small: (-_total(variants[small]), small))
            variants = {small: variants[small] for small in sorted(frequent[:MAX_ENTRIES])}
        return cls(language, variants)

    @classmethod
    def load(cls, path: str | Path, language: str) -> Self:
        """Load a model's file.

        :raises DataError: the file cannot be read, or a line is malformed.
        """
        language = base_language(language)
        variants: dict[str, list[tuple[str, int]]] = {}
        for number, line in enumerate(read_lines(VerbatimFile(path)), start=1):
            entries = list(_ENTRY.finditer(line))
            if not entries or sum(len(entry[0]) for entry in entries) != len(line):
                raise DataError(
                    f"{path}:{number}: not 'word (count/total) other (count) ...'; prepare again,"
                    " or restore the file from a copy"
                )
            forms = [(entry[1], int(entry[2])) for entry in entries]
            variants[lower(forms[0][0], language)] = forms
        return cls(language, variants)

    def save(self, path: str | Path) -> None:
        """Write the model's file atomically."""
        with open_output(path) as output:
            for forms in self._variants.values():
                (best, count), *others = forms
                output.write(f"{best} ({count}/{_total(forms)})")
                output.writelines(f" {form} ({number})" for form, number in others)
                output.write("\n")

    def apply(self, text: str) -> str:
        """Return tokens separated by blanks in their true case."""
        tokens = text.split(" ")
        words = list(map(self._inner.__getitem__, tokens))
        for index in first_words(tokens):
            words[index] = self._best.get(lower(tokens[index], self._language), tokens[index])
        return " ".join(words)

    def undo(self, tokens: Sequence[str]) -> list[str]:
        """Return tokens with a capital at the beginning of each sentence."""
        words = list(tokens)
        for index in first_words(tokens, colons=False):
            if words[index][0].isalpha():
                words[index] = capitalize(words[index], self._language)
        return words

    def open_forms(self, words: Sequence[str]) -> list[list[str]]:
        """Return ways to write the last of some words, if it may go on; see `CaseMarkers`.

        A word that begins a sentence may begin with a small letter elsewhere.
        """
        word = words[-1]
        forms = [self.apply(" ".join(words)).split(" ")[-1], word]
        if len(words) - 1 in first_words(words):
            forms.append(lower(word[:1], self._language) + word[1:])
        return [[form] for form in dict.fromkeys(forms)]

    def _inner_word(self, word: str) -> str:
        return word if word in self._known else self._best.get(lower(word, self._language), word)


def load_truecaser(folder: str | Path, side: str, language: str) -> Truecaser:
    """Load the truecaser of one side of a prepared folder or a model folder."""
    return Truecaser.load(Path(folder) / f"{TRUECASE}.{side}", language)


def count_inner(text: str) -> Counter[str]:
    """Count the words that do not begin a sentence, in lines of tokens separated by blanks."""
    counts = Counter(text.split())
    counts.subtract(_FIRST_WORD.findall(text))
    return counts


def count_inner_block(lines: bytes) -> Counter[str]:
    """Count the words that do not begin a sentence, in a worker process."""
    return count_inner(lines.decode("utf-8"))


def truecase_block(block: tuple[bytes, str, str]) -> bytes:
    """Truecase lines in a worker process.

    :param block: the lines, the model's file, its language.
    """
    lines, path, language = block
    truecaser = _loaded(path, language)
    return "\n".join(map(truecaser.apply, lines.decode("utf-8").split("\n"))).encode("utf-8")


@lru_cache(maxsize=2)
def _loaded(path: str, language: str) -> Truecaser:  # cached, so that a worker reads it once
    return Truecaser.load(path, language)


def first_words(tokens: Sequence[str], colons: bool = True) -> Iterable[int]:
    """Yield the indices of words that begin a sentence."""
    begins = True
    for index, token in enumerate(tokens):
        if begins and token not in _BEFORE_SENTENCE and token and not _is_tag(token):
            yield index
            begins = False
        if token in _SENTENCE_END:
            begins = colons or token != ":"


def _is_tag(token: str) -> bool:
    return token[0] == "<" and token[-1] == ">" and len(token) > 2


def _total(forms: Iterable[tuple[str, int]]) -> int:
    return sum(count for _, count in forms)
