"""XLIFF 1.2 and 2.x: units without a translation get one, with the state that says so."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from nmtkit.documents.accelerators import SIGNS_IN_XML
from nmtkit.documents.document import (
    Document,
    DocumentOptions,
    Edit,
    Segment,
    Syntax,
    Write,
    other_languages,
    syntax_of,
)
from nmtkit.documents.po_strings import wrap_again
from nmtkit.documents.xliff_segments import Marked, text_around, untranslated_segments
from nmtkit.documents.xml_tree import (
    Units,
    XmlElement,
    read_xml,
    walk,
    with_attribute,
    without_attribute,
    without_sections,
)
from nmtkit.text.sentences import Lines

_SECTION = re.compile(r"(\s*)<!\[CDATA\[((?:(?!\]\]>).|(?!))*+)\]\]>(\s*)", re.DOTALL)
"""A text that is one CDATA section, which its translation is, too."""

_OPAQUE = frozenset(["source", "target", "seg-source", "originalData", "skeleton", "skl"])
_UNTRANSLATED_STATES = frozenset(["new", "needs-translation", "initial"])
_REVIEW_STATES_1 = frozenset(
    "needs-adaptation needs-l10n needs-review-adaptation needs-review-l10n"
    " needs-review-translation".split()
)
_REVIEW_STATES_2 = frozenset(["translated"])


def parse_xliff(data: bytes, name: str, options: DocumentOptions) -> Document:
    """Find the untranslated units of an XLIFF file.

    :raises DataError: the file is not well-formed, is not XLIFF, declares entities or refers to
        other files, or its encoding cannot be read.
    """
    xml = read_xml(data, name, "XLIFF", _OPAQUE)
    is_second = (xml.root.get("version") or "").startswith("2")
    writer = _Second(xml, options) if is_second else _First(xml, options)
    warnings = writer.other_languages()
    return xml.document(writer.segments(), warnings)


class _Units(Units):
    """What both versions share.

    review_states: of targets that a person has still to look at.
    languages: the element that names the languages, and its attributes of source and target.
    """

    review_states: ClassVar[frozenset[str]] = frozenset()
    languages: ClassVar[tuple[str, str, str]]

    def other_languages(self) -> list[tuple[int, str]]:
        """Return each warning of `other_languages`, with the line where it is first true."""
        name, source, target = self.languages
        lines: dict[str, int] = {}
        for element in walk(self._xml.root):
            if element.name == name:
                found = other_languages(self._options, element.get(source), element.get(target))
                for warning in found:
                    lines.setdefault(warning, self._lines.line(element.start))
        return [(line, warning) for warning, line in lines.items()]

    def _needs_translation(
        self, source: XmlElement, target: XmlElement | None, state: str | None
    ) -> bool:
        """Return whether a unit has no translation, or one that is to be made again.

        A target without a state that repeats its source is no translation.
        """
        text = text_around(self._xml.inner(target)) if target else ""
        if not text or state in _UNTRANSLATED_STATES:
            return True
        if state is None and text == text_around(self._xml.inner(source)):
            return True
        return self._options.retranslate and state in self.review_states

    def _segment(
        self, source: XmlElement, target: XmlElement | None, place: int, marker: XmlElement | None
    ) -> Iterator[Segment]:
        """Yield the segment of a source.

        :param place: where a new target goes. marker: the element that has the state, if it is not
            the target.
        """
        text = self._xml.inner(source)
        line = self._lines.line(source.inner_start)
        write: Write = partial(self._write, source, target, place, marker)
        syntax = Syntax.XML
        signs: Sequence[str] = SIGNS_IN_XML
        if section := _SECTION.fullmatch(text):
            before, text, after = section.groups()
            writable = partial(self._xml.encoding.writable, references=True)
            write = partial(_in_section, write, writable, before, after)
            syntax = syntax_of(text)
            signs = ("&",)
        else:
            text = without_sections(text)
        if text.strip():
            is_kept = _keeps_spaces(source)
            lines, wrap = (Lines.KEEP, wrap_again) if is_kept else (Lines.FOLD, None)
            signs = () if _is_page(source) else signs
            yield Segment(line, text, syntax, write, lines, wrap, accelerators=signs)

    def _write(
        self,
        source: XmlElement,
        target: XmlElement | None,
        place: int,
        marker: XmlElement | None,
        translation: str,
        inner: Sequence[Edit],
    ) -> Iterable[Edit]:
        """Yield the edits that a translation makes."""
        if target is not None and self._xml.inner(target) == translation:
            state = (marker or target).get("state")
            if not self._options.reviewed or state not in self.review_states:
                return
        tag = _tag_of_target(source) if target is None else target.tag
        if marker is None:
            tag = self._with_state(tag)
        else:
            yield Edit(marker.start, marker.tag_end, self._with_state(marker.tag))
        whole = f"{tag.removesuffix('/>').removesuffix('>').rstrip()}>{translation}"
        whole += f"</{source.prefix}target>"
        if target is None:
            yield Edit(place, place, self._xml.space_before(source) + whole)
        else:
            yield Edit(target.start, target.end, whole)

    def _with_state(self, tag: str) -> str:
        raise NotImplementedError


class _First(_Units):
    """XLIFF 1.0 to 1.2: a unit has a source and a target."""

    review_states = _REVIEW_STATES_1
    languages = ("file", "source-language", "target-language")

    def segments(self) -> Iterator[Segment]:
        """Yield the segments of the units that need a translation."""
        untranslated: set[int] = set()
        for element in walk(self._xml.root):
            is_inside = element.parent is not None and id(element.parent) in untranslated
            if is_translatable(element, is_inside):
                if element.name == "trans-unit":
                    yield from self._unit(element)
            else:
                untranslated.add(id(element))

    def _unit(self, unit: XmlElement) -> Iterator[Segment]:
        source, target = unit.child("source"), unit.child("target")
        if source is None or unit.get("approved") == "yes":
            return
        segmented = unit.child("seg-source")
        text = segmented if segmented and self._xml.inner(segmented).strip() else source
        if self._needs_translation(source, target, target.get("state") if target else None):
            place = segmented.end if segmented else source.end
            yield from self._segment(text, target, place, None)
        elif target is not None and "mrk" in self._xml.inner(target):
            yield from self._rest(text, target)

    def _rest(self, source: XmlElement, target: XmlElement) -> Iterator[Segment]:
        """Yield what is untranslated of a unit that is translated in part."""
        contents = self._xml.inner(source)
        for found, place in untranslated_segments(contents, self._xml.inner(target)):
            start = source.inner_start + found.inner_start
            text = without_sections(contents[found.inner_start : found.inner_end])
            write = partial(self._write_rest, target, place)
            yield Segment(self._lines.line(start), text, Syntax.XML, write)

    def _write_rest(
        self, target: XmlElement, place: Marked, translation: str, inner: Sequence[Edit]
    ) -> Iterable[Edit]:
        """Yield the edits that fill a segment of a target."""
        yield Edit(target.start, target.tag_end, self._with_state(target.tag))
        whole = f"{place.tag.removesuffix('/>').removesuffix('>').rstrip()}>{translation}"
        whole += f"</{place.name}>"
        offset = target.inner_start
        yield Edit(offset + place.start, offset + place.end, whole)

    def _with_state(self, tag: str) -> str:
        if self._options.reviewed:
            return with_attribute(without_attribute(tag, "state-qualifier"), "state", "translated")
        tag = with_attribute(tag, "state", "needs-review-translation")
        return with_attribute(tag, "state-qualifier", "mt-suggestion")


class _Second(_Units):
    """XLIFF 2.0 to 2.2: a unit has segments, which have the state."""

    review_states = _REVIEW_STATES_2
    languages = ("xliff", "srcLang", "trgLang")

    def segments(self) -> Iterator[Segment]:
        """Yield the segments of the units that need a translation."""
        untranslated: set[int] = set()
        has_language = self._xml.root.get("trgLang") is not None
        for element in walk(self._xml.root):
            is_inside = element.parent is not None and id(element.parent) in untranslated
            if not is_translatable(element, is_inside):
                untranslated.add(id(element))
            elif element.name == "segment":
                source, target = element.child("source"), element.child("target")
                if source and self._needs_translation(source, target, element.get("state")):
                    found = self._segment(source, target, source.end, element)
                    for segment in found:
                        yield segment if has_language else self._with_language(segment)

    def _with_language(self, segment: Segment) -> Segment:
        """Return a segment whose translation adds the target language, which must be there."""
        write, root = segment.write, self._xml.root
        tag = with_attribute(root.tag, "trgLang", self._options.tgt_language)

        def write_both(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
            edits = list(write(translation, inner))
            return [*edits, Edit(root.start, root.tag_end, tag)] if edits else []

        return replace(segment, write=write_both)

    def _with_state(self, tag: str) -> str:
        """Return the tag with the new state; a substate would be that of the old one."""
        state = "reviewed" if self._options.reviewed else "translated"
        return with_attribute(without_attribute(tag, "subState"), "state", state)


def is_translatable(element: XmlElement, is_inside: bool) -> bool:
    """Return whether an element may be translated.

    :param is_inside: it is within one that may not be.
    """
    value = element.get("translate")
    if element.name in ("alt-trans", "bin-unit", "matches", "glossary"):
        return False
    return value != "no" if value else not is_inside


def _keeps_spaces(element: XmlElement | None) -> bool:
    """Return whether line breaks in an element count, as its `xml:space` or one around it says."""
    while element is not None:
        value = element.get("xml:space")
        if value is not None:
            return value == "preserve"
        element = element.parent
    return False


def _tag_of_target(source: XmlElement) -> str:
    """Return the tag of a new target, in which spaces count if its source says that they do."""
    tag, value = f"<{source.prefix}target>", source.get("xml:space")
    return with_attribute(tag, "xml:space", value) if value == "preserve" else tag


def _is_page(element: XmlElement | None) -> bool:
    """Return whether an element belongs to a file whose type says that it was HTML."""
    while element is not None and element.name != "file":
        element = element.parent
    return element is not None and "html" in (element.get("datatype") or "").lower()


def _in_section(
    write: Write,
    writable: Callable[[str], str],
    before: str,
    after: str,
    translation: str,
    inner: Sequence[Edit],
) -> Iterable[Edit]:
    """Return the edits of a translation whose source stands in a CDATA section.

    A section has no references: characters that the encoding lacks stand between two sections.

    :param writable: writes such characters as references. before, after: whitespace around the
        section.
    """

    def in_section(found: re.Match[str]) -> str:
        return found[0] if writable(found[0]) == found[0] else f"]]>{found[0]}<![CDATA["

    text = translation.replace("]]>", "]]]]><![CDATA[>")
    text = re.sub(r"[^\0-\x7f]", in_section, text)
    return write(f"{before}<![CDATA[{text}]]>{after}", inner)
