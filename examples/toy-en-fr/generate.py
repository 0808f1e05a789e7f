#!/usr/bin/env python3
"""Write a bitext of English sentences, their French translations and gold word alignments."""

import argparse
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from toygrammar.corpus import Pair, pairs  # noqa: E402 (found beside this file, from any folder)


def main(arguments: list[str] | None = None) -> int:
    """Write test, dev and train, which share no English sentence.

    The test set is drawn first and the training set last, so that the number of training pairs does
    not change the other two.

    :param arguments: Command line; None: sys.argv.
    :return: The exit status.
    """
    options = _parser().parse_args(arguments)
    sizes = {"test": options.test, "dev": options.dev, "train": options.train}
    if not 3 <= options.min_words <= options.max_words or options.max_words < 8:
        return _refuse(
            "--min-words must be at least 3, and --max-words at least 8 and at least --min-words"
        )
    if min(sizes.values()) < 0:
        return _refuse("--train, --dev and --test cannot be negative; give 0 for none")
    folder = Path(options.output)
    existing = [path for name in sizes for path in _paths(folder, name) if path.exists()]
    if existing and not options.force:
        return _refuse(f"{existing[0]} exists; use --force to overwrite it")
    stream = pairs(options.seed, options.min_words, options.max_words)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, size in sizes.items():
            _write(folder, name, islice(stream, size))
    except OSError as error:
        return _refuse(f"{error.filename or folder}: {error.strerror}")
    return 0


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True, metavar="DIR", help="folder for the files")
    for name, size in (("train", 30_000), ("dev", 1_000), ("test", 1_000)):
        text = f"pairs in {name}.en, {name}.fr and {name}.align (default: {size})"
        parser.add_argument(f"--{name}", type=int, default=size, metavar="N", help=text)
    parser.add_argument("--seed", type=int, default=1, help="same seed, same bytes (default: 1)")
    for name, words in (("min", 3), ("max", 60)):
        text = f"{name}imal tokens on either side (default: {words})"
        parser.add_argument(f"--{name}-words", type=int, default=words, metavar="N", help=text)
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    return parser


def _paths(folder: Path, name: str) -> list[Path]:
    """Return the three files of a set: English, French, alignment."""
    return [folder / f"{name}.{ending}" for ending in ("en", "fr", "align")]


def _write(folder: Path, name: str, set_pairs: Iterator[Pair]) -> None:
    """Write one set, one sentence per line in each file."""
    pair_list = list(set_pairs)
    columns = (
        [pair.english for pair in pair_list],
        [pair.french for pair in pair_list],
        [pair.links for pair in pair_list],
    )
    for path, lines in zip(_paths(folder, name), columns, strict=True):
        text = "".join(line + "\n" for line in lines)
        path.write_text(text, encoding="utf-8", newline="\n")


def _refuse(sentence: str) -> int:
    """Print an error in one line."""
    print(f"generate.py: error: {sentence}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
