"""What cleaning did: numbers, samples, and a row for every dropped pair.

Worker processes make a `Tally` for each block, and the main process adds them up in order, so that
the result does not depend on the number of workers. Memory depends on the numbers of rules, files
and different lengths.
"""

import gzip
import heapq
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log2
from typing import NamedTuple

MAX_SAMPLES = 20
"""Dropped pairs that are shown for each rule."""

MAX_SAMPLE_CHARACTERS = 300
"""Characters of a line that a sample shows."""

MAX_LENGTH = 250
"""Longer sides count as this long in the distribution of lengths."""

MAX_RATIO = 4
"""Binary logarithm of the highest ratio in the distribution of ratios."""

RATIO_STEPS = 4
"""Steps of the distribution of ratios for a factor of two."""

COLUMNS = ("rule", "value", "file", "line", "source", "target")
"""Columns of the rows."""

_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


class Sample(NamedTuple):
    """A dropped pair, or one that also stands in a dev or test set.

    key: pseudo-random number of the pair; samples with the smallest ones are kept.
    value: the number that the rule measured, as text.
    """

    key: int
    value: str
    file: str
    line: int
    src: str
    tgt: str


@dataclass
class Tally:
    """Numbers of pairs, by rule, and samples of them.

    rows: gzip data with a row for each dropped pair.
    counts: pairs by file and rule; the rule of kept pairs is empty.
    samples: some dropped pairs of each rule.
    lengths: numbers of pairs by side (0, 1), whether they are kept, and length.
    ratios: numbers of pairs by whether they are kept and `RATIO_STEPS` times the binary logarithm
        of the target's length divided by the source's.
    """

    rows: bytes = b""
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    samples: defaultdict[str, list[Sample]] = field(default_factory=lambda: defaultdict(list))
    lengths: Counter[tuple[int, bool, int]] = field(default_factory=Counter)
    ratios: Counter[tuple[bool, int]] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        """Add the numbers and samples of a later block, but not its rows."""
        self.counts.update(other.counts)
        self.lengths.update(other.lengths)
        self.ratios.update(other.ratios)
        for rule, samples in other.samples.items():
            self.add_samples(rule, samples)

    def total(self) -> Counter[str]:
        """Return the numbers of pairs by rule; the rule of kept pairs is empty."""
        total: Counter[str] = Counter()
        for (_, rule), count in self.counts.items():
            total[rule] += count
        return total

    def rows_by_file(self, rules: Sequence[str]) -> list[tuple[str, list[int]]]:
        """Return for each file the numbers of pairs read, kept, and dropped by each rule."""
        files = dict.fromkeys(file for file, _ in self.counts)
        return [
            (
                file,
                [
                    sum(count for (name, _), count in self.counts.items() if name == file),
                    *(self.counts[file, rule] for rule in ("", *rules)),
                ],
            )
            for file in files
        ]

    def add_samples(self, rule: str, samples: list[Sample]) -> None:
        """Add samples of a rule, and keep some of all."""
        self.samples[rule] = heapq.nsmallest(MAX_SAMPLES, [*self.samples[rule], *samples])

    def add_dropped(self, rule: str, dropped: list[tuple[str, str, int, str, str]]) -> bytes:
        """Count pairs that a rule drops; return their rows.

        :param dropped: value, file, line, source and target of each.
        """
        rows = []
        samples = []
        for value, file, line, src, tgt in dropped:
            cells = (rule, value, file, str(line), src, tgt)
            row = "\t".join(cell.translate(_ESCAPES) for cell in cells)
            rows.append(f"{row}\n".encode("utf-8", "surrogatepass"))
            key = zlib.crc32(rows[-1])
            shown = (text[:MAX_SAMPLE_CHARACTERS] for text in (src, tgt))
            samples.append(Sample(key, value, file, line, *shown))
            self.counts[file, rule] += 1
        if samples:
            self.add_samples(rule, samples)
        return b"".join(rows)

    def drop_lengths(self, lengths: list[tuple[int, int]]) -> None:
        """Count the lengths of pairs as dropped that were counted as kept."""
        self.add_lengths(False, lengths)
        self.add_lengths(True, lengths, sign=-1)

    def add_lengths(self, kept: bool, lengths: list[tuple[int, int]], sign: int = 1) -> None:
        """Count the lengths of pairs, and their ratios if no side is empty.

        :param sign: -1: count them no longer.
        """
        for side in (0, 1):
            sides = Counter(min(pair[side], MAX_LENGTH) for pair in lengths)
            self.lengths.update({(side, kept, size): sign * count for size, count in sides.items()})
        for (src, tgt), count in Counter(lengths).items():
            if src and tgt:
                step = round(RATIO_STEPS * max(-MAX_RATIO, min(MAX_RATIO, log2(tgt / src))))
                self.ratios[kept, step] += sign * count


def compress_rows(rows: bytes) -> bytes:
    """Return rows as a part of a gzip file, which consists of such parts one after another."""
    return gzip.compress(rows, 6, mtime=0) if rows else b""
