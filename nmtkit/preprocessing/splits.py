"""Counts of the training, dev or test data, and a dev set held out of the training data."""

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, BinaryIO

from nmtkit.errors import DataError
from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import BLOCK_LINES, read_raw_blocks
from nmtkit.preprocessing.cleaning import ALL_RULES, DROP_RULES, CleanedBlock
from nmtkit.text.pipeline import Side

SIDES: tuple[Side, Side] = ("src", "tgt")

Pair = tuple[bytes, ...]
"""A line of the source and a line of the target."""

Files = tuple[Path, Path]
"""The source file and the target file."""


@dataclass
class SplitCounts:
    """Numbers of pairs read, kept and dropped in one split.

    clean: True for training data, from which pairs are dropped.
    read, pairs: pairs read, and pairs kept.
    dropped: dropped pairs, by rule.
    held_out: pairs moved to a dev set, copies included.
    replaced: lines that are not UTF-8 and are kept with U+FFFD.
    tokens: tokens of the kept pairs, by side.
    """

    clean: bool = False
    read: int = 0
    pairs: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    held_out: int = 0
    replaced: int = 0
    tokens: Counter[str] = field(default_factory=Counter)

    def add_pair(self, pair: Pair, sign: int = 1) -> None:
        """Count a kept pair; with sign -1, subtract a pair that was counted."""
        self.pairs += sign
        for side, line in zip(SIDES, pair, strict=True):
            self.tokens[side] += sign * len(line.split(b" "))

    def add_block(self, block: CleanedBlock) -> None:
        """Count the pairs of a block."""
        self.read += block.read
        self.pairs += block.pairs
        self.dropped += block.dropped
        self.replaced += block.replaced
        self.tokens.update(dict(zip(SIDES, block.tokens, strict=True)))

    def manifest(self) -> dict[str, Any]:
        """Return the split's entry in the manifest; only training data has counts by rule."""
        rules = [rule for rule in ALL_RULES if rule in DROP_RULES or self.dropped[rule]]
        dropped = {rule: self.dropped[rule] for rule in rules}
        return {
            "pairs": self.pairs,
            "read": self.read,
            **({"dropped": dropped} if self.clean else {}),
            **({"held_out": self.held_out} if self.held_out else {}),
            "replaced": self.replaced,
            **{f"{side}_tokens": self.tokens[side] for side in SIDES},
        }

    @classmethod
    def sum(cls, parts: Iterable["SplitCounts"]) -> "SplitCounts":
        """Return the counts of several parts together."""
        total = cls()
        for part in parts:
            total.clean |= part.clean
            total.read += part.read
            total.pairs += part.pairs
            total.dropped += part.dropped
            total.held_out += part.held_out
            total.replaced += part.replaced
            total.tokens += part.tokens
        return total

    def reasons(self) -> str:
        """Return how many pairs were dropped by which rule, in parentheses; "" if none was."""
        reasons = [f"{count:,} {rule}" for rule, count in sorted(self.dropped.items()) if count]
        reasons += [f"{self.held_out:,} held out"] if self.held_out else []
        return f" (dropped: {', '.join(reasons)})" if reasons else ""

    def summary(self, name: str) -> str:
        """Format the counts in one line for the log.

        :param name: name of the split.
        """
        kept = f"{name}: {self.pairs:,} of {self.read:,} pairs{self.reasons()}"
        if self.replaced and not self.reasons():
            return f"{kept}; {self.replaced:,} not UTF-8, kept with replacement characters"
        return kept


def hold_out(
    pairs: Files,
    train: Files,
    dev: Files,
    count: int,
    corpora: Sequence[SplitCounts],
    tags: Sequence[str] = (),
) -> SplitCounts:
    """Divide prepared pairs into training data and a dev set, which have no pair in common.

    The pairs with the smallest digests are held out: a pseudo-random choice that depends on the
    pairs alone. It is the same on every machine, and changes little when the corpus grows. Memory
    depends on `count` only.

    :param pairs: prepared files to read.
    :param train: files to write: the pairs that are not in `dev`.
    :param dev: files to write: each held-out pair once, in the order of `pairs`.
    :param count: pairs to hold out, copies not counted.
    :param corpora: counts of `pairs`, by corpus, which are changed to those of `train`.
    :param tags: words that may stand before source lines; pairs that differ in them are the same.
    :return: counts of `dev`.
    :raises DataError: no training pair would be left.
    """
    digest_of = partial(_digest, frozenset(tag.encode() for tag in tags))
    unwritten = smallest(map(digest_of, _read_pairs(pairs)), count)
    counts_of_pairs = chain.from_iterable(repeat(corpus, corpus.pairs) for corpus in corpora)
    held_out, dev_counts = frozenset(unwritten), SplitCounts(read=len(unwritten))
    with ExitStack() as stack:
        dev_files, train_files = (
            [stack.enter_context(open(path, "wb")) for path in paths] for paths in (dev, train)
        )
        for pair, counts in zip(_read_pairs(pairs), counts_of_pairs, strict=True):
            digest = digest_of(pair)
            if digest in held_out:
                counts.held_out += 1
                counts.add_pair(pair, -1)
            if digest in unwritten:
                unwritten.remove(digest)
                _write(pair, dev_files)
                dev_counts.add_pair(pair)
            elif digest not in held_out:
                _write(pair, train_files)
    total = SplitCounts.sum(corpora)
    if not total.pairs:
        raise DataError(
            f"cannot hold out {count:,} of {total.held_out:,} training pairs: none would be left;"
            " give --held-out a smaller number, or 0 for none"
        )
    return dev_counts


def smallest(numbers: Iterable[int], count: int) -> set[int]:
    """Return the `count` smallest distinct numbers, or all if there are fewer."""
    selected: set[int] = set()
    heap: list[int] = []  # the same, negated: the largest is first
    for number in numbers:
        if number in selected or (len(heap) == count and number >= -heap[0]):
            continue
        selected.add(number)
        if len(heap) < count:
            heapq.heappush(heap, -number)
        else:
            selected.remove(-heapq.heappushpop(heap, -number))
    return selected


def _read_pairs(files: Files) -> Iterator[Pair]:
    for blocks in read_raw_blocks(BLOCK_LINES, *map(VerbatimFile, files)):
        yield from zip(*blocks, strict=True)


def _digest(tags: frozenset[bytes], pair: Pair) -> int:
    tag, _, rest = pair[0].partition(b" ")
    if tag in tags:
        pair = (rest, *pair[1:])
    return int.from_bytes(hashlib.blake2b(b"\n".join(pair), digest_size=16).digest(), "big")


def _write(pair: Pair, files: Sequence[BinaryIO]) -> None:
    for line, file in zip(pair, files, strict=True):
        file.write(line + b"\n")
