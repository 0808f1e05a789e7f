"""Segmentation of a long sentence into parts that are translated one by one.

Pouget-Abadie, Bahdanau, van Merriënboer, Cho and Bengio 2014, section 3. With p translating and q
translating back, and f_k the candidate translations of the span e_ij of the source,

    c(e_ij, f_k) = (log p(f_k | e_ij) + log q(e_ij | f_k)) / (2 |log(j - i + 1)|)       (2)
    c_ij = max_k c(e_ij, f_k)                                                          (3)
    s_j = max_{1 <= i <= j} (c_ij + s_{i-1}),   s_0 = 0                                (5)
    S_j = argmax_{1 <= i <= j} (c_ij + s_{i-1})                                        (6)

and the segmentation with the largest total confidence is read off S from the end.

Spans are pairs (start, end) of word indices from 0, end exclusive: e_ij is (i - 1, j), and
j - i + 1 is end - start.

Table 2 compares three confidences: log p alone; the mean of log p and log q, not divided; and that
mean divided by the logarithm, the "short phrase penalty" of eq. (2).

Departures and readings

- The denominator of eq. (2) is 0 for a single word: its confidence would be minus infinity, and a
  sentence of one word would have no segmentation; yet table 3 shows a segment of one word, "and".
  The authors' code, which made the table, divides by the logarithm of the span's length with its
  `</s>`, plus one: log(j - i + 3). So does this module. Where log p + log q are equal, a longer
  span is more confident than a shorter one.
- The paper does not say whether log p alone is divided. Here it is not in table 2, where only the
  last row is marked (p); `confidence` can do either.
- The spans of a sentence are those of at most `longest` words, in the authors' code 20, instead of
  all: i runs over j - longest + 1 <= i <= j only.
- Of equal totals the one with the longer last segment is chosen, which (6) leaves open.
- The paper's second control has "a uniform random confidence score" and does not name its range,
  which decides how many segments there are: with numbers above 0, the sum over as many segments
  as possible, of one word each, is the largest. A confidence is a mean of log-probabilities
  divided by a positive number, so never above 0; the random ones are uniform in (-1, 0]. The scale
  changes nothing.
"""

import math
import random
from collections.abc import Mapping

Span = tuple[int, int]
"""Index of the first word of a segment, and of the first word after it."""


def spans(words: int, longest: int) -> list[Span]:
    """Return all spans of a sentence.

    :param words: its length.
    :param longest: maximum words of a span.
    """
    return [
        (start, end)
        for start in range(words)
        for end in range(start + 1, min(start + longest, words) + 1)
    ]


def confidence(log_p: float, words: int, log_q: float | None = None, penalty: bool = True) -> float:
    """Compute the confidence of a span's translation: at most 0, higher is better.

    Pouget-Abadie et al. 2014, eq. (2) and section 5.2.

    :param log_p: log p(f | e) of the translation, natural log.
    :param words: length of the span, at least 1, `</s>` not counted.
    :param log_q: log q(e | f) of the span, given the translation; None: use log p alone.
    :param penalty: divide by log(words + 2), against short spans; see *Departures and readings*.
    """
    mean = log_p if log_q is None else (log_p + log_q) / 2
    return mean / math.log(words + 2) if penalty else mean


def best_segmentation(words: int, confidences: Mapping[Span, float]) -> list[Span]:
    """Find the segmentation of the largest total confidence: eqs. (5) and (6).

    :param words: length of the sentence.
    :param confidences: of every span that may be a segment, all single words included.
    :return: adjacent spans that cover the sentence.
    """
    starts_of: list[list[int]] = [[] for _ in range(words + 1)]
    for start, end in sorted(confidences):
        starts_of[end].append(start)
    totals, best_starts = [0.0], [0]  # s_j, S_j
    for end in range(1, words + 1):
        sums = [confidences[start, end] + totals[start] for start in starts_of[end]]
        best = max(range(len(sums)), key=sums.__getitem__)  # the first of equals
        totals.append(sums[best])
        best_starts.append(starts_of[end][best])
    return _backtrack(best_starts, words)


def _backtrack(best_starts: list[int], words: int) -> list[Span]:
    """Return the segments, given the best start of the segment before each position."""
    segments: list[Span] = []
    end = words
    while end:
        segments.append((best_starts[end], end))
        end = best_starts[end]
    return segments[::-1]


def random_confidences(words: int, longest: int, seed: int) -> dict[Span, float]:
    """Draw a confidence for each span, uniform in (-1, 0]: a control experiment of the paper."""
    draw = random.Random(seed).random
    return {span: -draw() for span in spans(words, longest)}
