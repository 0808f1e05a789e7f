"""Names and numbers that a model copies: learn them from training data, and mask its pairs."""

import zlib
from collections.abc import Sequence
from pathlib import Path
from random import Random

from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import read_raw_blocks
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.text.names import NAMES, PLACEHOLDERS, NameCounts, Names, names_in_both
from nmtkit.text.pipeline import TextPipeline

_BLOCK_PAIRS = 2000


def learn_names(folder: Path, words: tuple[Path, Path], pool: ProcessPool) -> None:
    """Learn the names of both sides of a bitext, and write their files.

    :param words: source and target, tokenised.
    """
    totals = NameCounts.empty(), NameCounts.empty()
    sides = map(VerbatimFile, words)
    blocks = (
        (b"\n".join(src), b"\n".join(tgt)) for src, tgt in read_raw_blocks(_BLOCK_PAIRS, *sides)
    )
    for counts in pool.imap(_count, blocks):
        for total, part in zip(totals, counts, strict=True):
            total.add(part)
    for side, total in zip(("src", "tgt"), totals, strict=True):
        Names.learn(total).save(folder / f"{NAMES}.{side}")


def _count(block: tuple[bytes, bytes]) -> tuple[NameCounts, NameCounts]:
    """Count the words of a block that may be names of the source, and of the target."""
    counts = NameCounts.empty(), NameCounts.empty()
    src, tgt = (side.decode("utf-8").split("\n") for side in block)
    for pair in zip(src, tgt, strict=True):
        src_words, tgt_words = (line.split(" ") for line in pair)
        counts[0].add_pair(src_words, tgt_words)
        counts[1].add_pair(tgt_words, src_words)
    return counts


def mask_pair(
    pipelines: tuple[TextPipeline, TextPipeline], src: str, tgt: str, training: bool
) -> tuple[str, str]:
    """Replace the names of a source by placeholders, and those of the target that equal them.

    In training data only names that stand in both sides are replaced, so that a model learns to
    use every placeholder that it reads. Their placeholders are drawn at random, in order, so that
    all are learned equally well; the draw depends on the source alone.

    :param src, tgt: words separated by blanks.
    """
    names = pipelines[0].names_in(src)
    if not names:
        return src, tgt
    placeholders: Sequence[str] = PLACEHOLDERS
    if training:
        names = names_in_both(src.split(" "), tgt.split(" "), names)
        draw = Random(zlib.crc32(src.encode()))
        placeholders = sorted(draw.sample(PLACEHOLDERS, len(names)))
    mask = TextPipeline.masked
    return mask(src, names, placeholders), mask(tgt, names, placeholders)
