"""Measure how well `nmtkit translate --markup` keeps markup, and places it.

    python bench/markup.py --model MODEL --text SRC TGT [--lines 1000] [--output FILE]

SRC and TGT are raw lines with inline markup; both sides of a pair have the same elements. Three
measurements:

- *kept*: translations that have all markup of their source, each element once, nested;
- *words*: elements of translations whose words are those of the element in TGT;
- *placed*: TGT without markup is aligned with SRC, and the markup of SRC is put into it: elements
  that stand around the same words as in TGT. Here the model's translation does not matter.

*Placed* is also measured for what is simplest: attention alone, each element from the first to the
last word whose strongest link is to a word of the element.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress, islice
from pathlib import Path

import numpy as np
import torch
from timing import machine, report_progress, table, write_report

from nmtkit import Aligner, Translator
from nmtkit.inference.markup_translator import MarkupTranslator
from nmtkit.io.lines import read_parallel
from nmtkit.text.markup import Element, MarkedText, Markup, parse_markup
from nmtkit.text.markup_placement import Aligned, Place, place_elements
from nmtkit.text.word_offsets import word_offsets

SIGNS = re.compile(r"<[^<>]*>|&[A-Za-z0-9#]+;")
ATTRIBUTES = re.compile(r"\s.*", re.DOTALL)


def name_of(element: Element) -> str:
    """Return an element's tag without its attributes, which may name the language."""
    return ATTRIBUTES.sub("", element.opening.strip("<>/"))


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


def hard_places(elements: Sequence[Element], aligned: Aligned) -> list[Place]:
    """Return the places from the first to the last word linked to each element."""
    best = aligned.weights.argmax(1) if aligned.weights.size else np.empty(0, int)
    places = []
    for element in elements:
        columns = aligned.columns(element.start, element.end)
        rows = np.flatnonzero(np.isin(best, columns)) if len(columns) else np.empty(0, int)
        places.append(Place(int(rows[0]), int(rows[-1]) + 1) if len(rows) else Place(0, 0))
    return places


def placed(
    aligner: Aligner, pairs: Sequence[tuple[MarkedText, MarkedText]], rounds: int, hard: bool
) -> Iterator[list[tuple[str, str]]]:
    """Yield name and words of each element of the sources, as they are put into the targets."""
    texts = [(src.text, tgt.text) for src, tgt in pairs]
    alignments = aligner.align(texts, rounds=rounds)
    for (src, tgt), alignment in zip(pairs, alignments, strict=True):
        src_offsets = word_offsets(alignment.src_words, src.text)
        tgt_offsets = word_offsets(alignment.tgt_words, tgt.text)
        weights = alignment.matrix[: len(tgt_offsets), : len(src_offsets)].numpy()
        aligned = Aligned(tgt.text, src_offsets, tgt_offsets, weights)
        places = (hard_places if hard else place_elements)(src.elements, aligned)
        yield [
            (name_of(element), words_at(aligned, place))
            for element, place in zip(src.elements, places, strict=True)
            if element.closing
        ]


def words_at(aligned: Aligned, place: Place) -> str:
    """Return the text of a place."""
    if place.first >= place.stop:
        return ""
    return aligned.text[aligned.tgt[place.first][0] : aligned.tgt[place.stop - 1][1]]


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--text", nargs=2, required=True, metavar="FILE")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    lines = list(islice(read_parallel(*options.text), options.lines))
    marked = [
        (parse_markup(src, Markup.HTML), parse_markup(tgt, Markup.HTML)) for src, tgt in lines
    ]
    alike = [
        sorted(map(name_of, src.elements)) == sorted(map(name_of, tgt.elements))
        for src, tgt in marked
    ]
    pairs = list(compress(marked, alike))
    expected = [spans_of(tgt) for _, tgt in pairs]
    total = sum(map(len, expected))
    report_progress(f"{len(lines)} pairs, {len(pairs)} with the same elements, {total} elements")
    translator = MarkupTranslator(Translator.load(options.model, device="cpu"), Markup.HTML)
    outputs = [best.text for best, *_ in translator.translate([src for src, _ in lines])]
    kept = sum(is_kept(src, output) for (src, _), output in zip(lines, outputs, strict=True))
    found = [spans_of(parse_markup(output, Markup.HTML)) for output in compress(outputs, alike)]
    words = sum(map(same, found, expected))
    aligner = Aligner.load(options.model, device="cpu")
    rows = [["lines with all markup", f"{100 * kept / len(lines):.1f} %"]]
    rows.append(["elements with the reference's words", f"{100 * words / total:.1f} %"])
    for name, rounds, hard in (
        ("placed in the reference, links learned from all pairs", 3, False),
        ("the same by attention", 0, False),
        ("the same by attention's strongest links alone", 0, True),
    ):
        right = sum(map(same, placed(aligner, pairs, rounds, hard), expected))
        rows.append([name, f"{100 * right / total:.1f} %"])
    heading = f"{machine()}; {options.model}, {len(lines)} pairs, {total} elements with contents"
    write_report(options.output, f"{heading}\n\n{table(['what', 'share'], rows)}", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
