"""Atoms put back into a translation, each once: what must come back as it was.

An atom whose text stands in the translation stays there. For one that does not, the words that it
became are replaced by it, or it is put beside the words around it. What the translation has too
often is left out.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nmtkit.text.markers import SYMBOLS
from nmtkit.text.markup import Atom
from nmtkit.text.markup_placement import Aligned, Weights
from nmtkit.text.placeholders import SPACED_LETTER
from nmtkit.text.scripts import is_spaced

JOINING_MARKS = "/\\@#%&*"
"""Punctuation that joins what stands on both sides of it, beside hyphens."""


class Claim(NamedTuple):
    """A part of the translation that becomes an atom: its offsets, and the atom's index.

    With -1 it becomes nothing.
    """

    start: int
    end: int
    atom: int


class _Unit(NamedTuple):
    """A word of the new translation: its text, what stands before it, and its weights."""

    before: str
    text: str
    weights: Weights


def place_atoms(
    atoms: Sequence[Atom],
    src_text: str,
    aligned: Aligned,
    unwanted: Sequence[re.Pattern[str]] = (),
    as_read: Callable[[str], str] = str,
) -> Aligned:
    """Return the translation with each atom once; its words and weights follow.

    :param atoms: of the source; they do not overlap.
    :param unwanted: patterns of what the translation must not have beside its atoms.
    :param as_read: returns a text as the model writes it, such as `...` for `…`.
    """
    claims = _Claims(atoms, src_text, aligned, as_read)
    claims.find()
    missing = claims.replace_words()
    for pattern in unwanted:
        claims.remove(pattern)
    if not claims.claims and not missing:
        return aligned
    units = list(_units(claims))
    return _joined(_with_insertions(units, missing, claims), aligned)


class _Claims:
    """Parts of a translation that become atoms, and those words that have become none.

    texts: of the atoms, as the model writes them.
    """

    def __init__(
        self,
        atoms: Sequence[Atom],
        src_text: str,
        aligned: Aligned,
        as_read: Callable[[str], str],
    ) -> None:
        self.atoms, self.src_text, self.aligned = atoms, src_text, aligned
        self.texts = [as_read(src_text[atom.start : atom.end]).strip() for atom in atoms]
        self._read_text = as_read(src_text)
        self.claims: list[Claim] = []
        self.claimed = np.zeros(len(aligned.text), bool)

    def add(self, start: int, end: int, atom: int) -> None:
        """Claim a part."""
        self.claims.append(Claim(start, end, atom))
        self.claimed[start:end] = True

    def find(self) -> None:
        """Claim the parts that have the text of an atom; what the source has not becomes nothing.

        The text of the source may have it beside its atoms: that is translated like other words.
        """
        same: dict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(self.texts):
            same[text].append(number)
        same.pop("", None)
        for text in sorted(same, key=len, reverse=True):
            numbers = same[text]
            pattern = self._pattern(text, numbers)
            spans = self._free(pattern)
            if len(spans) > len(numbers):
                best = sorted(spans, key=lambda span: -self._weight(span, numbers))
                spans = sorted(best[: len(numbers)])
                allowed = max(len(numbers), len(pattern.findall(self._read_text)))
                for span in best[allowed:]:
                    self.add(*span, -1)
            for span, number in zip(spans, numbers, strict=False):
                self.add(*span, number)

    def remove(self, pattern: re.Pattern[str]) -> None:
        """Claim other parts that a pattern matches, to become nothing.

        As many stay as the source has beside its atoms: in `http://x.org/<b>a</b>`, where tags
        divide it, an address is a word like others.
        """
        taken = np.zeros(len(self.src_text), bool)
        for atom in self.atoms:
            taken[atom.start : atom.end] = True
        matches = pattern.finditer(self.src_text)
        spare = sum(not taken[slice(*found.span())].any() for found in matches)
        for span in self._free(pattern):
            if spare > 0:
                spare -= 1
            else:
                self.add(*span, -1)

    def replace_words(self) -> list[int]:
        """Claim for the other atoms the words that they became; return those that became none."""
        aligned, missing = self.aligned, []
        owners = np.array([int(self._is_taken(span)) for span in aligned.tgt]) - 1
        present = {claim.atom for claim in self.claims}
        for number in [n for n in range(len(self.atoms)) if n not in present]:
            columns = self.columns(number)
            place = aligned.interval(columns, aligned.whole, owners)
            if place is None or place.stop - place.first > 2 * len(columns) + 1:
                missing.append(number)
                continue
            start, end = aligned.tgt[place.first][0], aligned.tgt[place.stop - 1][1]
            if _has_word(self.atoms[number].source) and not _has_word(aligned.text[start:end]):
                missing.append(number)  # the full stop behind it has not become a placeholder
                continue
            self.add(start, end, number)
            owners[slice(*place)] = number
        return missing

    def _is_taken(self, span: tuple[int, int]) -> bool:
        """Return whether a word is claimed, or a symbol of markup."""
        return bool(self.claimed[slice(*span)].any()) or self.aligned.text[slice(*span)] in SYMBOLS

    def columns(self, number: int) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
        """Return the source words of an atom."""
        return self.aligned.columns(self.atoms[number].start, self.atoms[number].end)

    def _pattern(self, text: str, numbers: Sequence[int]) -> re.Pattern[str]:
        """Return the pattern of the text of some atoms where it stands by itself, as in `%s를`.

        A letter may be beside it that is beside it in the source, as in `%dx%d`.
        """
        before = "".join(
            self.src_text[max(0, self.atoms[n].start - 1) : self.atoms[n].start] for n in numbers
        )
        behind = "".join(self.src_text[self.atoms[n].end : self.atoms[n].end + 1] for n in numbers)
        left = f"(?<!{_other_letter(before)})" if text[0].isalnum() else ""
        right = f"(?!{_other_letter(behind)})" if text[-1].isalnum() else ""
        return re.compile(left + re.escape(text) + right)

    def _free(self, pattern: re.Pattern[str]) -> list[tuple[int, int]]:
        """Return where a pattern matches in the translation, unclaimed."""
        spans = [found.span() for found in pattern.finditer(self.aligned.text)]
        return [span for span in spans if not self.claimed[slice(*span)].any()]

    def _weight(self, span: tuple[int, int], numbers: Sequence[int]) -> float:
        """Return how much of some atoms the words of a part have."""
        start, end = span
        rows = [n for n, (a, b) in enumerate(self.aligned.tgt) if a < end and b > start]
        columns = [int(column) for number in numbers for column in self.columns(number)]
        return float(self.aligned.weights[np.ix_(rows, columns)].sum())


def _has_word(text: str) -> bool:
    """Return whether a text has letters or digits."""
    return any(map(str.isalnum, text))


def _other_letter(letters: str) -> str:
    """Return the pattern of a letter of a word, except these."""
    return f"(?![{re.escape(letters)}]){SPACED_LETTER}" if letters else SPACED_LETTER


def _units(claims: _Claims) -> Iterator[_Unit]:
    """Yield the words of the new translation: atoms, and what is left of the other words."""
    aligned, text, src_text = claims.aligned, claims.aligned.text, claims.src_text
    parts: list[tuple[int, int, int | None, int | None]]
    parts = [(claim.start, claim.end, claim.atom, None) for claim in claims.claims]
    parts += [
        (start, end, None, number)
        for number, span in enumerate(aligned.tgt)
        for start, end in _unclaimed(span, claims)
    ]
    position, before = 0, ""
    replacing: Atom | None = None
    for start, end, atom, word in sorted(parts, key=lambda part: part[:2]):
        before += text[position:start]
        position = max(position, end)
        if word is not None:
            if replacing and not before and _is_apart(src_text, replacing.end, text[start]):
                before = " "
            yield _Unit(before, text[start:end], aligned.weights[word])
            replacing = None
        elif atom is not None and atom >= 0:
            one = claims.atoms[atom]
            replacing = None if text[start:end] == claims.texts[atom] else one
            letter = text[start - 1 : start]
            if replacing and not before and _is_apart(src_text, one.start - 1, letter):
                before = " "
            yield _Unit(before, one.source, _weights_of(atom, claims))
        else:
            before = before.rstrip() if text[end : end + 1].isspace() else before
            continue
        before = ""
    if text[position:]:
        yield _Unit(before + text[position:], "", np.zeros(aligned.weights.shape[1], np.float32))


def _is_apart(src_text: str, offset: int, neighbour: str) -> bool:
    """Return whether a blank separates an atom from a letter beside it in the translation.

    In "%d man", which became "de l'homme" and becomes "%d homme", the source has a blank. A full
    stop, a bracket, an ideograph or the end of the line beside the atom says no more about words
    that touch it than a blank does; a letter, a hyphen or a symbol does.

    :param offset: of the character of the source on that side of the atom.
    :param neighbour: the character of the translation on that side; "" if there is none.
    """
    if not neighbour or not is_spaced(neighbour):
        return False
    beside = src_text[offset] if 0 <= offset < len(src_text) else " "
    if beside.isspace():  # a tab, too, which is a control character
        return True
    category = _category(beside)
    is_joined = is_spaced(beside) or category[0] in "SC" or category in ("Pd", "Pc")
    return not is_joined and beside not in JOINING_MARKS


def _category(character: str) -> str:
    """Return the category of a character; that of "", the end of a line, is a blank's."""
    return unicodedata.category(character or " ")


