"""Hold a random test set out of a bitext.

    hold_out.py all --pairs 2000 --output test --rest train

all.en and all.fr are read, and test.en, test.fr, train.en and train.fr written. No pair of the rest
has a side that equals a side of the test set, or differs from it only in case, spacing, digits and
punctuation: laws and captions repeat themselves. Nor does the test set repeat itself. The same
bitext and seed give the same sets. The bitext is read from disk several times and never in memory.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from corpora import CorpusError, run_program
from join import SIDES, count

Pair = tuple[bytes, bytes]
Keys = tuple[set[str], set[str]]
DRAWN = 3
"""Pairs drawn for each that is wanted, as some are equal; if too many are, DRAWN times as many."""


def pairs_of(stem: str) -> Iterator[Pair]:
    """Yield the pairs with their newlines, which alone end a line; a last one may lack its own."""
    with open(stem + SIDES[0], "rb") as source, open(stem + SIDES[1], "rb") as target:
        for src, tgt in zip(source, target, strict=True):
            yield src.removesuffix(b"\n") + b"\n", tgt.removesuffix(b"\n") + b"\n"


def key_of(line: bytes) -> str:
    """Return what two lines that are all but equal have in common: their letters."""
    return "".join(filter(str.isalpha, line.decode("utf-8", errors="replace").lower()))


def draw(stem: str, lines: int, pairs: int, seed: int) -> tuple[set[int], Keys]:
    """Draw distinct pairs at random.

    :param lines: number of pairs in the bitext.
    :return: their line numbers from 0, and the keys of both sides.
    :raises CorpusError: the bitext has too few distinct pairs.
    """
    drawn = min(lines, DRAWN * pairs)
    while True:
        chosen, keys = distinct(stem, random.Random(seed).sample(range(lines), drawn), pairs)
        if len(chosen) == pairs:
            return chosen, keys
        if drawn == lines:
            raise CorpusError(
                f"{stem}: {lines:,} pairs have too few distinct ones for a test set of {pairs:,}"
            )
        drawn = min(lines, DRAWN * drawn)


def distinct(stem: str, order: Sequence[int], pairs: int) -> tuple[set[int], Keys]:
    """Return the first distinct pairs of an order: their line numbers, and the keys of both sides.

    :param order: line numbers from 0.
    :param pairs: most pairs to return.
    """
    candidates = dict.fromkeys(order, ("", ""))
    for number, (src, tgt) in enumerate(pairs_of(stem)):
        if number in candidates:
            candidates[number] = key_of(src), key_of(tgt)
    chosen: set[int] = set()
    keys: Keys = set(), set()
    for number, pair in candidates.items():
        is_new = all(key and key not in side for key, side in zip(pair, keys, strict=True))
        if is_new and len(chosen) < pairs:
            chosen.add(number)
            for key, side in zip(pair, keys, strict=True):
                side.add(key)
    return chosen, keys


def hold_out(stem: str, pairs: int, output: str, rest: str, seed: int) -> tuple[int, int]:
    """Write the test set and the rest; return the numbers of pairs of the rest and left out.

    :raises CorpusError: the sides differ in length, or the bitext is too small.
    """
    lines, targets = (count(Path(stem + side)) for side in SIDES)
    if lines != targets:
        raise CorpusError(f"{stem}: {lines:,} English and {targets:,} French lines")
    chosen, keys = draw(stem, lines, pairs, seed)
    stems = output, rest
    names = [Path(f"{name}{side}") for name in stems for side in SIDES]
    parts = [path.with_name(f".{path.name}.tmp") for path in names]
    kept = 0
    with (
        open(parts[0], "wb") as src_test,
        open(parts[1], "wb") as tgt_test,
        open(parts[2], "wb") as src_rest,
        open(parts[3], "wb") as tgt_rest,
    ):
        for number, (src, tgt) in enumerate(pairs_of(stem)):
            if number in chosen:
                src_test.write(src)
                tgt_test.write(tgt)
            elif key_of(src) not in keys[0] and key_of(tgt) not in keys[1]:
                src_rest.write(src)
                tgt_rest.write(tgt)
                kept += 1
    for part, path in zip(parts, names, strict=True):
        part.replace(path)
    return kept, lines - kept - pairs


def run(arguments: Sequence[str] | None) -> None:
    """Hold out a test set and report the numbers of pairs.

    :raises CorpusError: the bitext cannot give one.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("bitext", help="its name without .en and .fr")
    parser.add_argument("--pairs", type=int, required=True, help="size of the test set")
    parser.add_argument("--output", required=True, help="name of the test set")
    parser.add_argument("--rest", required=True, help="name of what is left")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.pairs < 1:
        parser.error("--pairs must be at least 1")
    kept, dropped = hold_out(
        options.bitext, options.pairs, options.output, options.rest, options.seed
    )
    print(
        f"{options.output}: {options.pairs:,} pairs; {options.rest}: {kept:,} pairs, without"
        f" {dropped:,} that equal one of the test set on a side",
        file=sys.stderr,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 on failure."""
    return run_program("hold_out", run, arguments)


if __name__ == "__main__":
    sys.exit(main())
