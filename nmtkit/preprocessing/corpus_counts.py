"""Counts of each training corpus, for the log and the manifest."""

import logging
from collections.abc import Sequence
from typing import Any

from nmtkit.preprocessing.corpora import TrainingCorpus
from nmtkit.preprocessing.splits import SplitCounts

logger = logging.getLogger("nmtkit")


def log_corpora(corpora: Sequence[TrainingCorpus], counts: Sequence[SplitCounts]) -> None:
    """Log the counts of each corpus, with its weight and tag."""
    for corpus, corpus_counts in zip(corpora, counts, strict=True):
        weight = f", weight {corpus.weight:g}" if corpus.weight != 1 else ""
        tag = f", tag {corpus.tag}" if corpus.tag else ""
        logger.info("%s%s%s", corpus_counts.summary(f"corpus {corpus.name}"), weight, tag)
        if not corpus_counts.pairs:
            logger.warning("corpus %s: no training pair is left", corpus.name)


def corpus_entries(
    corpora: Sequence[TrainingCorpus], counts: Sequence[SplitCounts]
) -> list[dict[str, Any]]:
    """Return the manifest's entries of the corpora.

    `range` has the first of its pairs in the training data, from 0, and the first one after them.
    """
    entries, first = [], 0
    for corpus, corpus_counts in zip(corpora, counts, strict=True):
        numbers = corpus_counts.manifest()
        entries.append({
            "name": corpus.name,
            "weight": corpus.weight,
            "tag": corpus.tag,
            "files": [str(file) for file in corpus.files],
            "range": [first, first + corpus_counts.pairs],
            **{key: value for key, value in numbers.items() if not key.endswith("_tokens")},
        })  # fmt: skip
        first += corpus_counts.pairs
    return entries