def _blank(src_text: str, offset: int, neighbour: str) -> str:
    """Return what separates an atom that is put beside words from its neighbour.

    :param offset: of the character of the source on that side of the atom.
    :param neighbour: the character of the translation on that side; "": the line ends there.
    """
    was_blank = src_text[max(offset, 0) : offset + 1].isspace()
    return " " if was_blank or _is_apart(src_text, offset, neighbour) else ""


def _unclaimed(span: tuple[int, int], claims: _Claims) -> Iterator[tuple[int, int]]:
    """Yield the parts of a word that nothing claims."""
    start, end = span
    taken = claims.claimed[start:end]
    if not taken.any():
        if start < end:
            yield span
        return
    edges = np.flatnonzero(np.diff(np.concatenate([[True], taken, [True]]).astype(int)))
    for left, right in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield start + left, start + right


def _weights_of(atom: int, claims: _Claims) -> Weights:
    """Return a row that has the words of an atom alone."""
    row = np.zeros(claims.aligned.weights.shape[1], np.float32)
    columns = claims.columns(atom)
    row[columns] = 1 / max(len(columns), 1)
    return row


def _with_insertions(
    units: Sequence[_Unit], missing: Sequence[int], claims: _Claims
) -> list[_Unit]:
    """Return the words with further atoms, beside the words around them in the source."""
    if not missing:
        return list(units)
    aligned = _joined(units, claims.aligned)
    inserted: dict[int, list[int]] = defaultdict(list)
    for number in missing:
        atom = claims.atoms[number]
        gap = aligned.gap(atom.start, atom.end, aligned.whole)
        inserted[gap].append(number)
    result: list[_Unit] = []
    for index, following in enumerate([*units, None]):
        previous = result[-1] if result else None
        if inserted[index]:
            result += _inserted(previous, following, inserted[index], claims)
        elif following is not None:
            result.append(following)
    return result


