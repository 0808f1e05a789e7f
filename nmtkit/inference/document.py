"""Files translated in place: their texts change, and every other byte stays.

    from nmtkit import Translator, translate_document
    translator = Translator.load("model")
    result = translate_document(open("page.html", "rb").read(), "html", translator)
    open("page.fr.html", "wb").write(result.data)

All sentences of a file are translated together, as fast as lines of text, equal ones once.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from nmtkit.documents.accelerators import Accelerator, put_accelerator, remove_accelerator
from nmtkit.documents.document import DocumentOptions as DocumentOptions
from nmtkit.documents.document import Edit, Segment, Syntax
from nmtkit.documents.formats import FORMATS as FORMATS
from nmtkit.documents.formats import format_of as format_of
from nmtkit.documents.formats import parse_document
from nmtkit.documents.inline import parse_segment
from nmtkit.documents.markdown_emphasis import with_visible_emphasis
from nmtkit.documents.markdown_inline import EMPHASIS
from nmtkit.errors import ConfigError, refuse_other
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
    :raises ConfigError: there is no such format, or a column is less than 1.
    :raises DataError: the file cannot be read, or its encoding lacks a character of a translation.
    :raises TypeError: `data` is no bytes.
    """
    refuse_other(data, bytes, "data")
    if min(columns) < 1:
        raise ConfigError(f"columns are counted from 1, not from {min(columns)}")
    text = translator.ensemble.first.config.text
    options = DocumentOptions(text.src_language, text.tgt_language, columns, reviewed, retranslate)
    document = SegmentedDocument(data, format, name, options)
    worker = SegmentTranslator(translator, protect, table)
    texts = worker.translate(document.segments, document.texts, process_group)
    if not process_group.is_main:
        return TranslatedDocument(b"", document.size)
    return TranslatedDocument(
        document.write(texts), document.size, sorted([*document.warnings, *worker.warnings])
    )


class SegmentedDocument:
    """A file divided into segments, into which their translations are written.

    segments: in the order of the file, each followed by those within it. texts: of each of them.
    size: number of the segments that are not within another one. warnings: of what cannot be
    translated, with the number of the line.

    :param data: the bytes of the file. format, name: see `translate_document`.
    :param options: languages of the file, and what is translated in it.
    :raises ConfigError: there is no such format.
    :raises DataError: the file cannot be read.
    """

    def __init__(self, data: bytes, format: str, name: str, options: DocumentOptions) -> None:
        self._document = parse_document(data, format, name, options)
        self.segments = [*_flat(self._document.segments)]
        self.texts = [segment.source for segment in self.segments]
        self.size = len(self._document.segments)
        self.warnings = list(self._document.warnings)

    def translate(self, texts: Sequence[str], translator: Translator) -> list[str]:
        """Return the translations of texts that stand for those of the segments.

        :param texts: as in the file, or as another model has translated them.
        """
        return SegmentTranslator(translator).translate(self.segments, texts)

    def write(self, texts: Sequence[str]) -> bytes:
        """Return the bytes of the file with other texts of its segments.

        :raises DataError: the encoding of the file lacks a character of a text.
        """
        written = iter(texts)
        edits = [edit for one in self._document.segments for edit in _edits(one, written)]
        return self._document.write(edits)


def _flat(segments: Sequence[Segment]) -> Iterator[Segment]:
    """Yield segments, each followed by those within it; one that is not readable stays whole."""
    for one in segments:
        yield one
        if one.is_readable:
            yield from _flat(one.inner)


def _edits(segment: Segment, texts: Iterator[str]) -> list[Edit]:
    """Return what new texts of a segment and of those within it change in the file."""
    text = next(texts)
    if not segment.is_readable:
        return []
    inner = [edit for one in segment.inner for edit in _edits(one, texts)]
    return list(segment.write(text, inner))


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


