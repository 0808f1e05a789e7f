"""Truecasing of prepared text: learn a model from the training data, apply it to files."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from nmtkit.io.lines import read_raw_blocks
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.text.truecaser import TRUECASE, Truecaser, count_inner_block, truecase_block

_BLOCK_LINES = 2000


def truecase_files(
    folder: Path, side: str, language: str, splits: Sequence[str], pool: ProcessPool
) -> None:
    """Learn the truecaser of one side, write its file, and truecase files of tokenised text.

    :param splits: names of the files without the side; the first is the training data.
    """
    counts: Counter[str] = Counter()
    for block in pool.imap(count_inner_block, _blocks(folder / f"{splits[0]}.{side}")):
        counts.update(block)
    model = folder / f"{TRUECASE}.{side}"
    Truecaser.learn(language, counts).save(model)
    for split in splits:
        path = folder / f"{split}.{side}"
        truecased = path.with_suffix(".truecased")
        blocks = ((lines, str(model), language) for lines in _blocks(path))
        with open(truecased, "wb") as output:
            for lines in pool.imap(truecase_block, blocks):
                output.write(lines + b"\n")
        truecased.replace(path)


def _blocks(path: Path) -> Iterator[bytes]:
    return (b"\n".join(lines) for (lines,) in read_raw_blocks(_BLOCK_LINES, path))
