"""Sentences of a text with markup, each with the markup that is in it.

What stands between sentences stays as it is: spaces, and the tags of elements that hold whole
sentences. An element that begins in one sentence and ends in another has its opening tag in the
one and its closing tag in the other.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nmtkit.text.characters import is_small
from nmtkit.text.markup import LINE_BREAK, Atom, MarkedText, MarkupElement, TagEvent, tag_events
from nmtkit.text.punctuation import (
    DIRECTION_MARKS,
    QUOTES_BEHIND_SIGNS,
    SENTENCE_SIGNS,
    UNSPACED_SIGNS,
    WIDE_STOP,
)
from nmtkit.text.scripts import is_spaced
from nmtkit.text.sentences import Lines, Span, find_sentences

_ENDED = re.compile(
    rf"[{SENTENCE_SIGNS}{UNSPACED_SIGNS}{WIDE_STOP},;、，；][{QUOTES_BEHIND_SIGNS}{DIRECTION_MARKS}]*\Z"
)
_BREAK = re.compile(
    rf"{LINE_BREAK.pattern}|<(?:hr|lb)\b|<mrk\b[^<>]*\bmtype\s*=\s*[\"']seg\b|</mrk", re.I
)
"""Tags at which a sentence ends."""


@dataclass(frozen=True)
class MarkedSentence:
    """A sentence: its markup, what it was, and what stands between it and the one before."""

    before: str
    marked: MarkedText
    source: str


@dataclass(frozen=True)
class MarkedSentences:
    """The sentences of a text, and what stands behind the last one."""

    sentences: Sequence[MarkedSentence]
    after: str

    def joined(self, translations: Sequence[str], spaced: bool = True) -> str:
        """Return the text with other sentences.

        Sentences that are the same as in the source have between them what they had.

        :param spaced: the language has a space between sentences.
        """
        parts: list[str] = []
        last: MarkedSentence | None = None  # the one before, if it has changed
        for sentence, text in zip(self.sentences, translations, strict=True):
            is_changed = text != sentence.source
            before = sentence.before
            if is_changed and last is not None:
                before = _separator(before, last.marked.text, sentence.marked.text, spaced)
            parts += [before, text]
            last = sentence if is_changed else None
        return "".join([*parts, self.after])


def _separator(between: str, text: str, following: str, spaced: bool) -> str:
    """Return what stands between two translations, with a space as their language needs it.

    :param between: what stood between the sentences.
    :param text: the first sentence, or part of a long one; a word that was divided stays whole.
    :param following: the second one.
    """
    if any(map(str.isspace, between)):
        is_blank = between == " " or (between.isspace() and _ENDED.search(text))
        return "" if is_blank and not spaced and "\n" not in between else between
    is_in_word = is_spaced(text[-1]) and is_spaced(following[0])
    if not spaced or is_in_word or _BREAK.search(between):
        return between
    return f"{between} " if between.startswith("</") else f" {between}"


def split_marked(marked: MarkedText, language: str, lines: Lines) -> MarkedSentences:
    """Divide a text with markup into sentences.

    :param language: of the text.
    :param lines: what line breaks mean; see `find_sentences`.
    """
    events = tag_events(marked.elements)
    marked = replace(marked, atoms=_undivided(marked.atoms, events))
    spans = find_sentences(marked.text, language, lines, _breaks(marked, events))
    return _Splitter(marked, events, _outside_atoms(spans, marked.atoms)).split()


def _undivided(atoms: Sequence[Atom], events: Sequence[TagEvent]) -> tuple[Atom, ...]:
    """Return the atoms in which no tag stands; protected text in which one does is not whole."""
    offsets = [event.offset for event in events]
    return tuple(
        atom
        for atom in atoms
        if bisect_right(offsets, atom.start) == bisect_left(offsets, atom.end)
        or atom.start == atom.end
    )


def _breaks(marked: MarkedText, events: Sequence[TagEvent]) -> set[int]:
    """Return the offsets of tags that end a sentence; a break before a small letter ends none."""
    breaks = set()
    for event in events:
        if _BREAK.match(event.source) and _BREAK.match(marked.elements[event.element].opening):
            following = marked.text[event.offset : event.offset + 20].lstrip()
            is_break = not LINE_BREAK.match(event.source)
            if is_break or not is_small(following[:1]):
                breaks.add(event.offset)
    return breaks


def _outside_atoms(spans: Sequence[Span], atoms: Sequence[Atom]) -> list[Span]:
    """Return sentences that do not end in the middle of an atom."""
    starts = [atom.start for atom in atoms]
    result: list[Span] = []
    for start, end in spans:
        number = bisect_left(starts, start) - 1
        if number >= 0 and atoms[number].end > start:
            start = atoms[number].start
        number = bisect_left(starts, end) - 1
        end = max(end, atoms[number].end) if number >= 0 else end
        if result and start < result[-1].end:
            start, end = result[-1].start, max(result.pop().end, end)
        result.append(Span(start, end))
    return result


def _last_descendants(elements: Sequence[MarkupElement]) -> list[int]:
    """Return for each element the index of the last one within it, or its own."""
    last = list(range(len(elements)))
    for number in range(len(elements) - 1, -1, -1):
        parent = elements[number].parent
        if parent >= 0:
            last[parent] = max(last[parent], last[number])
    return last


class _Splitter:
    """Divides a text with markup; events: all tags in their order."""

    def __init__(
        self, marked: MarkedText, events: Sequence[TagEvent], spans: Sequence[Span]
    ) -> None:
        self._marked, self._events, self._spans = marked, events, spans
        self._offsets = [event.offset for event in events]
        self._openings = {e.element: number for number, e in enumerate(events) if e.opens}
        self._last_descendants = _last_descendants(marked.elements)
        self._atom_starts = [atom.start for atom in marked.atoms]
        self._added = marked.added_spaces()

    def split(self) -> MarkedSentences:
        """Return the sentences."""
        sentences: list[MarkedSentence] = []
        position, event = 0, 0
        for span in self._spans:
            first, stop = self._inner_events(span, event)
            before = self._source(position, span.start, event, first)
            marked = self._sentence(span, first, stop)
            source = self._source(span.start, span.end, first, stop)
            sentences.append(MarkedSentence(before, marked, source))
            position, event = span.end, stop
        after = self._source(position, len(self._marked.text), event, len(self._events))
        return MarkedSentences(sentences, after)

    def _inner_events(self, span: Span, event: int) -> tuple[int, int]:
        """Return the first tag in a sentence, and the first one behind it.

        Tags at its ends are in it only if they stand around a part of it.

        :param event: the first tag that is in no sentence before.
        """
        first = max(event, bisect_left(self._offsets, span.start))
        while first < len(self._events) and self._offsets[first] == span.start:
            element = self._marked.elements[self._events[first].element]
            if self._events[first].opens and element.start < element.end < span.end:
                break
            first += 1
        stop = bisect_right(self._offsets, span.end)
        while stop > first and self._offsets[stop - 1] == span.end:
            last = self._events[stop - 1]
            element = self._marked.elements[last.element]
            has_contents = not last.opens and element.start < element.end
            if has_contents and self._openings[last.element] >= first:
                break
            stop -= 1
        return first, stop

    def _sentence(self, span: Span, first: int, stop: int) -> MarkedText:
        """Return a sentence with the elements and atoms in it."""
        numbers = sorted({event.element for event in self._events[first:stop]})
        tags = {(e.element, e.opens): e for e in self._events[first:stop]}
        indices: dict[int, int] = {}
        elements: list[MarkupElement] = []
        for number, parent in zip(numbers, self._parents(numbers), strict=True):
            element = self._marked.elements[number]
            opening, closing = tags.get((number, True)), tags.get((number, False))
            indices[number] = len(elements)
            elements.append(
                replace(
                    element,
                    start=max(element.start, span.start) - span.start,
                    end=min(element.end, span.end) - span.start,
                    opening=opening.source if opening else "",
                    closing=closing.source if closing else "",
                    parent=indices.get(parent, -1),
                    separates=element.separates and element.start > span.start,
                    separates_end=element.separates_end and element.end < span.end,
                )
            )
        atoms = (
            replace(atom, start=atom.start - span.start, end=atom.end - span.start)
            for atom in self._atoms(span.start, span.end)
        )
        return MarkedText(self._marked.text[slice(*span)], tuple(elements), tuple(atoms))

    def _parents(self, numbers: Sequence[int]) -> Iterator[int]:
        """Yield for each element the nearest one around it that is among them, or -1."""
        waiting: list[int] = []
        for number in numbers:
            while waiting and number > self._last_descendants[waiting[-1]]:
                waiting.pop()
            yield waiting[-1] if waiting else -1
            waiting.append(number)

    def _atoms(self, start: int, end: int) -> Sequence[Atom]:
        """Return the atoms between two offsets."""
        first = bisect_left(self._atom_starts, start)
        stop = bisect_left(self._atom_starts, end)
        return self._marked.atoms[first:stop]

    def _source(self, start: int, end: int, first: int, stop: int) -> str:
        """Return what stood between two offsets, with some tags and all atoms."""
        parts: list[str] = []
        atoms = list(self._atoms(start, end))
        items = [(event.offset, 1, event.source) for event in self._events[first:stop]]
        position = start
        atom = 0
        for offset, _, source in [*items, (end, 1, "")]:
            while atom < len(atoms) and atoms[atom].start < offset:
                parts += [self._text(position, atoms[atom].start), atoms[atom].source]
                position = atoms[atom].end
                atom += 1
            parts += [self._text(position, offset), source]
            position = max(position, offset)
        return "".join(parts)

    def _text(self, start: int, end: int) -> str:
        """Return text between two offsets, without spaces that were added."""
        text = self._marked.text
        if not self._added:
            return text[start:end]
        return "".join(text[i] for i in range(start, end) if i not in self._added)
