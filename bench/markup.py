"""Measure how well `nmtkit translate --markup` keeps markup, and places it.

    python bench/markup.py --model MODEL --text SRC TGT [--lines 1000] [--output FILE]
        [--outputs FOLDER]

SRC and TGT are raw lines with inline markup; both sides of a pair have the same elements. Four
measurements:

- *kept*: translations that have all markup of their source, each element once, nested;
- *words*: elements of translations whose words are those of the element in TGT;
- sacreBLEU and chrF of translations without their markup;
- *placed*: TGT without markup is aligned with SRC, and the markup of SRC is put into it: elements
  that stand around the same words as in TGT. Here the model's translation does not matter.

*Placed* is also measured for what is simplest: attention alone, each element from the first to the
last word whose strongest link is to a word of the element. FOLDER gets the translations and the
lines of TGT with the markup so placed, from which `examples/kept_outputs.py` computes the shares.

    python bench/markup.py --model MODEL --text SRC TGT --gold LINKS [--lines 1000]

SRC and TGT are raw lines without markup whose true links are known, as in examples/toy-en-fr. An
element is put around words of the source drawn at random: one word, and up to `MAX_PHRASE`. They
have one true place: their links reach an interval of the target without gaps, whose words are
linked to no others. Only *placed* is measured, by positions of words.
"""

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scoring import scores_of_lines
from timing import (
    BenchError,
    exit_with,
    machine,
    positive,
    report_progress,
    table,
    write_lines,
    write_report,
)

from nmtkit import Aligner, Translator
from nmtkit.evaluation.aer import GoldLinks, read_gold_links
from nmtkit.inference.link_learning import ROUNDS
from nmtkit.inference.markup_translator import MarkupTranslator
from nmtkit.io.lines import read_lines, read_parallel
from nmtkit.text.markup import MarkedText, MarkupElement, parse_markup
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.markup_placement import Aligned, Place, place_elements, write_markup

SIGNS = re.compile(r"<[^<>]*>|&[A-Za-z0-9#]+;")
MAX_PHRASE = 5
"""Most words that an element is put around, where true links are known."""

METHODS = (
    ("placed in the reference, links learned from all pairs", "placed-links", ROUNDS, False),
    ("the same by attention", "placed-attention", 0, False),
    ("the same by attention's strongest links alone", "placed-strongest", 0, True),
)
"""Name, file, rounds of learning, and whether the strongest links alone decide."""

ATTRIBUTES = re.compile(r"\s.*", re.DOTALL)


def name_of(element: MarkupElement) -> str:
    """Return an element's tag without its attributes, which may name the language."""
    return name_in(element.opening)


def name_in(tag: str) -> str:
    """Return the name in a tag, without brackets, slashes and attributes."""
    return ATTRIBUTES.sub("", tag.strip("<>/"))


def spans_of(marked: MarkedText) -> list[tuple[str, str]]:
    """Return name and words of each element with contents, in an order that does not matter."""
    return [
        (name_of(e), marked.text[e.start : e.end].strip()) for e in marked.elements if e.closing
    ]


def same(found: Sequence[tuple[str, str]], expected: Sequence[tuple[str, str]]) -> int:
    """Return how many elements are equal."""
    return sum((Counter(found) & Counter(expected)).values())


def is_kept(source: str, output: str) -> bool:
    """Return whether an output has the markup of its source, nested if that is."""
    if sorted(SIGNS.findall(source)) != sorted(SIGNS.findall(output)):
        return False
    before, after = (parse_markup(line, Markup.HTML).elements for line in (source, output))
    return sum(bool(e.closing) for e in before) == sum(bool(e.closing) for e in after)


class MarkupShares(NamedTuple):
    """What became of markup, in percent.

    lines: those with all their markup. words: elements around the reference's words.
    elements: that have contents, in pairs with the same elements on both sides.
    """

    lines: float
    words: float
    elements: int

    @classmethod
    def of(cls, outputs: Sequence[str], pairs: Sequence[tuple[str, str]]) -> "MarkupShares":
        """Compare lines with markup with the sources and references that they belong to.

        :raises BenchError: their numbers differ, or no element has contents.
        """
        if len(outputs) != len(pairs):
            raise BenchError(f"{len(outputs)} lines with markup, not {len(pairs)}")
        expected = expected_spans(pairs)
        total = sum(map(len, expected))
        found = (spans_of(parse_markup(output, Markup.HTML)) for output in outputs)
        kept = sum(is_kept(src, output) for (src, _), output in zip(pairs, outputs, strict=True))
        return cls(100 * kept / len(pairs), 100 * sum(map(same, found, expected)) / total, total)


