"""Translation of lines with markup, and with parts that must come back as they are.

    from nmtkit import MarkupTranslator, Translator
    translator = MarkupTranslator(Translator.load("model"), markup="html")
    for translations in translator.translate(["Press <b>Save</b> &amp; close %s."]):
        print(translations[0].text)

The model reads text alone. Elements are taken out before, and put back by the weights with which
source words have become the words of the translation. Any model does this, without having seen
markup in its training.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from nmtkit.config import SearchSettings
from nmtkit.errors import DataError
from nmtkit.inference.stream_batching import windows
from nmtkit.inference.translation import Translation
from nmtkit.inference.translator import Translator
from nmtkit.io.lines import read_lines
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.text.atom_placement import place_atoms
from nmtkit.text.markers import HYPHEN
from nmtkit.text.markup import Atom, MarkedText, Markup, parse_markup
from nmtkit.text.markup_placement import Aligned, place_elements, write_markup
from nmtkit.text.protected import PLACEHOLDER_PATTERN
from nmtkit.text.word_offsets import word_offsets

PLACEHOLDERS_SOURCE = "placeholders"
"""Name of the patterns that are always there."""

RAW_SIGNS = re.compile("[<>&]")
"""Characters of the text that are not written as entities, though they could be markup."""


class MarkupTranslator:
    """Translates lines, and puts their markup and their protected parts back.

    :param translator: of models of which one has attention.
    :param markup: what is markup, or None.
    :param protect: patterns of text that comes back as it is, as often as it is there.
    """

    def __init__(
        self,
        translator: Translator,
        markup: Markup | str | None = None,
        protect: Sequence[re.Pattern[str]] = (),
    ) -> None:
        self._translator = translator
        self._markup = None if markup is None else Markup(markup)
        self._protect = tuple(protect)

    def translate(
        self,
        lines: Iterable[str],
        n_best: int = 1,
        process_group: ProcessGroup = SINGLE_PROCESS,
        **search: Unpack[SearchSettings],
    ) -> Iterator[list[Translation]]:
        """Translate lines, in the order given; parameters and errors are those of `Translator`.

        :return: translations whose text has the markup; other fields are those of the text alone.
        """
        marked = _MarkedLines(self, lines)
        results = self._translator.translate(
            marked, n_best, alignments=True, process_group=process_group, **search
        )
        for translations in results:
            line = marked.waiting.popleft()
            yield [replace(one, text=self.restore(line, one)) for one in translations]

    def take_apart(self, line: str) -> MarkedText:
        """Return the text of a line, and what comes back into its translation."""
        marked = MarkedText(line, (), ())
        patterns = list(self._protect)
        if self._markup is not None:
            marked = parse_markup(line, self._markup)
            patterns.append(RAW_SIGNS)
        return replace(marked, atoms=_with_patterns(marked, patterns))

    def restore(self, marked: MarkedText, translation: Translation) -> str:
        """Return the text of a translation with all that was taken out of its source."""
        if not marked.elements and not marked.atoms and self._markup is None:
            return translation.text
        alignment = translation.word_alignment
        assert alignment is not None
        src = word_offsets(_plain(alignment.src_words), marked.text)
        tgt = word_offsets(_plain(alignment.tgt_words), translation.text)
        weights = alignment.matrix[: len(tgt), : len(src)].numpy().astype(np.float32)
        aligned = Aligned(translation.text, src, tgt, weights)
        signs = self._markup is not None
        aligned = place_atoms(marked.atoms, marked.text, aligned, signs)
        return write_markup(marked, place_elements(marked.elements, aligned), aligned)


class _MarkedLines:
    """Lines taken apart when they are read; those whose translations are not back yet wait."""

    def __init__(self, owner: MarkupTranslator, lines: Iterable[str]) -> None:
        self._owner, self._lines = owner, lines
        self.waiting: deque[MarkedText] = deque()

    def windows(self, size: int) -> Iterator[list[str]]:
        """Yield the texts of at most `size` lines at a time."""
        for window in windows(self._lines, size):
            marked = [self._owner.take_apart(line) for line in window]
            self.waiting.extend(marked)
            yield [one.text for one in marked]

    def __iter__(self) -> Iterator[str]:
        """Yield the texts one by one."""
        for window in self.windows(1):
            yield from window


def read_patterns(sources: Iterable[str], placeholders: bool = False) -> list[re.Pattern[str]]:
    """Return the patterns of protected text.

    :param sources: "placeholders", or files with a regular expression on each line; empty lines
        and those that begin with # are none.
    :param placeholders: have the placeholders in any case.
    :raises DataError: a file cannot be read, or a line is not a regular expression.
    """
    patterns: list[re.Pattern[str]] = []
    for source in dict.fromkeys(sources):
        if source == PLACEHOLDERS_SOURCE:
            placeholders = True
            continue
        for number, line in enumerate(read_lines(source), start=1):
            if line.strip() and not line.startswith("#"):
                try:
                    patterns.append(re.compile(line))
                except re.error as error:
                    raise DataError(
                        f"{source}:{number}: not a regular expression: {error}"
                    ) from error
    return [*patterns, PLACEHOLDER_PATTERN] if placeholders else patterns


def _with_patterns(marked: MarkedText, patterns: Sequence[re.Pattern[str]]) -> tuple[Atom, ...]:
    """Return the atoms of a line, with what patterns match outside of them."""
    atoms = list(marked.atoms)
    taken = np.zeros(len(marked.text), bool)
    for atom in atoms:
        taken[atom.start : atom.end] = True
    for pattern in patterns:
        for found in pattern.finditer(marked.text):
            if found[0].strip() and not taken[slice(*found.span())].any():
                taken[slice(*found.span())] = True
                atoms.append(Atom(*found.span(), found[0]))
    return tuple(sorted(atoms, key=lambda atom: (atom.start, atom.end)))


def _plain(words: Sequence[str]) -> list[str]:
    """Return words as they stand in text: with a hyphen in place of Moses's token for it."""
    return ["-" if word == HYPHEN else word for word in words]
