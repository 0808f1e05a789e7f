"""Alignment error rate, and readers for the two formats of gold alignments.

Och & Ney 2003, "A systematic comparison of various statistical alignment models", section 4.1.
Annotators mark a link as sure (S) or possible (P, which contains S). For the links A of a program,

    precision = |A ∩ P| / |A|,   recall = |A ∩ S| / |S|,
    AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

with the sizes summed over all sentences. A link is a pair (source, target) of word positions,
counted from 0; `</s>` has no links.
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from nmtkit.errors import DataError

Link = tuple[int, int]

MOSES_LINK = re.compile(r"([0-9]{1,9})([-?p])([0-9]{1,9})")
NAACL_LINE = re.compile(
    r"([0-9]{1,7})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP]))?(?:\s+[0-9.]+)?", re.ASCII
)


@dataclass(frozen=True)
class GoldLinks:
    """Gold links of one sentence pair; every sure link is also possible."""

    sure: frozenset[Link]
    possible: frozenset[Link] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "possible", self.possible | self.sure)


@dataclass(frozen=True)
class AlignmentErrorRate:
    """Alignment error rate of a program's links; all figures are between 0 and 1.

    value: alignment error rate, lower is better; precision, recall: higher is better.
    links, sure, possible: |A|, |S| and |P| over all sentences.
    """

    value: float
    precision: float
    recall: float
    links: int
    sure: int
    possible: int


def alignment_error_rate(
    links: Sequence[Set[Link]], gold: Sequence[GoldLinks]
) -> AlignmentErrorRate:
    """Compute the alignment error rate over all sentences.

    If a denominator is 0, nothing is missed or wrong: recall or precision is 1, and the error rate
    0.

    :param links: A: the links (source, target) of each sentence pair, counted from 0.
    :param gold: gold links of the same sentence pairs.
    :raises DataError: the numbers of sentence pairs differ.
    """
    if len(links) != len(gold):
        raise DataError(
            f"there are links for {len(links)} sentence pairs but gold links for {len(gold)}; "
            "give the alignments of the same sentence pairs"
        )
    proposed = sum(len(a) for a in links)
    sure = sum(len(g.sure) for g in gold)
    in_sure = sum(len(a & g.sure) for a, g in zip(links, gold, strict=True))
    in_possible = sum(len(a & g.possible) for a, g in zip(links, gold, strict=True))
    return AlignmentErrorRate(
        value=1.0 - _ratio(in_sure + in_possible, proposed + sure),
        precision=_ratio(in_possible, proposed),
        recall=_ratio(in_sure, sure),
        links=proposed,
        sure=sure,
        possible=sum(len(g.possible) for g in gold),
    )


def read_gold_links(
    lines: Iterable[str], name: str = "the gold alignment", sentences: int | None = None
) -> list[GoldLinks]:
    """Read gold links in either format, which the first line with a link determines.

    Moses: one line per sentence pair; `i-j` is a sure link, `i?j` or `ipj` a possible one, with
    positions from 0, source first. An empty line is a pair without links.

    NAACL 2003 (Mihalcea & Pedersen): one line per link, `sentence source target`, all from 1, then
    `S` or `P` (default S) and optionally a confidence, which is ignored. Position 0 is the empty
    word, and such a line is skipped. Sentence pairs without a line have no links.

    :param lines: lines of the file, without their newlines.
    :param name: of the file in error messages.
    :param sentences: number of sentence pairs, if known; the NAACL format does not show it when
        the last pairs have no links. By default the highest number in the file is the last pair.
    :return: gold links of each sentence pair, in order.
    :raises DataError: a line is in neither format, or not in the format of the lines before it, or
        has a sentence number above `sentences`.
    """
    rows = list(lines)
    first = next((row for row in rows if row.strip()), "")
    if NAACL_LINE.fullmatch(first.strip()):
        return _read_naacl(rows, name, sentences)
    return [_parse_moses_line(row, f"{name}:{n}") for n, row in enumerate(rows, start=1)]


def links_outside(
    gold: Sequence[GoldLinks], lengths: Sequence[tuple[int, int]]
) -> list[tuple[int, Link]]:
    """Return the gold links between words that a pair does not have, with its number from 1.

    :param lengths: numbers of source and target words of each pair.
    """
    return [
        (number, link)
        for number, (links, (src, tgt)) in enumerate(zip(gold, lengths, strict=False), start=1)
        for link in sorted(links.possible)
        if link[0] >= src or link[1] >= tgt
    ]


def _parse_moses_line(row: str, location: str) -> GoldLinks:
    sure: set[Link] = set()
    possible: set[Link] = set()
    for text in row.split():
        match = MOSES_LINK.fullmatch(text)
        if match is None:
            raise DataError(
                f"{location}: '{text}' is not a link; write i-j (sure) or i?j (possible) with "
                "positions from 0, or lines of the NAACL 2003 format, SENTENCE SOURCE TARGET S|P"
            )
        links = sure if match[2] == "-" else possible
        links.add((int(match[1]), int(match[3])))
    return GoldLinks(frozenset(sure), frozenset(possible))


def _read_naacl(rows: Sequence[str], name: str, sentences: int | None) -> list[GoldLinks]:
    sure: dict[int, set[Link]] = {}
    possible: dict[int, set[Link]] = {}
    last = 0
    for n, row in enumerate(rows, start=1):
        if not row.strip():
            continue
        sentence, source, target, is_sure = _parse_naacl_line(row, f"{name}:{n}", sentences)
        last = max(last, sentence)
        if source and target:
            links = sure if is_sure else possible
            links.setdefault(sentence, set()).add((source - 1, target - 1))
    return [
        GoldLinks(frozenset(sure.get(s, ())), frozenset(possible.get(s, ())))
        for s in range(1, (last if sentences is None else sentences) + 1)
    ]


def _parse_naacl_line(row: str, location: str, sentences: int | None) -> tuple[int, int, int, bool]:
    """Return sentence, source and target position, all from 1, and True for a sure link."""
    match = NAACL_LINE.fullmatch(row.strip())
    if match is None:
        raise DataError(
            f"{location}: '{row.strip()}' is not a link of the NAACL 2003 format; write "
            "SENTENCE SOURCE TARGET with numbers from 1, then S or P"
        )
    sentence = int(match[1])
    if sentence == 0 or (sentences is not None and sentence > sentences):
        last = "" if sentences is None else f" to {sentences}"
        raise DataError(
            f"{location}: there is no sentence pair {sentence}; number the pairs from 1{last}"
        )
    return sentence, int(match[2]), int(match[3]), match[4] != "P"


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
