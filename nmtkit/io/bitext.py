"""Bitexts in the forms that they are found in, as blocks of pairs of lines.

Two files: line n of one translates line n of the other. One file, recognised by its content:

    TSV    a pair a line, in two of its columns, which a tab separates
    TMX    translation memories in XML, see `nmtkit.io.tmx`
    zip    Moses's form of OPUS: a file for each language, see `nmtkit.io.moses_zip`

Everything is read as a stream: memory does not grow with the file.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from nmtkit.errors import DataError, counted
from nmtkit.io.inputs import Source, open_data
from nmtkit.io.language_tags import best_matches
from nmtkit.io.lines import BLOCK_LINES, blocks_of, read_raw_blocks, split_lines
from nmtkit.io.moses_zip import ZIP_MAGIC, open_members
from nmtkit.io.text_content import BOM, text_chunks
from nmtkit.io.tmx import NumberedPair, is_tmx, read_tmx

logger = logging.getLogger("nmtkit")

SNIFFED_BYTES = 1 << 10
"""Bytes of a file that decide which form it has."""

MAX_FIRST_LINES = 100
"""Lines of a TSV file that are looked at to see whether the chosen columns hold text."""

_ADDRESS_OR_NUMBER = re.compile(rb"\s*([a-z]+://\S*|[-+]?\d+([.,]\d+)?(e[-+]?\d+)?)\s*", re.I)

_QUOTED = re.compile(rb'"((?:[^"]|"")*)"')

_HEADER = {b"source", b"target", b"src", b"tgt", b"trg", b"english", b"sentence", b"translation"}

Columns = tuple[int, int]
"""The columns of source and target in a TSV file, from 1."""


class PairBlock(NamedTuple):
    """Consecutive pairs of a bitext.

    src, tgt: lines without newlines; they need not be UTF-8, unless they are from a TMX file.
    names: of the file that each side is from, for messages; in a zip file, `x.zip:member`.
    numbers: where each pair is in its file or files, for messages: the number of the line; in a TMX
        file that of the line where the unit begins.
    """

    src: list[bytes]
    tgt: list[bytes]
    names: tuple[str, str]
    numbers: Sequence[int]


def read_bitext(
    paths: Sequence[Source],
    languages: tuple[str, str],
    size: int = BLOCK_LINES,
    columns: Columns = (1, 2),
) -> Iterator[PairBlock]:
    """Yield the pairs of a bitext, `size` at a time.

    :param paths: the source file and the target file, or one file that holds both.
    :param languages: codes of the source and the target language, such as `en` and `pt-BR`; they
        choose what is read of a TMX or zip file.
    :param columns: the columns that are read of a TSV file.
    :raises DataError: a file cannot be read, is damaged, or has another form, or the numbers of
        lines of two files differ.
    """
    if len(paths) == 2:
        names = (str(paths[0]), str(paths[1]))
        yield from line_blocks(names, read_raw_blocks(size, *paths))
        return
    if len(paths) != 1:
        given = ", ".join(map(str, paths)) or "no file"
        raise DataError(f"{given}: give a source file and a target file, or one that holds both")
    (path,) = paths
    with ExitStack() as stack:
        chunks = stack.enter_context(open_data(path))
        head = _head(chunks)
        chunks = chain([head], chunks)
        if head.startswith(ZIP_MAGIC):
            names, sides = open_members(path, languages, stack)
            yield from line_blocks(names, _zip_blocks(size, names, sides))
        elif is_tmx(head):
            yield from _blocks(read_tmx(chunks, str(path), languages), str(path), size)
        else:
            lines = split_lines(text_chunks(chunks, str(path)), path)
            yield from _blocks(_read_tsv(lines, str(path), columns, languages), str(path), size)


def _head(chunks: Iterator[bytes]) -> bytes:
    """Return the first bytes, enough to tell the form."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= SNIFFED_BYTES:
            break
    return head


