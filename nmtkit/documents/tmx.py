"""TMX: units without a variant in the target language get one."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from nmtkit.documents.document import Document, DocumentOptions, Edit, Segment, Syntax
from nmtkit.documents.xml_tree import Units, Xml, XmlElement, read_xml, walk, without_sections
from nmtkit.io.language_tags import best_matches

_OPAQUE = frozenset(["seg", "header", "prop", "note"])


def parse_tmx(data: bytes, name: str, options: DocumentOptions) -> Document:
    """Find the units of a translation memory that lack a translation.

    :raises DataError: the file is not well-formed, is not TMX, declares entities or refers to other
        files, or its encoding cannot be read.
    """
    xml = read_xml(data, name, "TMX", _OPAQUE)
    segments = list(_Variants(xml, options).segments())
    warnings = [] if segments else list(_other_languages(xml, options.src_language))
    return xml.document(segments, warnings)


def _other_languages(xml: Xml, language: str) -> Iterator[tuple[int, str]]:
    """Yield a warning if no variant of a memory is in the source language."""
    variants = [element for element in walk(xml.root) if element.name == "tuv"]
    tags = list(dict.fromkeys(filter(None, map(_tag, variants))))
    if tags and not best_matches(language, tags):
        yield 1, f"no unit has {language}; the languages are {', '.join(tags[:10])[:200]}"


def _tag(variant: XmlElement) -> str:
    """Return the language of a variant, empty if it names none."""
    return variant.get("xml:lang") or variant.get("lang") or ""


class _Variants(Units):
    """The units of a translation memory, with a variant for each language."""

    def segments(self) -> Iterator[Segment]:
        """Yield the segments of the units that need a translation."""
        for unit in walk(self._xml.root):
            if unit.name == "tu":
                yield from self._unit(unit)

    def _unit(self, unit: XmlElement) -> Iterator[Segment]:
        variants = [child for child in unit.children if child.name == "tuv"]
        tags = list(map(_tag, variants))
        source = best_matches(self._options.src_language, tags)[:1]
        target = best_matches(self._options.tgt_language, tags)[:1]
        if not source or source == target:
            return
        text = variants[source[0]].child("seg")
        if text is None or not self._xml.inner(text).strip():
            return
        write = partial(self._write_new, variants[-1], variants[source[0]])
        if target:
            place = variants[target[0]].child("seg")
            if place is None or self._xml.inner(place).strip():
                return
            write = partial(self._fill, place)
        line = self._lines.line(text.inner_start)
        yield Segment(line, without_sections(self._xml.inner(text)), Syntax.XML, write)

    def _fill(self, place: XmlElement, translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
        """Return the edit that fills an empty segment."""
        tag = place.tag.removesuffix("/>").removesuffix(">").rstrip()
        return [Edit(place.start, place.end, f"{tag}>{translation}</{place.prefix}seg>")]

    def _write_new(
        self, last: XmlElement, source: XmlElement, translation: str, inner: Sequence[Edit]
    ) -> Iterable[Edit]:
        """Return the edit that adds a variant behind the last one."""
        p = source.prefix
        before, after = self._around_segment(source)
        seg = f"{before}<{p}seg>{translation}</{p}seg>{after}"
        tuv = f'<{p}tuv xml:lang="{self._options.tgt_language}">{seg}</{p}tuv>'
        return [Edit(last.end, last.end, self._xml.space_before(last) + tuv)]

    def _around_segment(self, variant: XmlElement) -> tuple[str, str]:
        """Return the whitespace before and behind the segment of a variant."""
        seg = variant.child("seg")
        if seg is None:
            return "", ""
        after = self._xml.text[seg.end : variant.inner_end]
        return self._xml.space_before(seg), after if after.isspace() else ""