class SegmentTranslator:
    """Translates the texts of segments, with the markup in them.

    warnings: of what could not be put in its place, each with the number of the line.

    :param translator, protect, table: see `translate_document`.
    """

    def __init__(
        self,
        translator: Translator,
        protect: Sequence[re.Pattern[str]] = (),
        table: TranslationTable | None = None,
    ) -> None:
        patterns = [*protect, *read_patterns([], placeholders=True)]
        table = own_table(translator.ensemble.first) if table is None else table
        languages = translator.ensemble.first.config.text
        self._translator, self._src_language = translator, languages.src_language
        self._keepers = _Keepers(
            MarkupTranslator(translator, None, patterns, table),
            MarkupTranslator(translator, "html", patterns, table),
        )
        self._spaced = base_language(languages.tgt_language) not in EAST_ASIAN
        self.warnings: list[tuple[int, str]] = []

    def translate(
        self,
        segments: Sequence[Segment],
        texts: Sequence[str],
        process_group: ProcessGroup = SINGLE_PROCESS,
    ) -> list[str]:
        """Return the translations of the texts of segments, as they are written in the file.

        A sentence that occurs more than once is translated once: Word writes the text of a box in
        two forms, which must not differ.

        :param segments: of a file.
        :param texts: of each of them: its source, or a translation of it by another model.
        :param process_group: shares the sentences; on ranks other than 0 nothing is returned.
        """
        pairs = zip(segments, texts, strict=True)
        prepared = [self._prepare(replace(segment, source=text)) for segment, text in pairs]
        given = (text for one in prepared for text in one.texts if text is not None)
        sentences = list(dict.fromkeys(given))
        is_marked = any(
            sentence.marked.atoms or sentence.marked.elements
            for one in prepared
            for sentence, text in zip(one.sentences.sentences, one.texts, strict=True)
            if text is not None
        )
        alignments = is_marked and self._translator.ensemble.has_attention
        results = self._translator.translate(
            sentences, alignments=alignments, process_group=process_group
        )
        best = [n_best[0] for n_best in results]
        if not process_group.is_main:
            return []
        translations = dict(zip(sentences, best, strict=True))
        return [self._joined(one, translations) for one in prepared]

    def _prepare(self, segment: Segment) -> _Prepared:
        """Divide a segment into sentences."""
        if not segment.is_readable:
            self._warn(segment.line, "bytes that cannot be decoded; the text was left as it is")
            return _Prepared(segment, MarkedSentences((), segment.source))
        accelerator = None
        source = segment
        if segment.accelerators:
            text, accelerator = remove_accelerator(segment.source, segment.accelerators)
            source = replace(segment, source=text)
        keeper = self._keeper(segment)
        marked = keeper.with_protected(parse_segment(source))
        sentences = split_marked(marked, self._src_language, segment.lines)
        texts = [
            self._model_text(segment, sentence) if _has_words(sentence.marked) else None
            for sentence in sentences.sentences
        ]
        return _Prepared(segment, sentences, texts, accelerator)

    def _keeper(self, segment: Segment) -> MarkupTranslator:
        """Return what puts the markup of a segment back."""
        is_plain = segment.syntax in (Syntax.TEXT, Syntax.MARKDOWN)
        return self._keepers.plain if is_plain else self._keepers.marked

    def _joined(self, prepared: _Prepared, translations: Mapping[str, Translation]) -> str:
        """Return the translation of a segment.

        :param translations: of the texts of all sentences.
        """
        segment = prepared.segment
        pairs = zip(prepared.sentences.sentences, prepared.texts, strict=True)
        texts = [
            sentence.source
            if text is None
            else self._text(segment, sentence, text, translations[text])
            for sentence, text in pairs
        ]
        text = prepared.sentences.joined(texts, self._spaced)
        if prepared.accelerator is not None:
            originals = [sentence.source for sentence in prepared.sentences.sentences]
            is_same = texts == originals
            text = segment.source if is_same else put_accelerator(text, prepared.accelerator)
        return text

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
        self.warnings.append((line, message))


def _has_words(marked: MarkedText) -> bool:
    """Return whether a sentence has a letter outside of what is kept."""
    position = 0
    for atom in marked.atoms:
        if not atom.is_text:
            if any(character.isalpha() for character in marked.text[position : atom.start]):
                return True
            position = atom.end
    return any(character.isalpha() for character in marked.text[position:])
