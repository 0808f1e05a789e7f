"""Measure `nmtkit translate --terms`: terms that are there, quality, and time.

    python bench/terms.py --model DIR --train train.en train.de --test test.en test.de
        [--lines 500] [--beams 1 5] [--rounds 3] --output terms.md

Two glossaries. *Headings*: short training pairs, whose terms the references have. *Wrong terms*: up
to two words of each line, which are to become rare words of the training text, drawn at random. In
"terms put in" they replace the words that attention links to them in the translation without terms,
which says what the terms themselves cost. Quality is by sacreBLEU; time is processor time of one
thread, the least of several rounds. The work folder gets the translations and their references.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from scoring import scores_of
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

from nmtkit import Translator
from nmtkit.inference.translation import Translation
from nmtkit.io.lines import read_parallel
from nmtkit.text.glossary import Glossary, Term, contains, count, words_of

MAX_HEADING_WORDS = 3
"""Words of a training pair, on each side, that is taken for a heading."""

MIN_LETTERS = 5
"""Letters of a source word that is given a wrong translation."""

RARE = range(2, 6)
"""How often a rare word occurs in the training text."""

WRONG_TERMS = 2
"""Of a line, at most."""

Pair = tuple[str, str]


class Case(NamedTuple):
    """Test lines, their references, and their glossary."""

    name: str
    sources: list[str]
    references: list[str]
    glossary: Glossary


def headings(train: Sequence[Pair], test: Sequence[Pair]) -> Case:
    """Return the lines all of whose terms are translated in the reference as in the glossary."""
    translations: dict[str, Counter[str]] = {}
    for src, tgt in train:
        lengths = len(words_of(src)), len(words_of(tgt))
        if all(1 <= length <= MAX_HEADING_WORDS for length in lengths) and len(src) > MIN_LETTERS:
            translations.setdefault(src.casefold(), Counter())[tgt] += 1
    best = {src: found.most_common(1)[0][0] for src, found in translations.items()}
    glossary = Glossary(Term(src, (tgt,)) for src, tgt in best.items())
    kept = []
    for src, tgt in test:
        found = glossary.find(src)
        wanted = Counter(one.term.targets[0] for one in found)
        if found and all(count(tgt, [term]) >= times for term, times in wanted.items()):
            kept.append((src, tgt))
    return Case("headings", [s for s, _ in kept], [t for _, t in kept], glossary)


def wrong_terms(train: Sequence[Pair], test: Sequence[Pair], seed: int = 1) -> Case:
    """Return lines with words that are to become others."""
    chance = random.Random(seed)
    counts = Counter(word.folded for _, tgt in train for word in words_of(tgt))
    rare = sorted(w for w, n in counts.items() if n in RARE and w.isalpha() and len(w) > 2)
    if not rare:
        return Case("wrong terms", [], [], Glossary([]))
    known = {word.folded for src, _ in train for word in words_of(src)}
    glossary: dict[str, str] = {}
    kept = []
    for src, tgt in test:
        words = [w.folded for w in words_of(src) if w.folded.isalpha() and w.folded in known]
        words = [w for w in dict.fromkeys(words) if len(w) >= MIN_LETTERS]
        there = [w for w in words if w in glossary]
        free = [w for w in words if w not in glossary]
        chance.shuffle(free)
        for word in free[: max(WRONG_TERMS - len(there), 0)]:
            glossary[word] = chance.choice(rare)
        kept.append((src, tgt))
    terms = Glossary(Term(src, (tgt,)) for src, tgt in glossary.items())
    some = [pair for pair in kept if 1 <= len(terms.find(pair[0])) <= WRONG_TERMS]
    return Case("wrong terms", [s for s, _ in some], [t for _, t in some], terms)


def present(case: Case, texts: Sequence[str]) -> tuple[int, int]:
    """Return how many terms the translations have, and how many they should have."""
    there = wanted = 0
    for src, text in zip(case.sources, texts, strict=True):
        terms = Counter(one.term.targets[0] for one in case.glossary.find(src))
        wanted += sum(terms.values())
        there += sum(min(times, count(text, [term])) for term, times in terms.items())
    return there, wanted


def substituted(case: Case, translations: Sequence[Translation]) -> Iterator[str]:
    """Yield translations in which the word that attention links to a term is replaced by it."""
    for src, one in zip(case.sources, translations, strict=True):
        alignment = one.word_alignment
        words = one.text.split()
        if alignment is None:
            yield one.text
            continue
        for found in case.glossary.find(src):
            columns = [
                number
                for number, word in enumerate(alignment.columns)
                if contains(found.term.source, word.strip())
            ]
            rows = alignment.matrix[: len(alignment.rows)][:, columns].sum(1)
            word = alignment.rows[int(rows.argmax())] if columns else ""
            place = next((n for n, text in enumerate(words) if contains(text, word)), None)
            if place is not None:
                words[place] = found.term.targets[0]
        yield " ".join(words)


def rows_of(
    case: Case, translator: Translator, beam: int, options: argparse.Namespace
) -> list[list[str]]:
    """Return a row for each way to translate."""
    language = translator.ensemble.first.config.text.tgt_language
    reference = options.work / f"{case.name}.reference"
    write_lines(reference, case.references)

    def row(name: str, texts: Sequence[str], seconds: float | None, base: float) -> list[str]:
        output = options.work / f"{case.name}.{name}.beam-{beam}"
        write_lines(output, texts)
        chrf, bleu = scores_of(output, reference, language)
        there, wanted = present(case, texts)
        spent = ["–", "–"] if seconds is None else [f"{seconds:.1f}", f"{seconds / base:.2f}"]
        share = f"{100 * there / max(wanted, 1):.1f} %"
        report_progress(f"{case.name}, beam {beam}, {name}: {share}, chrF {chrf:.1f}")
        return [case.name, str(beam), name, share, f"{chrf:.1f}", f"{bleu:.1f}", *spent]

    def translate(one: Translator, alignments: bool = False) -> tuple[list[Translation], float]:
        start = time.process_time()
        found = [best[0] for best in one.translate(case.sources, alignments=alignments)]
        return found, time.process_time() - start

    plain = translator.with_search(beam=beam)
    translate(plain)  # kernels are prepared
    aligned, _ = translate(plain, alignments=True)
    ways = {
        "no terms": plain,
        "strict": plain.with_terms(case.glossary, "strict"),
        "soft": plain.with_terms(case.glossary, "soft"),
    }
    found, seconds = dict[str, list[Translation]](), dict[str, float]()
    for _ in range(options.rounds):  # in turns, as other programs disturb
        for name, one in ways.items():
            found[name], spent = translate(one)
            seconds[name] = min(spent, seconds.get(name, spent))
    base = seconds["no terms"]
    rows = [row(name, [one.text for one in found[name]], seconds[name], base) for name in found]
    rows.insert(1, row("terms put in", list(substituted(case, aligned)), None, base))
    return rows


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--train", nargs=2, required=True, metavar="FILE")
    parser.add_argument("--test", nargs=2, required=True, metavar="FILE")
    parser.add_argument("--lines", type=positive, default=500, help="of each case, at most")
    parser.add_argument("--beams", type=positive, nargs="+", default=[5])
    parser.add_argument("--rounds", type=positive, default=3, help="the fastest of them counts")
    parser.add_argument("--work", type=Path, default=Path("build/bench/terms"))
    parser.add_argument("--output", type=Path)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = options_of(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    train = [(src, tgt) for src, tgt in read_parallel(*options.train)]
    test = [(src, tgt) for src, tgt in read_parallel(*options.test)]
    translator = Translator.load(options.model, device="cpu")
    rows = []
    for make in (headings, wrong_terms):
        case = make(train, test)
        case = case._replace(
            sources=case.sources[: options.lines], references=case.references[: options.lines]
        )
        report_progress(f"{case.name}: {len(case.sources)} lines")
        if not case.sources:
            continue  # a text without headings, or without rare words
        for beam in options.beams:
            rows += rows_of(case, translator, beam, options)
    if not rows:
        raise BenchError(
            f"{options.test[0]}: no line has a heading of the training text, or a word"
            " for a wrong term"
        )
    header = ["glossary", "beam", "translated with", "terms there", "chrF", "BLEU", "s", "times"]
    figures = [dict(zip(header, row, strict=True)) for row in rows]
    write_report(options.output, f"{machine()}\n\n{table(header, rows)}", figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
