"""Join bitexts into one: `join.py --output dev newstest2012 newstest2013` makes dev.en and dev.fr.

Both files are written together, if both sides of every input have the same number of lines and the
total is as required.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from corpora import CorpusError, status_of

SIDES = (".en", ".fr")
_BLOCK = 4 << 20


def count(path: Path) -> int:
    """Return the number of newlines of a file."""
    with open(path, "rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(_BLOCK), b""))


def join(stems: Sequence[str], output: str, wanted: int | None) -> int:
    """Write the bitexts one after another; return the number of pairs.

    :param stems: File names without .en and .fr.
    :raises CorpusError: Sides differ in length, or the number of pairs is not as required.
    """
    pairs = 0
    for stem in stems:
        src, tgt = (count(Path(stem + side)) for side in SIDES)
        if src != tgt:
            raise CorpusError(f"{stem}: {src:,} English and {tgt:,} French lines")
        pairs += src
    if wanted is not None and pairs != wanted:
        raise CorpusError(
            f"{output}: {pairs:,} pairs, where there must be exactly {wanted:,}: another test set"
            " than the papers' gives figures that compare with nothing"
        )
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    made = [Path(f"{output}{side}") for side in SIDES]
    asides = [path.with_name(f".{path.name}.tmp") for path in made]
    for side, aside in zip(SIDES, asides, strict=True):
        with open(aside, "wb") as target:
            for stem in stems:
                with open(stem + side, "rb") as source:
                    shutil.copyfileobj(source, target, _BLOCK)
    for path, aside in zip(made, asides, strict=True):
        os.replace(aside, path)
    return pairs


def run(arguments: Sequence[str] | None) -> None:
    """Join the bitexts and report the number of pairs.

    :raises CorpusError: Sides are not parallel, or the number of lines is not as required.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stems", nargs="+", help="names of the bitexts, without .en and .fr")
    parser.add_argument("--output", required=True, help="name of the whole, without .en and .fr")
    parser.add_argument("--lines", type=int, help="refuse the whole if it has not so many lines")
    options = parser.parse_args(arguments)
    pairs = join(options.stems, options.output, options.lines)
    print(f"{options.output}: {pairs:,} pairs", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 on failure."""
    return status_of("join", run, arguments)


if __name__ == "__main__":
    sys.exit(main())
