"""Measure which share of raw lines tokenisation and detokenisation give back byte for byte.

    python bench/roundtrip.py de=train.de.gz,test.de.gz en=train.en

Prints a row for each language: the share of lines restored without and with markers of spacing
(`prepare --no-joiners`, `prepare`), the share of lines with a marker, the time for a line in
microseconds without and with them; then the lines that markers do not restore, by kind, and with
`--markers N` the most frequent places of markers.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from timing import BenchError, exit_with, positive

from nmtkit.io.lines import read_lines
from nmtkit.text.detokenizer import Detokenizer
from nmtkit.text.markers import spacing
from nmtkit.text.tokenizer import Tokenizer

KINDS = (
    ("blanks at the end", re.compile(r"^\s|\s$")),
    ("repeated blanks", re.compile("  ")),
    ("control characters", re.compile("[\x00-\x1f\x85\u2028\u2029]")),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every language given."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", nargs="+", metavar="LANGUAGE=FILE,...")
    parser.add_argument(
        "--lines", type=positive, default=40_000, help="lines of each (%(default)s)"
    )
    parser.add_argument("--markers", type=int, default=0, metavar="N")
    options = parser.parse_args(arguments)
    print(f"{'':4}{'lines':>8}{'plain':>9}{'markers':>9}{'marked':>9}{'µs':>8}{'µs':>8}")
    for corpus in options.corpora:
        language, _, files = corpus.partition("=")
        if not (language and files):
            parser.error(f"{corpus}: expected LANGUAGE=FILE,...")
        lines = [line for file in files.split(",") for line in read_lines(file)][: options.lines]
        if not lines:
            raise BenchError(f"{corpus}: there are no lines")
        print(f"{language:4}{len(lines):8,}", *_measure(language, lines, options.markers))
    return 0


def _measure(language: str, lines: Sequence[str], places: int) -> Iterator[str]:
    plain, plain_time = _restored(language, lines, joiners=False)
    marked, marked_time = _restored(language, lines, joiners=True)
    restored, originals = [back for _, back in marked], list(lines)
    markers = Counter[str]()
    lines_with_markers = 0
    for tokens, _ in marked:
        found = [place for place, token in enumerate(tokens) if spacing(token) is not None]
        lines_with_markers += bool(found)
        markers.update(" ".join(tokens[max(place - 1, 0) : place + 2]) for place in found)
    yield f"{_share(lines, [back for _, back in plain]):8.4f}"
    yield f"{_share(originals, restored):8.4f}"
    yield f"{lines_with_markers / len(lines):8.4f}"
    yield f"{plain_time / len(lines) * 1e6:7.1f}"
    yield f"{marked_time / len(lines) * 1e6:7.1f}"
    yield from _kinds(originals, restored)
    yield from (f"\n{count:8,}  {place}" for place, count in markers.most_common(places))


def _restored(
    language: str, lines: Sequence[str], joiners: bool
) -> tuple[list[tuple[list[str], str]], float]:
    tokenizer = Tokenizer(language, protected=joiners, combining=True, joiners=joiners)
    detokenizer = Detokenizer(language, unescape=False, joiners=joiners)
    start = time.process_time()
    texts = [tokenizer.text(line) for line in lines]
    seconds = time.process_time() - start
    return [((t := text.split()), detokenizer.detokenize(t)) for text in texts], seconds


def _share(lines: Sequence[str], restored: Sequence[str]) -> float:
    return sum(map(str.__eq__, lines, restored)) / max(len(lines), 1)


def _kinds(lines: Sequence[str], restored: Sequence[str]) -> Iterator[str]:
    rest = [line for line, back in zip(lines, restored, strict=True) if line != back]
    kinds = Counter(
        next((name for name, pattern in KINDS if pattern.search(line)), "other") for line in rest
    )
    for name, count in kinds.most_common():
        example = next(line for line in rest if name == "other" or dict(KINDS)[name].search(line))
        yield f"\n{count:8,}  {name}: {example[:70]!r}"


if __name__ == "__main__":
    exit_with(main)
