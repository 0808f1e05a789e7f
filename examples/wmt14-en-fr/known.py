#!/usr/bin/env python3
"""Write the sentence pairs of a prepared set without unknown words.

    known.py prepared test --output text/test-known

writes text/test-known.src and .tgt, in the same order. For the papers' "No UNK" columns: these
sentences are translated again without unknown words in the output. There may be none.
"""

import argparse
import os
from pathlib import Path

SIDES = ("src", "tgt")


def words_of(path: Path) -> frozenset[str]:
    """Return the words of a shortlist, which has a word, a tab and a count in each line."""
    return frozenset(line.split("\t")[0] for line in lines_of(path))


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text file, which only newlines end."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def known(pairs: list[tuple[str, str]], words: list[frozenset[str]]) -> list[tuple[str, str]]:
    """Return the pairs with all words in the shortlists of their sides."""
    return [
        pair
        for pair in pairs
        if all(
            vocabulary.issuperset(word for word in line.split(" ") if word)
            for line, vocabulary in zip(pair, words, strict=True)
        )
    ]


def main(arguments: list[str] | None = None) -> None:
    """Run the program.

    :param arguments: Command line; None: sys.argv.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("prepared", type=Path, metavar="PREPARED")
    parser.add_argument("set", metavar="SET")
    parser.add_argument("--output", required=True, metavar="NAME")
    options = parser.parse_args(arguments)
    words = [words_of(options.prepared / f"vocab.{side}") for side in SIDES]
    texts = [lines_of(options.prepared / f"{options.set}.{side}") for side in SIDES]
    selected = known(list(zip(*texts, strict=True)), words)
    for index, side in enumerate(SIDES):
        part = Path(f"{options.output}.{side}.part")
        part.write_text("".join(pair[index] + "\n" for pair in selected), encoding="utf-8")
        os.replace(part, f"{options.output}.{side}")


if __name__ == "__main__":
    main()
