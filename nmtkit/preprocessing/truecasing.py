"""Truecasing of prepared text: learn a model from the training data, apply it to files."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import BLOCK_LINES, read_raw_blocks
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.text.truecaser import TRUECASE, Truecaser, count_inner_block, truecase_block


def truecase_files(
    folder: Path,
    side: str,
    language: str,
    splits: Sequence[str],
    pool: ProcessPool,
    tags: Sequence[str] = (),
) -> None:
    """Truecase files of tokenised text, by the folder's truecaser; learn it if there is none.

    :param splits: names of the files without the side; the first is the training data.
    :param tags: words that may stand before lines; the sentence begins after them.
    """
    known = frozenset(tag.encode() for tag in tags)
    model = folder / f"{TRUECASE}.{side}"
    if not model.exists():
        counts: Counter[str] = Counter()
        for block in pool.imap(partial(_count, known), _blocks(folder / f"{splits[0]}.{side}")):
            counts.update(block)
        Truecaser.learn(language, counts).save(model)
    for split in splits:
        path = folder / f"{split}.{side}"
        truecased = path.with_suffix(".truecased")
        with open(truecased, "wb") as output:
            for lines in pool.imap(partial(_truecase, known, str(model), language), _blocks(path)):
                output.write(lines + b"\n")
        truecased.replace(path)


def _count(tags: frozenset[bytes], lines: bytes) -> Counter[str]:
    return count_inner_block(_split_tags(tags, lines)[1])


def _truecase(tags: frozenset[bytes], model: str, language: str, lines: bytes) -> bytes:
    if not tags:
        return truecase_block((lines, model, language))
    prefixes, text = _split_tags(tags, lines)
    truecased = truecase_block((text, model, language)).split(b"\n")
    return b"\n".join(map(b"".join, zip(prefixes, truecased, strict=True)))


def _split_tags(tags: frozenset[bytes], lines: bytes) -> tuple[list[bytes], bytes]:
    """Return the tag before each line with the blank after it, and the lines without them."""
    if not tags:
        return [], lines
    parts = [line.partition(b" ") for line in lines.split(b"\n")]
    prefixes = [first + blank if first in tags else b"" for first, blank, _ in parts]
    text = [rest if first in tags else first + blank + rest for first, blank, rest in parts]
    return prefixes, b"\n".join(text)


def _blocks(path: Path) -> Iterator[bytes]:
    return (b"\n".join(lines) for (lines,) in read_raw_blocks(BLOCK_LINES, VerbatimFile(path)))