def text_scores(
    outputs: Sequence[str], pairs: Sequence[tuple[str, str]], language: str
) -> tuple[float, float]:
    """Return chrF and BLEU of lines without their markup, in a language."""
    texts, references = (
        [parse_markup(line, Markup.HTML).text for line in lines]
        for lines in (outputs, [tgt for _, tgt in pairs])
    )
    return scores_of_lines(texts, references, language)


def rows_of(
    outputs: Sequence[str], pairs: Sequence[tuple[str, str]], language: str
) -> list[list[str]]:
    """Return the rows of the table that are about translations."""
    shares = MarkupShares.of(outputs, pairs)
    chrf, bleu = text_scores(outputs, pairs, language)
    return [
        ["lines with all markup", f"{shares.lines:.1f} %"],
        [f"{shares.elements} elements with the reference's words", f"{shares.words:.1f} %"],
        ["sacreBLEU / chrF of the text without its markup", f"{bleu:.1f} / {chrf:.1f}"],
    ]


def expected_spans(pairs: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Return the elements with contents of each reference; none if the source has others.

    :raises BenchError: no reference has any.
    """
    marked = [[parse_markup(line, Markup.HTML) for line in pair] for pair in pairs]
    names = [[sorted(map(name_of, side.elements)) for side in pair] for pair in marked]
    expected = [
        spans_of(tgt) if src_names == tgt_names else []
        for (_, tgt), (src_names, tgt_names) in zip(marked, names, strict=True)
    ]
    if not any(expected):
        raise BenchError("no element has contents, and the same in source and reference")
    return expected


def hard_places(elements: Sequence[MarkupElement], aligned: Aligned) -> list[Place]:
    """Return the places from the first to the last word linked to each element."""
    best = aligned.weights.argmax(1) if aligned.weights.size else np.empty(0, int)
    places = []
    for element in elements:
        columns = aligned.columns(element.start, element.end)
        rows = np.flatnonzero(np.isin(best, columns)) if len(columns) else np.empty(0, int)
        places.append(Place(int(rows[0]), int(rows[-1]) + 1) if len(rows) else Place(0, 0))
    return places


def aligned_texts(
    aligner: Aligner, texts: Sequence[tuple[str, str]], rounds: int
) -> Iterator[Aligned]:
    """Yield each target, and how its words are aligned with those of the source."""
    for (src, tgt), alignment in zip(texts, aligner.align(texts, rounds=rounds), strict=True):
        src_offsets = aligner.model.src_text.offsets(alignment.src_words, src)
        tgt_offsets = aligner.model.tgt_text.offsets(alignment.tgt_words, tgt)
        weights = alignment.matrix[: len(tgt_offsets), : len(src_offsets)].numpy()
        yield Aligned(tgt, src_offsets, tgt_offsets, weights)


def placed(
    aligner: Aligner, pairs: Sequence[tuple[str, str]], rounds: int, hard: bool
) -> Iterator[str]:
    """Yield the targets with the markup of their sources in place of their own."""
    marked = [tuple(parse_markup(line, Markup.HTML) for line in pair) for pair in pairs]
    texts = [(src.text, tgt.text) for src, tgt in marked]
    for (src, _), aligned in zip(marked, aligned_texts(aligner, texts, rounds), strict=True):
        places = (hard_places if hard else place_elements)(src.elements, aligned)
        yield write_markup(src, places, aligned)


def true_places(gold: GoldLinks, words: int) -> dict[tuple[int, int], Place]:
    """Return the phrases of a source that have one true place, and their places.

    :param gold: links of the pair.
    :param words: of the source.
    :return: first word and the one behind the last.
    """
    places = {}
    for first in range(words):
        for stop in range(first + 1, min(first + MAX_PHRASE, words) + 1):
            inside = {target for source, target in gold.sure if first <= source < stop}
            outside = {target for source, target in gold.sure if not first <= source < stop}
            gaps = any(after - before > 1 for before, after in pairwise(sorted(inside)))
            if inside and not gaps and not inside & outside:
                places[first, stop] = Place(min(inside), max(inside) + 1)
    return places


def drawn(gold: GoldLinks, words: int, source: random.Random) -> list[tuple[int, int, Place]]:
    """Return a word and a longer phrase drawn at random, if there are any, and their places."""
    places = true_places(gold, words)
    kinds = [[key for key in places if (key[1] - key[0] > 1) is longer] for longer in (False, True)]
    return [(*key, places[key]) for keys in kinds if keys for key in [source.choice(keys)]]


def placed_right(
    aligner: Aligner,
    texts: Sequence[tuple[str, str]],
    gold: Sequence[GoldLinks],
    rounds: int,
    hard: bool,
) -> tuple[int, int]:
    """Return how many elements around words drawn at random are placed right, and of how many."""
    source = random.Random(1)
    right = total = 0
    for links, aligned in zip(gold, aligned_texts(aligner, texts, rounds), strict=True):
        for first, stop, place in drawn(links, len(aligned.src), source):
            element = MarkupElement(aligned.src[first][0], aligned.src[stop - 1][1], "<b>", "</b>")
            found = (hard_places if hard else place_elements)([element], aligned)
            right, total = right + (found == [place]), total + 1
    return right, total


def measure_gold(
    aligner: Aligner, texts: Sequence[tuple[str, str]], gold: Sequence[GoldLinks]
) -> list[list[str]]:
    """Return the rows of the table of texts whose true links are known."""
    rows = []
    for name, _, rounds, hard in METHODS:
        right, total = placed_right(aligner, texts, gold, rounds, hard)
        if not total:
            raise BenchError("no word of the source has one true place")
        rows.append([name, f"{100 * right / total:.1f} % of {total}"])
    return rows


def measure(model: str, lines: Sequence[tuple[str, str]], outputs: Path | None) -> list[list[str]]:
    """Return the rows of the table of texts with markup.

    :param outputs: folder for the lines that are measured.
    """
    elements = sum(map(len, expected_spans(lines)))
    report_progress(f"{len(lines)} pairs, {elements} elements")
    plain = Translator.load(model, device="cpu")
    translator = MarkupTranslator(plain, Markup.HTML)
    translations = [best.text for best, *_ in translator.translate([src for src, _ in lines])]
    rows = rows_of(translations, lines, plain.ensemble.first.config.text.tgt_language)
    texts = {"translations": translations}
    aligner = Aligner.load(model, device="cpu")
    for name, file, rounds, hard in METHODS:
        texts[file] = list(placed(aligner, lines, rounds, hard))
        rows.append([name, f"{MarkupShares.of(texts[file], lines).words:.1f} %"])
    if outputs:
        for file, text in texts.items():
            write_lines(outputs / file, text)
    return rows


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--text", nargs=2, required=True, metavar="FILE")
    parser.add_argument("--gold", metavar="LINKS", help="true links; the text has no markup")
    parser.add_argument("--lines", type=positive, default=1000)
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--outputs", type=Path, metavar="FOLDER", help="for the lines measured")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    lines = [(src, tgt) for src, tgt in islice(read_parallel(*options.text), options.lines)]
    if options.gold:
        links = list(islice(read_lines(options.gold), options.lines))
        gold = read_gold_links(links, options.gold, len(lines))
        if len(gold) != len(lines):
            raise BenchError(f"{options.gold}: links of {len(gold)} pairs, not of {len(lines)}")
        rows = measure_gold(Aligner.load(options.model, device="cpu"), lines, gold)
        heading = f"{machine()}; {options.model}, {len(lines)} pairs with true links"
        write_report(options.output, f"{heading}\n\n{table(['what', 'share'], rows)}", rows)
        return 0
    rows = measure(options.model, lines, options.outputs)
    heading = f"{machine()}; {options.model}, {len(lines)} pairs"
    write_report(options.output, f"{heading}\n\n{table(['what', 'share'], rows)}", rows)
    return 0


if __name__ == "__main__":
    exit_with(main)
