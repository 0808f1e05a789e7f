"""Sufficient statistics of BLEU: nine numbers per sentence that add up over a corpus.

Papineni et al. 2002. The columns are: matching n-grams, n = 1 ... 4, each counted at most as often
as it occurs in the reference; n-grams of the hypothesis, n = 1 ... 4; words of the reference. The
BLEU of their sums is that of `evaluation.metrics.tokenized_bleu`.

Of several references of a sentence, an n-gram may match as often as it occurs in any one of them,
and the reference whose number of words is closest to the hypothesis's counts as its length; of two
that are equally close, the shorter one. multi-bleu.perl and sacreBLEU choose the same. An empty
reference is one like the others, as in sacreBLEU.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_NGRAM_ORDER = 4
"""Order of the longest n-grams."""

STATISTICS_PER_SENTENCE = 2 * MAX_NGRAM_ORDER + 1
"""Number of columns."""

HYPOTHESIS_LENGTH = MAX_NGRAM_ORDER
"""Column with the number of words of the hypothesis, its 1-grams."""

REFERENCE_LENGTH = 2 * MAX_NGRAM_ORDER
"""Column with the number of words of the reference."""

Numbers = NDArray[Any]


class Reference:
    """The references of a sentence with their n-gram counts.

    :param lines: one reference or more, words separated by blanks.
    """

    def __init__(self, *lines: str) -> None:
        references = [_words(line) for line in lines]
        self._lengths = sorted(map(len, references))
        self._counts = [_largest_counts(references, n) for n in range(1, MAX_NGRAM_ORDER + 1)]

    def length(self, hypothesis_length: int) -> int:
        """Return the number of words of the reference that is closest in length to a hypothesis."""
        return min(self._lengths, key=lambda length: abs(length - hypothesis_length))

    def statistics(self, hypothesis: str) -> list[int]:
        """Return the nine statistics of a hypothesis for this sentence."""
        words = _words(hypothesis)
        correct = []
        for n, reference_counts in enumerate(self._counts, start=1):
            correct.append(
                sum(
                    min(count, reference_counts[ngram])
                    for ngram, count in _ngrams(words, n).items()
                    if ngram in reference_counts
                )
            )
        totals = [max(0, len(words) + 1 - n) for n in range(1, MAX_NGRAM_ORDER + 1)]
        return [*correct, *totals, self.length(len(words))]


def corpus_statistics(hypotheses: Sequence[str], *references: Sequence[str]) -> NDArray[np.float64]:
    """Return the statistics of each sentence. Shape: [sentences, 9].

    :param references: one set of references or more, each with a line for every hypothesis.
    """
    rows = [Reference(*r).statistics(h) for h, *r in zip(hypotheses, *references, strict=True)]
    return np.array(rows, dtype=np.float64)


def columns(sums: Numbers) -> tuple[list[int], list[int], int, int]:
    """Return matching n-grams, all n-grams, and the words of hypotheses and references."""
    correct, totals = _ngram_columns(sums.astype(int))
    lengths = int(sums[HYPOTHESIS_LENGTH]), int(sums[REFERENCE_LENGTH])
    return correct.tolist(), totals.tolist(), *lengths


def bleu(statistics: Numbers) -> NDArray[np.float64]:
    """Compute BLEU between 0 and 1 from sums of statistics, without smoothing.

    min(1, exp(1 - r/c)) · (p_1 p_2 p_3 p_4)^(1/4); 0 if no 4-gram matches.

    :param statistics: sums over the sentences of a corpus. Shape: [..., 9].
    :return: Shape: [...].
    """
    correct, totals = _ngram_columns(statistics)
    return _geometric_mean(statistics, correct, totals)


def sentence_bleu(statistics: Numbers) -> NDArray[np.float64]:
    """Compute smoothed BLEU of single sentences, between 0 and 1.

    Lin & Och 2004 (ORANGE), section 4: one is added to the matching and to all n-grams, for n > 1.
    A hypothesis without a matching word has 0.

    :param statistics: Shape: [..., 9].
    :return: Shape: [...].
    """
    added = np.array([0] + [1] * (MAX_NGRAM_ORDER - 1))
    correct, totals = _ngram_columns(statistics)
    return _geometric_mean(statistics, correct + added, totals + added)


def _ngram_columns(statistics: Numbers) -> tuple[Numbers, Numbers]:
    """Return matching and all n-grams. Shape of each: [..., 4]."""
    return (
        statistics[..., :MAX_NGRAM_ORDER],
        statistics[..., MAX_NGRAM_ORDER : 2 * MAX_NGRAM_ORDER],
    )


def _geometric_mean(statistics: Numbers, correct: Numbers, totals: Numbers) -> NDArray[np.float64]:
    """Return the geometric mean of the precisions times the brevity penalty."""
    zero = (correct <= 0).any(axis=-1)
    logs = np.log(np.maximum(correct, 1e-300) / np.maximum(totals, 1e-300)).mean(axis=-1)
    lengths = np.maximum(statistics[..., HYPOTHESIS_LENGTH], 1e-300)
    brevity = np.minimum(0.0, 1.0 - statistics[..., REFERENCE_LENGTH] / lengths)
    return np.asarray(np.where(zero, 0.0, np.exp(logs + brevity)), dtype=np.float64)


def _words(line: str) -> list[bytes]:
    """Split at ASCII white space only, as Perl's multi-bleu does."""
    return line.encode("utf-8", "surrogatepass").split()


def _ngrams(words: Sequence[bytes], n: int) -> Counter[tuple[bytes, ...]]:
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def _largest_counts(references: Sequence[Sequence[bytes]], n: int) -> Counter[tuple[bytes, ...]]:
    """Return how often each n-gram occurs in the reference that has it most often."""
    counts = _ngrams(references[0], n)
    for words in references[1:]:
        counts |= _ngrams(words, n)
    return counts
