"""Learning subword models from the counts of a corpus's words."""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import BLOCK_LINES, read_raw_blocks
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.text.subword import METHODS, SubwordModel
from nmtkit.text.vocabulary import count_block

MAX_LEARNED_LINES = 1_000_000
"""Lines of a side beyond which SentencePiece is learned from every second, third, ... one. Distinct
words without blanks between them may be as many as the lines."""

_UNITS = {"bpe": "BPE merges", "sentencepiece": "SentencePiece pieces"}
"""What the size of each subword method counts, for the log."""

logger = logging.getLogger("nmtkit")


def learning_step(settings: PrepareSettings, pairs: int) -> int:
    """Return n, where every n-th line of a corpus is learned from; it bounds time and memory."""
    return -(-pairs // MAX_LEARNED_LINES) if settings.text.raw else 1


def count_words(
    path: str | Path, pool: ProcessPool, step: int = 1, tags: Sequence[str] = ()
) -> Counter[str]:
    """Count the words of a file.

    :param step: count only every so many lines, to bound time and memory.
    :param tags: words to leave out, because they are never split.
    """
    total: Counter[str] = Counter()
    blocks = (
        b"\n".join(lines[::step]) for (lines,) in read_raw_blocks(BLOCK_LINES, VerbatimFile(path))
    )
    for counts in pool.imap(count_block, blocks):
        total.update(counts)
    for tag in tags:
        del total[tag]
    return total


def warn_of_unused_glossaries(glossaries: Sequence[str], counts: Sequence[Counter[str]]) -> None:
    """Warn of each pattern of a glossary that matches nothing in the words of the sides."""
    for glossary in glossaries:
        pattern = re.compile(glossary)
        if not any(pattern.search(word) for words in counts for word in words):
            logger.warning(
                "--glossary '%s' matches no word of the training text and has no effect; patterns"
                " are compared with words as they are after tokenisation",
                glossary,
            )


def learn_models(
    settings: PrepareSettings, counts: Sequence[Counter[str]], step: int, pool: ProcessPool
) -> list[SubwordModel]:
    """Return the subword model of both sides together, or one for each.

    :param counts: how often each word of a side occurs.
    :param step: see `learning_step`, for the log.
    """
    if settings.text.subwords == "joint":
        counts = [counts[0] + counts[1]]
    name = f"{settings.merges:,} {_UNITS.get(settings.subword_method, settings.subword_method)}"
    logger.info("learning %s%s", name, f" from one line of {step}" if step > 1 else "")
    learn = partial(METHODS[settings.subword_method].learn, size=settings.merges)
    models = list(pool.imap(learn, counts))
    if min(model.size for model in models) < settings.merges:
        sizes = " and ".join(f"{model.size:,}" for model in models)
        logger.info("the text is too short for %s; learned %s", name, sizes)
    return models
