"""Learning subword models from the counts of a corpus's words."""

import logging
from collections import Counter
from collections.abc import Sequence
from functools import partial

from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.text.subword import METHODS, SubwordModel

MAX_LEARNED_LINES = 1_000_000
"""Maximum number of lines of a side that SentencePiece is learned from, evenly spaced. Distinct
words without blanks between them may be as many as the lines."""

_UNITS = {"bpe": "BPE merges", "sentencepiece": "SentencePiece pieces"}
"""What the size of each subword method counts, for the log."""

logger = logging.getLogger("nmtkit")


def learning_step(settings: PrepareSettings, pairs: int) -> int:
    """Return n, where every n-th line of a corpus is learned from; it bounds time and memory."""
    return -(-pairs // MAX_LEARNED_LINES) if settings.text.raw else 1


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
