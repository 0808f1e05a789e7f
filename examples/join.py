"""Join bitexts into one: `join.py --output dev newstest2012 newstest2013` makes dev.en and dev.fr.

Both files are written together, if both sides of every input have the same number of lines and the
total is as required.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from corpora import CorpusError, run_program

SIDES = (".en", ".fr")
_BLOCK = 4 << 20


def count(path: Path) -> int:
    """Return the number of lines of a file; the last one may lack its newline."""
    lines, last = 0, b"\n"
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(_BLOCK), b""):
            lines, last = lines + block.count(b"\n"), block[-1:]
    return lines + (last != b"\n")


def join(stems: Sequence[str], output: str, expected: int | None) -> int:
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
    if expected is not None and pairs != expected:
        raise CorpusError(
            f"{output}: {pairs:,} pairs, but exactly {expected:,} are required: scores on another"
            " test set cannot be compared with the papers'"
        )
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    outputs = [Path(f"{output}{side}") for side in SIDES]
    temporary_files = [path.with_name(f".{path.name}.tmp") for path in outputs]
    for side, temporary in zip(SIDES, temporary_files, strict=True):
        with open(temporary, "wb") as target:
            for stem in stems:
                _append(Path(stem + side), target)
    for path, temporary in zip(outputs, temporary_files, strict=True):
        os.replace(temporary, path)
    return pairs


def _append(path: Path, target: BinaryIO) -> None:
    """Copy the lines of a file; a last one without newline gets one."""
    last = b"\n"
    with open(path, "rb") as source:
        for block in iter(lambda: source.read(_BLOCK), b""):
            target.write(block)
            last = block[-1:]
    if last != b"\n":
        target.write(b"\n")


def run(arguments: Sequence[str] | None) -> None:
    """Join the bitexts and report the number of pairs.

    :raises CorpusError: Sides are not parallel, or the number of lines is not as required.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stems", nargs="+", help="names of the bitexts, without .en and .fr")
    parser.add_argument("--output", required=True, help="name of the output, without .en and .fr")
    parser.add_argument("--lines", type=int, help="required number of pairs")
    options = parser.parse_args(arguments)
    pairs = join(options.stems, options.output, options.lines)
    print(f"{options.output}: {pairs:,} pairs", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 on failure."""
    return run_program("join", run, arguments)


if __name__ == "__main__":
    sys.exit(main())
