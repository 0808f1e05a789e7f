"""Names and numbers that a model copies: learn them from training data."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import BLOCK_LINES, read_raw_blocks
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.text.names import NAMES, NameCounts, Names


def learn_names(
    folder: Path, words: tuple[Path, Path], pool: ProcessPool, tags: Sequence[str]
) -> None:
    """Learn the names of both sides of a bitext, and write their files.

    :param words: source and target, tokenised.
    :param tags: words that may stand before source lines; the sentence begins after them.
    """
    totals = NameCounts.empty(), NameCounts.empty()
    sides = map(VerbatimFile, words)
    blocks = (
        (b"\n".join(src), b"\n".join(tgt)) for src, tgt in read_raw_blocks(BLOCK_LINES, *sides)
    )
    for counts in pool.imap(partial(_count, frozenset(tags)), blocks):
        for total, part in zip(totals, counts, strict=True):
            total.add(part)
    for side, total in zip(("src", "tgt"), totals, strict=True):
        Names.learn(total).save(folder / f"{NAMES}.{side}")


def _count(tags: frozenset[str], block: tuple[bytes, bytes]) -> tuple[NameCounts, NameCounts]:
    """Count the words of a block that may be names of the source, and of the target."""
    counts = NameCounts.empty(), NameCounts.empty()
    src, tgt = (side.decode("utf-8").split("\n") for side in block)
    for pair in zip(src, tgt, strict=True):
        src_words, tgt_words = (line.split(" ") for line in pair)
        if src_words[0] in tags:
            del src_words[0]
        counts[0].add_pair(src_words, tgt_words)
        counts[1].add_pair(tgt_words, src_words)
    return counts
