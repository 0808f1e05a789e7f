"""What of a hypothesis enters BLEU, as nine numbers that are added over sentences.

In the order of the columns: n-grams of the hypothesis that are right, n = 1 ... 4, each at most as
often as it is in the reference; its n-grams, n = 1 ... 4; the words of the reference. Papineni et
al. 2002; one reference. The BLEU of their sums is that of `evaluation.bleu.tokenized_bleu`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ORDER = 4
"""The longest n-grams."""

SIZE = 2 * ORDER + 1
"""How many numbers there are."""

LENGTH = ORDER
"""The column of the words of the hypothesis."""

REFERENCE_LENGTH = 2 * ORDER
"""The column of the words of the reference."""

Numbers = NDArray[Any]


class Reference:
    """One reference, its n-grams counted.

    :param line: words separated by blanks.
    """

    def __init__(self, line: str) -> None:
        words = _words(line)
        self.length = len(words)
        self._counts = [_ngrams(words, n) for n in range(1, ORDER + 1)]

    def statistics(self, hypothesis: str) -> list[int]:
        """The nine numbers of a hypothesis for this sentence."""
        words = _words(hypothesis)
        right = []
        for n, allowed in enumerate(self._counts, start=1):
            found = _ngrams(words, n)
            right.append(sum(min(count, allowed[g]) for g, count in found.items() if g in allowed))
        totals = [max(0, len(words) + 1 - n) for n in range(1, ORDER + 1)]
        return [*right, *totals, self.length]


def bleu(statistics: Numbers) -> NDArray[np.float64]:
    """BLEU between 0 and 1: min(1, exp(1 - r/c)) · (p_1 p_2 p_3 p_4)^(1/4), not smoothed.

    0 where no 4-gram is right.

    :param statistics: sums over the sentences of a corpus. Shape: [..., 9].
    :return: Shape: [...].
    """
    return _geometric_mean(statistics, statistics[..., :ORDER], statistics[..., ORDER : 2 * ORDER])


def sentence_bleu(statistics: Numbers) -> NDArray[np.float64]:
    """BLEU of single sentences, between 0 and 1, where no n-gram longer than a word needs be right.

    Lin & Och 2004 (ORANGE), section 4: one is added to the n-grams that are right and to those
    that there are, for n > 1. A hypothesis without a right word has 0.

    :param statistics: Shape: [..., 9].
    :return: Shape: [...].
    """
    added = np.array([0] + [1] * (ORDER - 1))
    right, totals = statistics[..., :ORDER] + added, statistics[..., ORDER : 2 * ORDER] + added
    return _geometric_mean(statistics, right, totals)


def _geometric_mean(statistics: Numbers, right: Numbers, totals: Numbers) -> NDArray[np.float64]:
    """The precisions' geometric mean times the brevity penalty."""
    zero = (right <= 0).any(axis=-1)
    logs = np.log(np.maximum(right, 1e-300) / np.maximum(totals, 1e-300)).mean(axis=-1)
    lengths = np.maximum(statistics[..., LENGTH], 1e-300)
    brevity = np.minimum(0.0, 1.0 - statistics[..., REFERENCE_LENGTH] / lengths)
    return np.asarray(np.where(zero, 0.0, np.exp(logs + brevity)), dtype=np.float64)


def _words(line: str) -> list[bytes]:
    """Split at ASCII white space alone, as Perl's multi-bleu does."""
    return line.encode("utf-8").split()


def _ngrams(words: Sequence[bytes], n: int) -> Counter[tuple[bytes, ...]]:
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))
