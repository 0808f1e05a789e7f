#!/usr/bin/env python3
"""Choose sentence pairs of a prepared set: by length, by known words, at random or the longest.

    choose.py train --words 1-30 --random 2000 --output text/train30
    choose.py test --known vocab.src vocab.tgt --output text/test-known
    choose.py test --source-words 30- --longest 3 --output text/longest

The first reads train.src and train.tgt. Written are NAME.src and NAME.tgt, with subwords joined,
and NAME.lines with the number of each pair in the set, from 1. Chosen pairs keep their order. With
`--unique` only the first of neighbouring pairs with the same source counts, as in a phrase table. A
corpus may be large and is never in memory; it is read twice.

The same set and seed give the same pairs everywhere: Python keeps the sequence of `random()`.
"""

import argparse
import heapq
import os
import random
import sys
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from corpora import CorpusError, run_program  # noqa: E402 (found beside this folder, from any one)

SIDES = ("src", "tgt")
Pair = tuple[str, str]
Range = tuple[int, int]


def range_of(text: str) -> Range:
    """Return the ends of `10-20` or `30-`, inclusive; without an end any number is allowed."""
    low, _, high = text.partition("-")
    return int(low), int(high) if high else 1 << 62


def pairs_of(name: str) -> Iterator[Pair]:
    """Yield the pairs of NAME.src and NAME.tgt, with subwords joined; only newlines end a line.

    :raises ValueError: the files are not UTF-8, or differ in their number of lines.
    """
    with (
        open(f"{name}.src", encoding="utf-8", newline="\n") as source,
        open(f"{name}.tgt", encoding="utf-8", newline="\n") as target,
    ):
        try:
            for src, tgt in zip(source, target, strict=True):
                yield (
                    src.removesuffix("\n").replace("@@ ", ""),
                    tgt.removesuffix("\n").replace("@@ ", ""),
                )
        except UnicodeDecodeError as error:
            raise ValueError(f"{name}: not valid UTF-8") from error
        except ValueError as error:
            raise ValueError(f"{name}: one of .src and .tgt is shorter than the other") from error


def words_of(path: Path) -> frozenset[str]:
    """Return the words of a shortlist, which has a word, a tab and a count in each line."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        return frozenset(line.split("\t")[0] for line in lines)


def length(line: str) -> int:
    """Return the number of words."""
    return sum(1 for word in line.split(" ") if word)


def is_known(pair: Pair, vocabularies: Sequence[frozenset[str]]) -> bool:
    """Return whether each side has only words of its shortlist."""
    return all(
        words.issuperset(word for word in line.split(" ") if word)
        for line, words in zip(pair, vocabularies, strict=True)
    )


def fits(
    pair: Pair, words: Range, source_words: Range, vocabularies: Sequence[frozenset[str]]
) -> bool:
    """Return whether a pair fulfils all conditions.

    :param words: number of words of either side.
    :param source_words: number of words of the source.
    :param vocabularies: shortlists of both sides; empty: any words.
    """
    lengths = [length(line) for line in pair]
    return (
        all(words[0] <= number <= words[1] for number in lengths)
        and source_words[0] <= lengths[0] <= source_words[1]
        and (not vocabularies or is_known(pair, vocabularies))
    )


def eligible(options: argparse.Namespace) -> Iterator[int]:
    """Yield the numbers of the pairs that fulfil all conditions of the command line."""
    vocabularies = [words_of(path) for path in options.known]
    before = None
    for number, pair in enumerate(pairs_of(options.set), start=1):
        repeated = options.unique and pair[0] == before
        if not repeated and fits(pair, options.words, options.source_words, vocabularies):
            yield number
        before = pair[0]


def draw(lines: Sequence[int], count: int, seed: int) -> Iterator[int]:
    """Yield random lines in their order, each subset of `count` with the same probability.

    Knuth, The Art of Computer Programming, volume 2, section 3.4.2, algorithm S. All lines are
    yielded if there are not more than `count`.
    """
    uniform = random.Random(seed).random
    for left, line in zip(range(len(lines), 0, -1), lines, strict=True):
        if uniform() * left < count:
            yield line
            count -= 1


def longest(name: str, lines: Sequence[int], count: int) -> list[int]:
    """Return the lines with the longest sources, in their order; the earlier of equals."""
    wanted = frozenset(lines)
    lengths = (
        (length(src), -number)
        for number, (src, _) in enumerate(pairs_of(name), start=1)
        if number in wanted
    )
    return sorted(-line for _, line in heapq.nlargest(count, lengths))


def write(name: str, lines: Sequence[int], output: str) -> None:
    """Write the pairs of some lines, given in order, each file completely or not at all."""
    parts = [Path(f"{output}.{ending}.part") for ending in (*SIDES, "lines")]
    with (
        parts[0].open("w", encoding="utf-8", newline="\n") as source,
        parts[1].open("w", encoding="utf-8", newline="\n") as target,
        parts[2].open("w", encoding="utf-8") as numbers,
    ):
        wanted = chain(lines, [0])
        following = next(wanted)
        for number, (src, tgt) in enumerate(pairs_of(name), start=1):
            if number == following:
                source.write(f"{src}\n")
                target.write(f"{tgt}\n")
                numbers.write(f"{number}\n")
                following = next(wanted)
    for part in reversed(parts):  # the source last: later targets depend on it
        os.replace(part, part.with_suffix(""))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program.

    :param arguments: Command line; None: sys.argv.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("set", metavar="SET", help="path without .src and .tgt")
    parser.add_argument("--words", type=range_of, default=range_of("0-"), metavar="LOW-HIGH")
    parser.add_argument("--source-words", type=range_of, default=range_of("0-"), metavar="LOW-HIGH")
    parser.add_argument("--known", nargs=2, type=Path, default=(), metavar="VOCAB")
    parser.add_argument("--unique", action="store_true")
    parser.add_argument("--random", type=int, metavar="N")
    parser.add_argument("--longest", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--output", required=True, metavar="NAME")
    options = parser.parse_args(arguments)
    lines: Sequence[int] = array("q", eligible(options))
    if options.random is not None:
        lines = list(draw(lines, options.random, options.seed))
    if options.longest is not None:
        lines = longest(options.set, lines, options.longest)
    write(options.set, lines, options.output)


def run(arguments: Sequence[str] | None) -> None:
    """Run the program.

    :raises CorpusError: the set is not a bitext.
    """
    try:
        main(arguments)
    except ValueError as error:
        raise CorpusError(str(error)) from error


if __name__ == "__main__":
    sys.exit(run_program("choose", run, None))
