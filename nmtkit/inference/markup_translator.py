"""Translation of lines with markup, and with parts that must come back as they are.

    from nmtkit import MarkupTranslator, Translator
    translator = MarkupTranslator(Translator.load("model"), markup="html")
    for translations in translator.translate(["Press <b>Save</b> &amp; close %s."]):
        print(translations[0].text)

Elements are taken out before, and put back by the weights with which source words have become the
words of the translation. Any model does this, without having seen markup in its training. A model
that has (`nmtkit prepare --markup`) reads symbols in place of elements, and writes them where the
elements go; the weights place those that it loses or crosses.
"""

import os
import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from nmtkit.config import SearchSettings
from nmtkit.errors import ConfigError, DataError
from nmtkit.inference.stream_batching import windows
from nmtkit.inference.translated_links import diagonal, with_translations
from nmtkit.inference.translation import Source, Translation, aligned_words
from nmtkit.inference.translator import Translator
from nmtkit.inference.word_alignment import Alignment
from nmtkit.io.fast_record import LEXICON_FILE, read_fast_record
from nmtkit.io.lines import read_lines
from nmtkit.io.text_content import STANDARD
from nmtkit.model_folder import LoadedModel
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.text.atom_placement import place_atoms
from nmtkit.text.markers import SYMBOLS
from nmtkit.text.markup import Atom, MarkedText, MarkupElement, parse_markup
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.markup_placement import (
    Aligned,
    Place,
    around_nearest_words,
    has_lost_words,
    place_elements,
    write_markup,
)
from nmtkit.text.markup_symbols import has_symbols, with_symbols
from nmtkit.text.placeholders import PLACEHOLDER_PATTERN, SIGN_PATTERN
from nmtkit.text.scripts import unwrapped
from nmtkit.text.symbol_placement import without_symbols, written_places
from nmtkit.text.translation_table import TranslationTable
from nmtkit.value_types import check_arguments

PLACEHOLDERS_SOURCE = "placeholders"
"""Name of the patterns that are always there."""

_BLANKS = re.compile(r"[ \t\r\n\f]+")
_COMMENT = re.compile(r"#(?:\s|\Z)")

_FREE, _ENTITY, _WHOLE = range(3)
"""Characters of a line in no atom, in an entity, and in an atom of another kind."""

RAW_SIGNS = re.compile("[<>&]")
"""Characters of the text that are not written as entities, though they could be markup."""

WIDE_SIGNS = re.compile("[＜＞＆﹤﹥﹠]")
"""Characters that the rules of the form NFKC write as those."""


