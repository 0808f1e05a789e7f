"""Files of glossaries: tab-separated lines, or TBX.

    # source      translations        flags
    hard disk     disque dur|disques durs
    SAVE          Enregistrer         case-sensitive
    driver        chauffeur           forbidden

Fields are separated by tabs, translations by `|`. The flag `forbidden` says that the translation of
a line with the term must not have these words; without a term no translation may have them.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from nmtkit.errors import DataError, counted
from nmtkit.io.inputs import open_data
from nmtkit.io.lines import decode_line, split_lines
from nmtkit.io.tbx import is_tbx, read_tbx
from nmtkit.io.text_content import text_chunks
from nmtkit.text.glossary import Glossary, Term, words_of
from nmtkit.text.quoted_field import unquoted

log = logging.getLogger("nmtkit")

CASE_SENSITIVE, FORBIDDEN = "case-sensitive", "forbidden"

FLAGS = (CASE_SENSITIVE, FORBIDDEN)
"""What the third field may say."""

HEAD_CHUNKS = 2
"""Parts of the file by which TBX is recognised."""

MAX_TERM_WORDS = 100
"""Words of a term, and of a translation."""


def read_glossary(path: str | Path, languages: tuple[str, str]) -> Glossary:
    """Read a glossary.

    One without entries is read with a warning.

    :param languages: source and target language; TBX has terms of several.
    :raises DataError: the file cannot be read, or a line is not an entry; the message names it.
    """
    with open_data(path) as chunks:
        data = list(chunks)  # all of it, as a pipe can be read only once
    if is_tbx(b"".join(data[:HEAD_CHUNKS])):
        glossary = Glossary(_tbx_terms(data, str(path), languages))
    else:
        lines = enumerate(split_lines(text_chunks(iter(data), str(path)), path), start=1)
        decoded = ((number, decode_line(line, path, number)) for number, line in lines)
        glossary = Glossary(_terms(decoded, str(path)))
    if not glossary.terms:
        log.warning("%s: has no terms from %s to %s", path, *languages)
    return glossary


def _tbx_terms(data: list[bytes], name: str, languages: tuple[str, str]) -> Iterator[Term]:
    for concept in read_tbx(data, name, languages):
        place = f"{name}:{concept.line}"
        for source in concept.sources:
            yield Term(source, concept.targets, concept.unwanted, place=place)


def _terms(lines: Iterable[tuple[int, str]], name: str) -> Iterator[Term]:
    for number, line in lines:
        if line.strip() and not line.startswith("#"):
            yield parse_term(line, f"{name}:{number}")


def parse_term(line: str, place: str) -> Term:
    """Return the entry that a line of fields is.

    :raises DataError: the line is no entry.
    """
    source, *rest = (_field(part.strip()) for part in line.rstrip("\r\n").split("\t"))
    if not 1 <= len(rest) <= 2:
        raise DataError(
            f"{place}: {counted(len(rest) + 1, 'field')}; an entry is"
            " SOURCE<TAB>TRANSLATION|TRANSLATION and perhaps <TAB>FLAGS"
        )
    flags = rest[1].replace(",", " ").split() if len(rest) == 2 else []
    unknown = [flag for flag in flags if flag not in FLAGS]
    if unknown:
        raise DataError(f"{place}: no such flag: '{unknown[0]}'; the flags are {', '.join(FLAGS)}")
    targets = tuple(target.strip() for target in rest[0].split("|") if target.strip())
    if not targets:
        raise DataError(f"{place}: no translation; give at least one word")
    if any(map(_is_too_long, (source, *targets))):
        raise DataError(f"{place}: more than {MAX_TERM_WORDS} words; terms are shorter")
    if FORBIDDEN in flags:
        return Term(source, (), targets, CASE_SENSITIVE in flags, place)
    if not source:
        raise DataError(f"{place}: no term before the tab; only forbidden words need none")
    return Term(source, targets, (), CASE_SENSITIVE in flags, place)


def _is_too_long(text: str) -> bool:
    """Return whether a text has too many words, which are not counted where it is short."""
    return len(text) > MAX_TERM_WORDS and len(words_of(text)) > MAX_TERM_WORDS


def _field(text: str) -> str:
    """Return the value of a field, without the quotation marks of a spreadsheet."""
    inner = unquoted(text)
    return text if inner is None else inner.strip()