def _zip_blocks(
    size: int, names: tuple[str, str], sides: Iterable[Iterator[bytes]]
) -> Iterator[tuple[list[bytes], ...]]:
    """Yield blocks of the lines of two members."""
    texts = [text_chunks(side, name) for side, name in zip(sides, names, strict=True)]
    return blocks_of(size, names, map(split_lines, texts, names))


def line_blocks(
    names: tuple[str, str], blocks: Iterable[tuple[list[bytes], ...]]
) -> Iterator[PairBlock]:
    """Yield blocks of two sides, whose lines have the same numbers."""
    first = 1
    for src, tgt in blocks:
        yield PairBlock(src, tgt, names, range(first, first + len(src)))
        first += len(src)


def _blocks(pairs: Iterator[NumberedPair], name: str, size: int) -> Iterator[PairBlock]:
    """Yield blocks of one file."""
    while block := list(islice(pairs, size)):
        numbers, src, tgt = map(list, zip(*block, strict=True))
        yield PairBlock(src, tgt, (name, name), numbers)


def _read_tsv(
    lines: Iterator[bytes], name: str, columns: Columns, languages: tuple[str, str]
) -> Iterator[NumberedPair]:
    """Yield two columns of each line.

    :raises DataError: a line has not as many columns as the first, or none holds text.
    """
    first = list(islice(lines, MAX_FIRST_LINES))
    if not first:
        return
    width = first[0].count(b"\t") + 1
    rows = [line.split(b"\t") for line in first]
    _check_columns(rows, name, columns)
    _warn_of_form(
        [[row[c - 1] for c in columns] for row in rows if len(row) == width], name, languages
    )
    src, tgt = (column - 1 for column in columns)
    for number, line in enumerate(chain(first, lines), start=1):
        cells = line.split(b"\t")
        if len(cells) != width:
            raise DataError(
                f"{name}:{number}: {counted(len(cells), 'column')}, but the first line has"
                f" {width}; correct the line, or remove it"
            )
        # `paste` leaves the mark of the second file before its cell
        yield number, cells[src].removeprefix(BOM), cells[tgt].removeprefix(BOM)


def _check_columns(rows: list[list[bytes]], name: str, columns: Columns) -> None:
    """Check by the first lines of a TSV file that the chosen columns exist and hold text.

    :raises DataError: they do not.
    """
    width = len(rows[0])
    if width == 1 and max(columns) <= 2:
        raise DataError(
            f"{name}:1: one column, and neither TMX nor a zip file of OPUS; give two files, or one"
            " with a tab between source and target"
        )
    if max(columns) > width:
        raise DataError(
            f"{name}:1: there is no column {max(columns)}, but {counted(width, 'column')}"
        )
    for column in columns if width > 2 else ():
        cells = [row[column - 1] for row in rows if len(row) >= column]
        if all(map(_ADDRESS_OR_NUMBER.fullmatch, cells)):
            raise DataError(
                f"{name}: column {column} of {width} holds addresses or numbers, not text; keep"
                " only those of source and target, for example with cut -f 3,4"
            )


def _warn_of_form(rows: list[list[bytes]], name: str, languages: tuple[str, str]) -> None:
    """Warn of a header, and of quotation marks as spreadsheets write them.

    :param rows: the cells of source and target in the first lines.
    """
    header = [cell.strip().lower() for cell in rows[0]]
    if _HEADER.issuperset(header) or all(
        best_matches(language, [cell.decode(errors="replace")])
        for language, cell in zip(languages, header, strict=True)
    ):
        _warn_once(
            f"{name}:1: looks like a header, and is read as a pair; remove the line if it is a"
            " header"
        )
    quoted = [_QUOTED.fullmatch(cell) for row in rows for cell in row]
    if (len(rows) > 1 and all(quoted)) or any(match and b'""' in match[1] for match in quoted):
        _warn_once(
            f"{name}: looks quoted, as spreadsheets write cells; the quotation marks are read as"
            " text; export the file without them if they are not"
        )


@lru_cache(maxsize=1024)
def _warn_once(message: str) -> None:
    """Log a warning once, though a file is read several times."""
    logger.warning("%s", message)