def _inserted(
    previous: _Unit | None, following: _Unit | None, numbers: Sequence[int], claims: _Claims
) -> Iterator[_Unit]:
    """Yield atoms that are put between two words, and the word behind them.

    Brackets and full stops stay at the words that they touch: "(mot)." becomes "(mot {0})."
    """
    src_text, end = claims.src_text, 0
    is_touched = previous is not None and following is not None and not following.before
    neighbour = previous.text[-1:] if previous else ""
    for number in numbers:
        atom = claims.atoms[number]
        is_held = not neighbour or is_touched and _category(neighbour) in ("Ps", "Pi")
        before = "" if is_held else _blank(src_text, atom.start - 1, neighbour)
        yield _Unit(before, atom.source, _weights_of(number, claims))
        neighbour, end = atom.source[-1:], atom.end
    if following is not None:
        neighbour = following.text[:1]
        is_held = is_touched and _category(neighbour).startswith("P")
        yield following._replace(before="" if is_held else _blank(src_text, end, neighbour))


def _joined(units: Sequence[_Unit], aligned: Aligned) -> Aligned:
    """Return the translation that words make."""
    parts: list[str] = []
    offsets: list[tuple[int, int]] = []
    length = 0
    for unit in units:
        start = length + len(unit.before)
        length = start + len(unit.text)
        offsets.append((start, length))
        parts += [unit.before, unit.text]
    rows = [unit.weights for unit in units]
    weights = np.stack(rows) if rows else aligned.weights[:0]
    return replace(aligned, text="".join(parts), tgt=offsets, weights=weights)
