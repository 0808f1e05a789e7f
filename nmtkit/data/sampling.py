"""How often the pairs of each training corpus are used in an epoch.

The training data is a sequence of corpora, each with a weight: with 2 its pairs are used twice in
every epoch, with 1/2 in every second epoch, with 3/2 once in every epoch and once more in every
second one. Nothing is copied: an epoch is a range of numbers, and each number stands for a pair.

The uses of a corpus of n pairs are numbered through all epochs. Epoch e, from 0, has those from
floor(e w n) to floor((e + 1) w n) - 1, and use i is that of pair i mod n. Thus the uses of any two
pairs never differ by more than one, and after k epochs each was used k w times, if that is a whole
number. If w is not a whole number, the pairs are in a random order, so that an epoch is no slice of
the corpus.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from nmtkit.data.permutation import permute

Ids = npt.NDArray[np.int64]

Segment = tuple[int, float]
"""Number of pairs, and their weight."""


@dataclass(frozen=True)
class _Corpus:
    """One corpus.

    first: index of its first pair in the training data.
    pairs: number of its pairs.
    weight: how often each is used in an epoch.
    key: chooses the order of its pairs if the weight is no whole number.
    """

    first: int
    pairs: int
    weight: Fraction
    key: int

    def uses(self, epochs: int) -> int:
        """Return how many uses there are before an epoch."""
        return int(epochs * self.weight * self.pairs)

    def pairs_of(self, uses: Ids, epoch: int) -> Ids:
        """Return the pairs that uses of an epoch, from 0, stand for."""
        indices = (uses + self.uses(epoch) % self.pairs) % self.pairs
        if self.weight.denominator > 1:
            indices = permute(indices, self.pairs, self.key)
        return self.first + indices


class WeightedOrder:
    """The pairs of each epoch, by a number from 0 to the size of the epoch.

    :param segments: the pairs and the weight of each corpus, in the order of the training data.
    :param seed: chooses the order of corpora whose weight is no whole number.
    """

    def __init__(self, segments: Sequence[Segment], seed: int) -> None:
        self._corpora = []
        first = 0
        for number, (pairs, weight) in enumerate(segments):
            if pairs:
                exact = Fraction(str(weight))  # 0.1 is a tenth, not the nearest binary number
                self._corpora.append(_Corpus(first, pairs, exact, seed * 1_000_003 + number))
            first += pairs

    def size(self, epoch: int) -> int:
        """Return how many pairs an epoch uses, repetitions counted."""
        return sum(corpus.uses(epoch + 1) - corpus.uses(epoch) for corpus in self._corpora)

    def pairs(self, numbers: Ids, epoch: int) -> Ids:
        """Return the pairs at some numbers of an epoch.

        :param numbers: values in [0, size). Shape: [n].
        :return: indices in the training data. Shape: [n].
        """
        result = np.empty_like(numbers)
        start = 0
        for corpus in self._corpora:
            stop = start + corpus.uses(epoch + 1) - corpus.uses(epoch)
            mine = (numbers >= start) & (numbers < stop)
            result[mine] = corpus.pairs_of(numbers[mine] - start, epoch)
            start = stop
        return result