class MarkupTranslator:
    """Translates lines, and puts their markup and their protected parts back.

    :param translator: if no model has attention, words are taken to be in the same order.
    :param markup: what is markup, or None.
    :param protect: patterns of text that comes back as it is, as often as it is there; by default
        placeholders.
    :param table: word translations, which make the alignment better; by default the table that
        `nmtkit optimize` has left in the first model's folder.
    :raises ConfigError: there is no such markup.
    """

    def __init__(
        self,
        translator: Translator,
        markup: Markup | str | None = None,
        protect: Sequence[re.Pattern[str]] = (PLACEHOLDER_PATTERN,),
        table: TranslationTable | None = None,
    ) -> None:
        self._translator = translator
        self._table = own_table(translator.ensemble.first) if table is None else table
        self._markup = None if markup is None else _markup_named(markup)
        signs = [] if self._markup is None else [RAW_SIGNS]
        model = translator.ensemble.first
        writes_plain = "&" in (model.src_text.as_read("＆"), model.tgt_text.as_read("＆"))
        wide = [WIDE_SIGNS] if signs and writes_plain else []
        self._patterns = [*protect, *signs, *wide]
        self._symbols = _known_symbols(translator.ensemble.members)
        self._unwanted = [*([SIGN_PATTERN] if PLACEHOLDER_PATTERN in protect else []), *signs]

    @check_arguments
    def translate(
        self,
        lines: Iterable[str],
        n_best: int = 1,
        process_group: ProcessGroup = SINGLE_PROCESS,
        alignments: bool = False,
        **search: Unpack[SearchSettings],
    ) -> Iterator[list[Translation]]:
        """Translate lines, in the order given.

        :param lines: source text; a `LineStream` is translated as its lines arrive.
        :param n_best: translations of each line.
        :param process_group: shares the lines; see `Translator.translate`.
        :param alignments: the translations have to have alignments. If a model has attention, they
            have them anyway, as markup is placed by them.
        :param search: fields of `SearchConfig` that differ, such as beam=5.
        :return: translations whose text has the markup; other fields are those of the text alone.
            Errors are those of `Translator.translate`.
        """
        marked = _MarkedLines(self, lines)
        has_attention = self._translator.ensemble.has_attention
        results = self._translator.translate(
            marked,
            n_best,
            alignments=alignments or has_attention,
            process_group=process_group,
            **search,
        )
        for translations in results:
            line = marked.waiting.popleft()
            yield [replace(one, text=self.restore(line, one)) for one in translations]

    def split_tag(self, line: str) -> tuple[str, str]:
        """Return the models' tag before a line, which is no markup, and the rest.

        :param line: a source line.
        """
        return self._translator.ensemble.first.src_text.split_tag(line)

    def take_apart(self, line: str) -> MarkedText:
        """Return the text of a line, and what comes back into its translation.

        :param line: a line with markup, without a tag of the models.
        """
        marked = MarkedText(line, (), ())
        if self._markup is not None:
            marked = parse_markup(line, self._markup)
        return self.with_protected(marked)

    def with_protected(self, marked: MarkedText) -> MarkedText:
        """Return a line with what the patterns match among its atoms.

        :param marked: a line taken apart.
        """
        return replace(marked, atoms=_with_patterns(marked, self._patterns))

    def source_text(self, marked: MarkedText) -> str:
        """Return what the models read of a line: with symbols of its elements, if they know all.

        Blanks beside one another are one, as browsers show them. A line break within Chinese text
        separates no words there, and is left out.

        :param marked: the line, taken apart.
        """
        text = with_symbols(marked) if self._symbols and marked.text.strip() else None
        unknown = SYMBOLS - self._symbols
        text = marked.text if text is None or unknown.intersection(text) else text
        text = unwrapped(text)
        return text if self._markup is None else _BLANKS.sub(" ", text).strip(" ")

    def restore(self, marked: MarkedText, translation: Translation) -> str:
        """Return the text of a translation with all that was taken out of its source.

        :param marked: the source line, taken apart.
        :param translation: of its text, with an alignment if a model has attention.
        """
        if not self._patterns:
            return translation.text
        places, aligned = self._places(marked, translation)
        return write_markup(marked, places, aligned)

    def place(
        self, marked: MarkedText, translation: Translation, left_out: re.Pattern[str] | None = None
    ) -> tuple[str, list[MarkupElement]]:
        """Return the text as `restore`, and the elements that have lost all their words.

        These stand around the nearest word, if it is free.

        :param marked: the source line, taken apart.
        :param translation: of its text, with an alignment if a model has attention.
        :param left_out: what begins elements that are left out where no word is free.
        """
        places, aligned = self._places(marked, translation)
        pairs = zip(marked.elements, places, strict=True)
        lost = [element for element, place in pairs if has_lost_words(element, place, aligned)]
        places = around_nearest_words(marked.elements, places, aligned)
        if left_out is not None:
            pairs = zip(marked.elements, places, strict=True)
            elements = tuple(
                replace(element, opening="", closing="")
                if left_out.fullmatch(element.opening) and has_lost_words(element, place, aligned)
                else element
                for element, place in pairs
            )
            marked = replace(marked, elements=elements)
        return write_markup(marked, places, aligned), lost

    def _places(self, marked: MarkedText, translation: Translation) -> tuple[list[Place], Aligned]:
        """Return the places of the elements in a translation, and that with its protected parts."""
        aligned = self._align(marked, translation)
        if not self._reads_symbols(marked):
            return place_elements(marked.elements, aligned), aligned
        aligned, positions = without_symbols(aligned)
        known = written_places(marked.elements, positions)
        return place_elements(marked.elements, aligned, known), aligned

    def _reads_symbols(self, marked: MarkedText) -> bool:
        """Return whether symbols stand for markup: the text has none of its own."""
        return bool(self._symbols) and not has_symbols(marked.text)

    def _align(self, marked: MarkedText, translation: Translation) -> Aligned:
        """Return a translation with its protected parts, and where its words came from."""
        alignment = self._aligned_words(translation)
        model, words = self._translator.ensemble.first, alignment.src_words
        symbols = SYMBOLS if self._reads_symbols(marked) else frozenset[str]()
        columns = [number for number, word in enumerate(words) if word not in symbols]
        src = model.src_text.offsets([words[number] for number in columns], marked.text)
        tgt = model.tgt_text.offsets(alignment.tgt_words, translation.text)
        weights = alignment.matrix[: len(tgt), columns].numpy().astype(np.float32)
        aligned = Aligned(translation.text, src, tgt, weights)
        kept = [atom for atom in marked.atoms if not atom.is_text]
        return place_atoms(kept, marked.text, aligned, self._unwanted, model.tgt_text.as_read)

    def _aligned_words(self, translation: Translation) -> Alignment:
        """Return the alignment of the words, better than attention's if there is a table."""
        table = self._table if translation.src_tokens else None
        if table is None and translation.word_alignment is not None:
            return translation.word_alignment
        model = self._translator.ensemble.first
        source, tokens = Source(translation.src_tokens, translation.names), translation.tokens
        matrix = translation.alignment
        if matrix is None:
            matrix = diagonal(len(tokens), len(source.tokens), translation.finished)
        if table is not None:
            matrix = with_translations(matrix, source.tokens, tokens, model, table)
        return aligned_words(model, source, tokens, matrix)


