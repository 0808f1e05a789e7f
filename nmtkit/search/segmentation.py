"""Cutting a long sentence into segments that are translated apart.

Pouget-Abadie, Bahdanau, van Merriënboer, Cho and Bengio 2014, section 3. With p translating and q
translating back, and f_k the candidate translations of the span e_ij of the source,

    c(e_ij, f_k) = (log p(f_k | e_ij) + log q(e_ij | f_k)) / (2 |log(j - i + 1)|)       (2)
    c_ij = max_k c(e_ij, f_k)                                                          (3)
    s_j = max_{1 <= i <= j} (c_ij + s_{i-1}),   s_0 = 0                                (5)
    S_j = argmax_{1 <= i <= j} (c_ij + s_{i-1})                                        (6)

and the segmentation with the largest total confidence is read off S from the end.

Spans are pairs (start, end) of words counted from 0, the end not belonging to them: e_ij is
(i - 1, j), and j - i + 1 is end - start.

Departures and readings

- The denominator of a single word is |log 1| = 0. Divided by it, its confidence would be minus
  infinity, and a sentence of one word would have no segmentation; yet table 3 shows a segment of
  one word, "and". So a single word is divided by what two words are, |log 2|: the least that the
  equation has for any other span. Where log p + log q are equal, a longer span is never less
  confident than a shorter one.
- The spans of a sentence are those of at most `longest` words, instead of all: i runs over
  j - longest + 1 <= i <= j only.
- Of equal totals the one with the longer last segment is chosen, which (6) leaves open.
- The paper's second control has "a uniform random confidence score", of which the range decides
  how many segments there are: from numbers above 0 a sum over as many segments as possible is the
  largest, one word each. A confidence is half a sum of log-probabilities over something positive,
  and so never above 0; the random ones are uniform in (-1, 0]. The scale changes nothing.
"""

import math
import random
from collections.abc import Mapping

Span = tuple[int, int]
"""The first word of a part of a sentence, and the first one behind it."""


def spans(words: int, longest: int) -> list[Span]:
    """All spans of a sentence.

    :param words: its length.
    :param longest: words of a span at most.
    """
    return [
        (start, end)
        for start in range(words)
        for end in range(start + 1, min(start + longest, words) + 1)
    ]


def confidence(log_p: float, log_q: float, words: int) -> float:
    """How surely a span was translated: eq. (2); 0 or less, the higher the surer.

    :param log_p: log p(f | e) of its translation, natural log.
    :param log_q: log q(e | f) of the span, given the translation.
    :param words: length of the span, at least 1; see *Departures and readings* for 1.
    """
    return (log_p + log_q) / (2 * math.log(max(words, 2)))


def best_segmentation(words: int, confidences: Mapping[Span, float]) -> list[Span]:
    """The segmentation of the largest total confidence: eqs. (5) and (6).

    :param words: length of the sentence.
    :param confidences: of every span that may be a segment, all of a single word among them.
    :return: spans that follow upon each other and make the sentence together.
    """
    starts_of: list[list[int]] = [[] for _ in range(words + 1)]
    for start, end in sorted(confidences):
        starts_of[end].append(start)
    totals, first = [0.0], [0]
    for end in range(1, words + 1):
        reached = [confidences[start, end] + totals[start] for start in starts_of[end]]
        best = max(range(len(reached)), key=reached.__getitem__)  # the first of equals
        totals.append(reached[best])
        first.append(starts_of[end][best])
    return _read_off(first, words)


def _read_off(first: list[int], words: int) -> list[Span]:
    """The segments, from where the last segment of each beginning of the sentence begins."""
    chosen: list[Span] = []
    end = words
    while end:
        chosen.append((first[end], end))
        end = first[end]
    return chosen[::-1]


def random_confidences(words: int, longest: int, seed: int) -> dict[Span, float]:
    """A confidence for each span of a sentence, uniform in (-1, 0]; a control of the paper."""
    draw = random.Random(seed).random
    return {span: -draw() for span in spans(words, longest)}
