"""Files translated in place: their texts change, and every other byte stays.

    from nmtkit import Translator, translate_document
    translator = Translator.load("model")
    result = translate_document(open("page.html", "rb").read(), "html", translator)
    open("page.fr.html", "wb").write(result.data)

All sentences of a file are translated together, as fast as lines of text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from nmtkit.documents.accelerators import Accelerator, put_accelerator, remove_accelerator
from nmtkit.documents.document import DocumentOptions, Edit, Segment, Syntax
from nmtkit.documents.formats import FORMATS as FORMATS
from nmtkit.documents.formats import AnyDocument, parse_document
from nmtkit.documents.formats import format_of as format_of
from nmtkit.documents.inline import parse_segment
from nmtkit.documents.markdown_emphasis import with_visible_emphasis
from nmtkit.documents.markdown_inline import EMPHASIS
from nmtkit.errors import refuse_other
from nmtkit.inference.markup_translator import MarkupTranslator, own_table, read_patterns
from nmtkit.inference.translation import Translation
from nmtkit.inference.translator import Translator
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.text.languages import EAST_ASIAN, base_language
from nmtkit.text.marked_sentences import MarkedSentence, MarkedSentences, split_marked
from nmtkit.text.markup import MarkedText
from nmtkit.text.translation_table import TranslationTable
from nmtkit.value_types import check_arguments

_SPACES = re.compile(r"\s+")
"""Spaces that are one blank for models: line breaks with indentation, no-break spaces."""


@dataclass(frozen=True)
class TranslatedDocument:
    """A file that has been translated.

    data: its bytes. segments: number of its segments. warnings: of what was not translated, or
    could not be put in its place, each with the number of the line; in an office file or an e-book,
    that of the paragraph.
    """

    data: bytes
    segments: int
    warnings: Sequence[tuple[int, str]] = ()


@check_arguments
def translate_document(
    data: bytes,
    format: str,
    translator: Translator,
    *,
    name: str = "document",
    protect: Sequence[re.Pattern[str]] = (),
    columns: tuple[int, int] = (1, 1),
    reviewed: bool = False,
    retranslate: bool = False,
    table: TranslationTable | None = None,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> TranslatedDocument:
    """Translate the texts of a file, and keep everything else byte for byte.

    :param data: the bytes of the file.
    :param format: "html", "po", "xliff", "tmx", "tsv", "srt", "md", "docx", "odt", "pptx",
        "odp", "epub" or "xlsx".
    :param translator: of the models; without attention, words are taken to be in the order of the
        source.
    :param name: of the file, for messages.
    :param protect: patterns of text that comes back as it is, besides placeholders.
    :param columns: of TSV, the one to translate, and the one for the translation, from 1.
    :param reviewed: mark translations in PO and XLIFF as done, not as in need of a review.
    :param retranslate: translate again what PO and XLIFF files mark as in need of a review.
    :param table: word translations of `own_table`, for callers that translate many files; by
        default they are read from the model's folder each time.
    :param process_group: shares the sentences; on ranks other than 0 the result has no bytes.
    :raises ConfigError: there is no such format.
    :raises DataError: the file cannot be read, or its encoding lacks a character of a translation.
    :raises TypeError: `data` is no bytes.
    """
    refuse_other(data, bytes, "data")
    text = translator.ensemble.first.config.text
    options = DocumentOptions(text.src_language, text.tgt_language, columns, reviewed, retranslate)
    document = parse_document(data, format, name, options)
    patterns = [*protect, *read_patterns([], placeholders=True)]
    table = own_table(translator.ensemble.first) if table is None else table
    keepers = _Keepers(
        MarkupTranslator(translator, None, patterns, table),
        MarkupTranslator(translator, "html", patterns, table),
    )
    worker = _DocumentTranslator(document, translator, keepers, options)
    return worker.translate(process_group)


class _Keepers(NamedTuple):
    """What puts markup back: in text without entities, and in HTML and XML."""

    plain: MarkupTranslator
    marked: MarkupTranslator


@dataclass
class _Prepared:
    """A segment with its sentences.

    texts: of each sentence for a model, None if it has no words. accelerator: what was taken out.
    """

    segment: Segment
    sentences: MarkedSentences
    texts: "Sequence[str | None]" = ()
    accelerator: Accelerator | None = None
    inner: "list[_Prepared]" = field(default_factory=list)


class _DocumentTranslator:
    """Translates the segments of one file."""

    def __init__(
        self,
        document: AnyDocument,
        translator: Translator,
        keepers: _Keepers,
        options: DocumentOptions,
    ) -> None:
        self._document, self._translator, self._options = document, translator, options
        self._keepers = keepers
        self._warnings = list(document.warnings)
        self._spaced = base_language(options.tgt_language) not in EAST_ASIAN

    def translate(self, process_group: ProcessGroup) -> TranslatedDocument:
        """Return the translated file."""
        prepared = [self._prepare(segment) for segment in self._document.segments]
        texts = [text for one in _flat(prepared) for text in one.texts if text is not None]
        is_marked = any(
            sentence.marked.atoms or sentence.marked.elements
            for one in _flat(prepared)
            for sentence, text in zip(one.sentences.sentences, one.texts, strict=True)
            if text is not None
        )
        alignments = is_marked and self._translator.ensemble.has_attention
        results = self._translator.translate(
            texts, alignments=alignments, process_group=process_group
        )
        translations = [translations[0] for translations in results]
        if not process_group.is_main:
            return TranslatedDocument(b"", len(prepared))
        written = iter(translations)
        edits = [edit for one in prepared for edit in self._edits(one, written)]
        data = self._document.write(edits)
        return TranslatedDocument(data, len(prepared), sorted(self._warnings))

    def _prepare(self, segment: Segment) -> _Prepared:
        """Divide a segment into sentences."""
        accelerator = None
        if not segment.is_readable:
            self._warnings.append(
                (segment.line, "bytes that cannot be decoded; the text was left as it is")
            )
            return _Prepared(segment, MarkedSentences((), segment.source))
        source = segment
        if segment.accelerators:
            text, accelerator = remove_accelerator(segment.source, segment.accelerators)
            source = replace(segment, source=text)
        keeper = self._keeper(segment)
        marked = keeper.with_protected(parse_segment(source))
        sentences = split_marked(marked, self._options.src_language, segment.lines)
        texts = [
            self._model_text(segment, sentence) if _has_words(sentence.marked) else None
            for sentence in sentences.sentences
        ]
        inner = [self._prepare(one) for one in segment.inner]
        return _Prepared(segment, sentences, texts, accelerator, inner)

    def _keeper(self, segment: Segment) -> MarkupTranslator:
        """Return what puts the markup of a segment back."""
        is_plain = segment.syntax in (Syntax.TEXT, Syntax.MARKDOWN)
        return self._keepers.plain if is_plain else self._keepers.marked

    def _edits(self, prepared: _Prepared, translations: Iterator[Translation]) -> list[Edit]:
        """Return what the translation of a segment changes in the file."""
        segment = prepared.segment
        own = iter([*islice(translations, sum(text is not None for text in prepared.texts))])
        inner = [edit for one in prepared.inner for edit in self._edits(one, translations)]
        if not segment.is_readable:
            return inner
        texts = [
            sentence.source if text is None else self._text(segment, sentence, text, next(own))
            for sentence, text in zip(prepared.sentences.sentences, prepared.texts, strict=True)
        ]
        text = prepared.sentences.joined(texts, self._spaced)
        if prepared.accelerator is not None:
            originals = [sentence.source for sentence in prepared.sentences.sentences]
            is_same = texts == originals
            text = segment.source if is_same else put_accelerator(text, prepared.accelerator)
        return list(segment.write(text, inner))

    def _text(
        self, segment: Segment, sentence: MarkedSentence, given: str, translation: Translation
    ) -> str:
        """Return the translation of a sentence, with its markup; the same text stays as it was.

        :param given: the text that was translated.
        """
        self._report(segment.line, translation)
        if translation.text == " ".join(given.split()):
            return sentence.source
        if not sentence.marked.atoms and not sentence.marked.elements:
            text = translation.text
            if self._keeper(segment) is self._keepers.marked:
                text = re.sub("[<>&]", "", text)
        else:
            left_out = EMPHASIS if segment.syntax is Syntax.MARKDOWN else None
            text, lost = self._keeper(segment).place(sentence.marked, translation, left_out)
            if left_out is not None:
                text = with_visible_emphasis(text)
            for element in lost:
                tag = element.opening[:60] or element.closing[:60]
                is_sign = left_out is not None and left_out.fullmatch(element.opening)
                check = "check whether it is there" if is_sign else "check where it stands"
                self._warn(segment.line, f"no words belong to {tag}; {check}")
        if segment.wrap is not None and "\n" in sentence.source.strip():
            text = segment.wrap(sentence.source, text)
        return text

    def _model_text(self, segment: Segment, sentence: MarkedSentence) -> str:
        """Return the text of a sentence for a model: plain spaces, and no soft hyphens."""
        text = self._keeper(segment).source_text(sentence.marked)
        return _SPACES.sub(" ", text).replace("\xad", "")

    def _report(self, line: int, translation: Translation) -> None:
        """Warn of a translation that is not whole."""
        if not translation.finished:
            self._warn(line, "the translation is unfinished: it reached the maximum length")
        for term in translation.missing_terms:
            self._warn(line, self._translator.describe_missing([term]))

    def _warn(self, line: int, message: str) -> None:
        self._warnings.append((line, message))


def _flat(prepared: Sequence[_Prepared]) -> Iterator[_Prepared]:
    """Yield segments, each followed by those within it."""
    for one in prepared:
        yield one
        yield from _flat(one.inner)


def _has_words(marked: MarkedText) -> bool:
    """Return whether a sentence has a letter outside of what is kept."""
    position = 0
    for atom in marked.atoms:
        if not atom.is_text:
            if any(character.isalpha() for character in marked.text[position : atom.start]):
                return True
            position = atom.end
    return any(character.isalpha() for character in marked.text[position:])