class _MarkedLines:
    """Lines taken apart when they are read; those whose translations are not back yet wait."""

    def __init__(self, owner: MarkupTranslator, lines: Iterable[str]) -> None:
        self._owner, self._lines = owner, lines
        self.waiting: deque[MarkedText] = deque()

    def windows(self, size: int) -> Iterator[list[str]]:
        """Yield what the models read of at most `size` lines at a time."""
        for window in windows(self._lines, size):
            pairs = [self._owner.split_tag(line) for line in window]
            marked = [self._owner.take_apart(text) for _, text in pairs]
            self.waiting.extend(marked)
            yield [
                f"{tag}{self._owner.source_text(text)}"
                for (tag, _), text in zip(pairs, marked, strict=True)
            ]

    def __iter__(self) -> Iterator[str]:
        """Yield what they read of the lines one by one."""
        for window in self.windows(1):
            yield from window


def _known_symbols(members: Sequence[LoadedModel]) -> frozenset[str]:
    """Return the symbols of markup that all models were trained with, in source and target."""
    if any(model.config.text.markup == "none" for model in members):
        return frozenset()
    sides = [side for model in members for side in (model.src_vocab, model.tgt_vocab)]
    return frozenset(symbol for symbol in SYMBOLS if all(symbol in side for side in sides))


def own_table(model: LoadedModel) -> TranslationTable | None:
    """Return the table that `nmtkit optimize` has left in the folder of a model, or None.

    :param model: as it was loaded.
    :raises ModelError: it is damaged.
    """
    folder = None if model.path is None else model.path.parent
    record = None if folder is None else read_fast_record(folder)
    if folder is None or record is None or not record.lexicon:
        return None
    record.check_lexicon(folder)
    return TranslationTable.load(folder / LEXICON_FILE, model.src_vocab, model.tgt_vocab)


def _markup_named(name: str) -> Markup:
    if name not in [*Markup]:
        raise ConfigError(f"no markup is called '{name}'; there are {', '.join(Markup)}")
    return Markup(name)


def read_patterns(sources: Iterable[str], placeholders: bool = False) -> list[re.Pattern[str]]:
    """Return the patterns of protected text.

    :param sources: "placeholders", or files with a regular expression on each line. Empty lines
        are left out, and so are comments, which begin with # and a blank.
    :param placeholders: have the placeholders in any case.
    :raises DataError: a file cannot be read, or a line is not a regular expression.
    """
    patterns: list[re.Pattern[str]] = []
    for source in dict.fromkeys(sources):
        if source == PLACEHOLDERS_SOURCE:
            placeholders = True
            continue
        if not os.path.lexists(source) and source != STANDARD:
            raise DataError(
                f"{source}: no such file; give a file of regular expressions, or"
                f" '{PLACEHOLDERS_SOURCE}'"
            )
        for number, line in enumerate(read_lines(source), start=1):
            if line.strip() and not _COMMENT.match(line):
                try:
                    patterns.append(re.compile(line))
                except re.error as error:
                    raise DataError(
                        f"{source}:{number}: not a regular expression: {error}"
                    ) from error
    return [*patterns, PLACEHOLDER_PATTERN] if placeholders else patterns


def _with_patterns(marked: MarkedText, patterns: Sequence[re.Pattern[str]]) -> tuple[Atom, ...]:
    """Return the atoms of a line, with what patterns match outside of them.

    Entities may be parts of it, as in the address `https://x.org/?a=1&amp;b=2`.
    """
    taken = np.full(len(marked.text), _FREE)
    for atom in marked.atoms:
        taken[atom.start : atom.end] = _ENTITY if _is_entity(atom) else _WHOLE
    starts = [atom.start for atom in marked.atoms]
    tags = sorted(offset for e in marked.elements for offset in (e.start, e.end))
    added: list[Atom] = []
    for pattern in patterns:
        for found in pattern.finditer(marked.text):
            start, end = found.span()
            part = taken[start:end]
            if not found[0].strip() or part.all() or (part == _WHOLE).any():
                continue
            inner = marked.atoms[bisect_left(starts, start) : bisect_left(starts, end)]
            has_tags = bisect_right(tags, start) < bisect_left(tags, end)
            if part.any() and (has_tags or sum(a.end - a.start for a in inner) != part.sum()):
                continue  # it is not whole, or begins in the middle of an entity
            part[:] = _WHOLE
            added.append(Atom(start, end, _with_sources(marked.text, start, end, inner)))
    kept = [one for one in marked.atoms if not _is_entity(one) or taken[one.start] == _ENTITY]
    return tuple(sorted([*kept, *added], key=lambda atom: (atom.start, atom.end)))


def _is_entity(atom: Atom) -> bool:
    return atom.source.startswith("&")


def _with_sources(text: str, start: int, end: int, atoms: Sequence[Atom]) -> str:
    """Return a part of a text with what its atoms were."""
    parts, position = [], start
    for atom in atoms:
        parts += [text[position : atom.start], atom.source]
        position = atom.end
    return "".join([*parts, text[position:end]])
