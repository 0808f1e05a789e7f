"""What became of a split of the data, and a dev set held out of the training data."""

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from nmtkit.errors import DataError
from nmtkit.io.lines import read_raw_blocks
from nmtkit.preprocessing.cleaning import RULES
from nmtkit.text.pipeline import Side

SIDES: tuple[Side, Side] = ("src", "tgt")

_BLOCK = 2000
"""Pairs read at a time."""

Pair = tuple[bytes, ...]
"""A line of the source and a line of the target."""

Files = tuple[Path, Path]
"""The source file and the target file."""


@dataclass
class Report:
    """What became of one split.

    read, pairs: pairs that were there, and that stay. gone: those that went, by rule.
    held_out: those that went to the dev set, where it was made so; copies are counted.
    replaced: lines that stay though they are not UTF-8.
    tokens: of the pairs that stay, by side.
    clean: it is training data, from which pairs go.
    """

    clean: bool = False
    read: int = 0
    pairs: int = 0
    gone: Counter[str] = field(default_factory=Counter)
    held_out: int = 0
    replaced: int = 0
    tokens: Counter[str] = field(default_factory=Counter)

    def manifest(self) -> dict[str, Any]:
        """As it stands in the manifest; the rules are those of training data."""
        rules = {"gone": {rule: self.gone[rule] for rule in RULES}} if self.clean else {}
        held_out = {"held_out": self.held_out} if self.held_out else {}
        tokens = {f"{side}_tokens": self.tokens[side] for side in SIDES}
        return {
            "pairs": self.pairs,
            "read": self.read,
            **rules,
            **held_out,
            "replaced": self.replaced,
            **tokens,
        }

    def summary(self, name: str) -> str:
        """One line for the log."""
        told = [f"{count:,} {rule}" for rule, count in sorted(self.gone.items()) if count]
        told += [f"{self.held_out:,} held out"] if self.held_out else []
        if told:
            return f"{name}: {self.pairs:,} of {self.read:,} pairs (gone: {', '.join(told)})"
        replaced = f"; {self.replaced:,} not UTF-8, kept with replacement characters"
        return f"{name}: {self.pairs:,} of {self.read:,} pairs{replaced if self.replaced else ''}"


def hold_out(pairs: Files, train: Files, dev: Files, count: int, report: Report) -> Report:
    """Divide prepared pairs into training data and a dev set, which have no pair in common.

    Those with the smallest digests are taken: a random choice which the pairs alone decide, the
    same on every machine and much the same when the corpus grows. Memory grows with `count` alone.

    :param pairs: prepared files to read.
    :param train: files to write: the pairs that are not in `dev`.
    :param dev: files to write: each held-out pair once, in the order of `pairs`.
    :param count: pairs to hold out, copies not counted.
    :param report: the report of `pairs`, which becomes that of `train`.
    :return: the report of `dev`.
    :raises DataError: no training pair would be left.
    """
    waiting = smallest(map(_digest, _pairs(pairs)), count)
    chosen, held = frozenset(waiting), Report(read=len(waiting))
    with ExitStack() as stack:
        to_dev, to_train = (
            [stack.enter_context(open(path, "wb")) for path in paths] for paths in (dev, train)
        )
        for pair in _pairs(pairs):
            digest = _digest(pair)
            if digest in chosen:
                report.held_out += 1
                _count(pair, report, -1)
            if digest in waiting:
                waiting.remove(digest)
                _write(pair, to_dev)
                _count(pair, held, 1)
            elif digest not in chosen:
                _write(pair, to_train)
    if not report.pairs:
        raise DataError(
            f"of {report.held_out:,} training pairs {count:,} cannot be held out: none would be"
            " left; give --held-out a smaller number, or 0 for none"
        )
    return held


def smallest(numbers: Iterable[int], count: int) -> set[int]:
    """The `count` smallest different numbers, or all where there are fewer."""
    kept: set[int] = set()
    heap: list[int] = []  # the same, negated: the largest first
    for number in numbers:
        if number in kept or (len(heap) == count and number >= -heap[0]):
            continue
        kept.add(number)
        if len(heap) < count:
            heapq.heappush(heap, -number)
        else:
            kept.remove(-heapq.heappushpop(heap, -number))
    return kept


def _pairs(files: Files) -> Iterator[Pair]:
    for blocks in read_raw_blocks(_BLOCK, *files):
        yield from zip(*blocks, strict=True)


def _digest(pair: Pair) -> int:
    return int.from_bytes(hashlib.blake2b(b"\n".join(pair), digest_size=16).digest(), "big")


def _write(pair: Pair, outputs: Sequence[BinaryIO]) -> None:
    for line, output in zip(pair, outputs, strict=True):
        output.write(line + b"\n")


def _count(pair: Pair, report: Report, sign: int) -> None:
    """Add a pair to a report, or take it away."""
    report.pairs += sign
    for side, line in zip(SIDES, pair, strict=True):
        report.tokens[side] += sign * len(line.split(b" "))
