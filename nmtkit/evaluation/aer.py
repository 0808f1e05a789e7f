"""Alignment error rate, and the two forms in which gold alignments come.

Och & Ney 2003, "A systematic comparison of various statistical alignment models", section 4.1.
People mark a link as sure (S) or as possible (P, which contains S); for the links A of a program

    precision = |A ∩ P| / |A|,   recall = |A ∩ S| / |S|,
    AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

with the sizes summed over all sentences. Links are pairs (source, target) of word positions
counted from 0; `</s>` takes part in none.
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
    """The links people set for one sentence pair; every sure link is possible, too."""

    sure: frozenset[Link]
    possible: frozenset[Link] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "possible", self.possible | self.sure)


@dataclass(frozen=True)
class AlignmentErrorRate:
    """How far a program's links are from the gold ones, all between 0 and 1.

    value: the alignment error rate, lower is better; precision, recall: higher is better.
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
    """Compare a program's links with the gold ones, over all sentences at once.

    Where nothing was to be found or nothing was proposed, nothing is missed or wrong: an empty
    divisor gives a recall or precision of 1 and an error rate of 0.

    :param links: A: for each sentence pair the links (source, target), counted from 0.
    :param gold: The gold links of the same sentence pairs.
    :return: The error rate with precision and recall.
    :raises DataError: The numbers of sentence pairs differ.
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
    """Read gold links in either of their forms, told apart by the first line that has any.

    Moses: a line for each sentence pair, `i-j` a sure link, `i?j` or `ipj` a possible one,
    positions from 0, source first; an empty line is a pair without links.

    NAACL 2003 (Mihalcea & Pedersen): a line for each link, `sentence source target`, all from 1,
    then `S` or `P` (sure where neither stands) and perhaps a confidence, which is not used.
    Position 0 is the empty word: such a line is no link. Sentence pairs that no line names
    have no links.

    :param lines: The lines of the file, without their newlines.
    :param name: What errors call the file.
    :param sentences: The number of sentence pairs, where known: the NAACL form cannot tell it
        when the last pairs have no links. Without it, the highest number named is the last pair.
    :return: The gold links of each sentence pair, in order.
    :raises DataError: A line is in neither form, or not in that of the lines before it, or
        names a sentence pair above `sentences`.
    """
    rows = list(lines)
    first = next((row for row in rows if row.strip()), "")
    if NAACL_LINE.fullmatch(first.strip()):
        return _read_naacl(rows, name, sentences)
    return [_moses_line(row, f"{name}:{n}") for n, row in enumerate(rows, start=1)]


def _moses_line(row: str, place: str) -> GoldLinks:
    sure: set[Link] = set()
    possible: set[Link] = set()
    for text in row.split():
        match = MOSES_LINK.fullmatch(text)
        if match is None:
            raise DataError(
                f"{place}: '{text}' is not a link; write i-j (sure) or i?j (possible) with "
                "positions from 0, or lines of the NAACL 2003 form, SENTENCE SOURCE TARGET S|P"
            )
        chosen = sure if match[2] == "-" else possible
        chosen.add((int(match[1]), int(match[3])))
    return GoldLinks(frozenset(sure), frozenset(possible))


def _read_naacl(rows: Sequence[str], name: str, sentences: int | None) -> list[GoldLinks]:
    sure: dict[int, set[Link]] = {}
    possible: dict[int, set[Link]] = {}
    last = 0
    for n, row in enumerate(rows, start=1):
        if not row.strip():
            continue
        sentence, source, target, is_sure = _naacl_line(row, f"{name}:{n}", sentences)
        last = max(last, sentence)
        if source and target:
            chosen = sure if is_sure else possible
            chosen.setdefault(sentence, set()).add((source - 1, target - 1))
    return [
        GoldLinks(frozenset(sure.get(s, ())), frozenset(possible.get(s, ())))
        for s in range(1, (last if sentences is None else sentences) + 1)
    ]


def _naacl_line(row: str, place: str, sentences: int | None) -> tuple[int, int, int, bool]:
    """Sentence, source and target position, all from 1, and whether the link is sure."""
    match = NAACL_LINE.fullmatch(row.strip())
    if match is None:
        raise DataError(
            f"{place}: '{row.strip()}' is not a link of the NAACL 2003 form; write "
            "SENTENCE SOURCE TARGET with numbers from 1, then S or P"
        )
    sentence = int(match[1])
    if sentence == 0 or (sentences is not None and sentence > sentences):
        known = "" if sentences is None else f" to {sentences}"
        raise DataError(
            f"{place}: there is no sentence pair {sentence}; number the pairs from 1{known}"
        )
    return sentence, int(match[2]), int(match[3]), match[4] != "P"


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
