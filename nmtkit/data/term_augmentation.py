"""Training pairs whose source says what some of its words must become (Dinu et al. 2019).

Dinu et al. take the entries of a dictionary, and put the words of the translation behind them or
instead of them. Instead, they are all that the model has, so that it learns sooner to use them.
Here any words serve that a table of word pairs links: two words are linked if each is the other's
best. A term is a span of up to three source words, and its target words are linked to nothing else,
as in phrase extraction (Koehn et al. 2003). So training needs no glossary.

Half of the terms are exchanged: the translation of another pair's term stands in the source and in
the target. Nothing but the source then says what to write, so that the model learns to use words
that it does not expect, which is what glossaries are for. Where the translation of one of the
others is one word, another form of it sometimes stands in the source: a word that translates the
same source word, too, and begins alike. So the model learns to inflect terms.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmtkit.data.corpus import Corpus, Ids, Side
from nmtkit.data.resampling import Pool
from nmtkit.data.word_pairs import WordPairs, prior
from nmtkit.special_symbols import UNK
from nmtkit.text.subword.bpe_dropout import Sentences
from nmtkit.text.term_words import TermWords

SECOND_TERM = 0.5
"""Share of the annotated pairs in which a second term is looked for."""

TRIES = 4
"""Spans that are drawn for a term until one is found."""

SPAN_LENGTHS = (0.6, 0.3, 0.1)
"""Probabilities of spans of one, two and three source words."""

MAX_TARGET_TOKENS = 8
"""Tokens of the longest translation of a term."""

FREQUENT_WORDS, FREQUENT_SHARE = 100, 0.02
"""Words of this rank and below, by frequency, are no term by themselves; but no larger a share of
the vocabulary."""

EXCHANGED = 0.5
"""Share of the terms that become the translation of another pair's term."""

INFLECTED = 0.3
"""Share of the single words that stand in another form in the source."""

MIN_STEM, STEM_SHARE = 3, 0.6
"""Letters, and share of the longer word, in which two forms of a word begin alike."""

MAX_KNOWN_FORMS = 100_000
"""Words whose other forms are remembered."""

Flags = npt.NDArray[np.bool_]


class WordEnds(NamedTuple):
    """Where words end; of each word of a vocabulary.

    opens: the next token may belong to the same word. goes_on: the token before may.
    """

    opens: Flags
    goes_on: Flags

    @classmethod
    def of(cls, boundaries: Sequence[tuple[bool, bool]]) -> "WordEnds":
        """Take what `TextPipeline.word_boundaries` returns."""
        opens, goes_on = np.array(boundaries, np.bool_).reshape(-1, 2).T
        return cls(opens, goes_on)

    def words(self, ids: Ids) -> Ids:
        """Return for each token the number of its word, from 0."""
        inside = self.opens[ids[:-1]] & self.goes_on[ids[1:]]
        return np.concatenate([[0], np.cumsum(~inside)])


class TermSpan(NamedTuple):
    """A term in a sentence pair: its source tokens, and those of its translation."""

    src: slice
    tgt: slice


class SubstitutedTerm(NamedTuple):
    """A term, what stands for it in the source, and its translation."""

    span: TermSpan
    src: Ids
    tgt: Ids


class TermAugmenter:
    """Writes translations instead of terms, in a share of the pairs.

    :param pairs: how strongly words belong together.
    :param ends: where source and target words end.
    :param texts: the text of each target token that is a word by itself, "" for others.
    :param words: the source words that stand for target words.
    :param share: share of the pairs.
    """

    def __init__(
        self,
        pairs: WordPairs,
        ends: tuple[WordEnds, WordEnds],
        texts: Sequence[str],
        words: TermWords,
        share: float,
    ) -> None:
        self._pairs, self._ends, self._texts = pairs, ends, texts
        self._words, self._share = words, share
        self._frequent = max(UNK, min(FREQUENT_WORDS, int(FREQUENT_SHARE * words.first)))
        self._forms = lru_cache(MAX_KNOWN_FORMS)(self._find_forms)

    def annotate(self, pool: Pool, key: str) -> Pool:
        """Return the pairs of a pool, some of them annotated; the same key annotates the same.

        :raises DataError: the files of the corpus are damaged.
        """
        random = np.random.default_rng(list(f"terms {key}".encode()))
        src = [pool.corpus.src[index] for index in pool.indices]
        tgt = [pool.corpus.tgt[index] for index in pool.indices]
        chosen = np.flatnonzero(random.random(len(src)) < self._share).tolist()
        spans = {number: self._spans(src[number], tgt[number], random) for number in chosen}
        known = [tgt[number][span.tgt] for number in chosen for span in spans[number]]
        for number in chosen:
            pair = src[number], tgt[number]
            terms = [self._term(*pair, span, known, random) for span in spans[number]]
            src[number] = _replaced(src[number], [(term.span.src, term.src) for term in terms])
            tgt[number] = _replaced(tgt[number], [(term.span.tgt, term.tgt) for term in terms])
        sides = (Side(*Sentences.of(side), checksum="drawn") for side in (src, tgt))
        return Pool(Corpus(*sides), np.arange(len(src)), pool.numbers)

    def _term(
        self, src: Ids, tgt: Ids, span: TermSpan, known: Sequence[Ids], random: np.random.Generator
    ) -> SubstitutedTerm:
        """Return what stands for a term in the source, and its translation.

        :param known: translations of terms, those of other pairs among them.
        """
        if random.random() < EXCHANGED:
            translation = known[int(random.integers(len(known)))]
            return SubstitutedTerm(span, self._words.first + translation, translation)
        form = self._inflected(src[span.src], tgt[span.tgt], random)
        return SubstitutedTerm(span, self._words.first + form, tgt[span.tgt])

    def _spans(self, src: Ids, tgt: Ids, random: np.random.Generator) -> list[TermSpan]:
        """Draw one or two spans that do not overlap; fewer if none are found."""
        count = 1 + int(random.random() < SECOND_TERM)
        if min(len(src), len(tgt)) < 2:
            return []
        words = self._ends[0].words(src[:-1]), self._ends[1].words(tgt[:-1])
        links = self._links(src, tgt, *words)
        found: list[TermSpan] = []
        for _ in range(count * TRIES):
            length = int(random.choice(len(SPAN_LENGTHS), p=SPAN_LENGTHS)) + 1
            length = min(length, links.shape[1])
            start = int(random.integers(links.shape[1] - length + 1))
            span = _span(links, words, slice(start, start + length))
            if span and self._is_term(src[span.src], tgt[span.tgt]) and _is_free(span, found):
                found.append(span)
            if len(found) == count:
                break
        return found

    def _links(self, src: Ids, tgt: Ids, src_words: Ids, tgt_words: Ids) -> Flags:
        """Return which words are linked: two tokens of theirs are each other's best.

        Shape: [target words, source words].
        """
        keys, strengths, size = self._pairs
        wanted = src * size + tgt[:, None]
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        table = np.where(keys[found] == wanted, strengths[found], 0) * prior(len(src), len(tgt))
        table = table[:-1, :-1]  # without `</s>`
        links = np.zeros((tgt_words[-1] + 1, src_words[-1] + 1), np.bool_)
        i = np.arange(len(table))
        j = table.argmax(1)
        mutual = (table.argmax(0)[j] == i) & (table[i, j] > 0)
        links[tgt_words[i[mutual]], src_words[j[mutual]]] = True
        return links

    def _is_term(self, src: Ids, tgt: Ids) -> bool:
        """Return whether a span may be a term, and its translation can be written."""
        return bool((src > self._frequent).any() and (tgt != UNK).all()) and (
            len(tgt) <= MAX_TARGET_TOKENS
        )

    def _inflected(self, src: Ids, tgt: Ids, random: np.random.Generator) -> Ids:
        """Return a translation, sometimes in another form."""
        if len(tgt) != 1 or random.random() >= INFLECTED:
            return tgt
        forms = [form for word in src.tolist() for form in self._forms(word, int(tgt[0]))]
        return np.array([forms[int(random.integers(len(forms)))]]) if forms else tgt

    def _find_forms(self, src: int, tgt: int) -> list[int]:
        """Return other translations of a source word that begin like one of them."""
        keys, _, size = self._pairs
        first, last = np.searchsorted(keys, (src * size, (src + 1) * size))
        text, texts = self._texts[tgt], self._texts
        others = (keys[first:last] - src * size).tolist()
        return [other for other in others if other != tgt and _begin_alike(text, texts[other])]


def _span(links: Flags, words: tuple[Ids, Ids], src: slice) -> TermSpan | None:
    """Return the tokens of some source words and of the words that alone are linked to them.

    :param links: Shape: [target words, source words].
    :param words: number of the word of each source and of each target token.
    """
    if not links[:, src].any(0).all():
        return None
    linked = np.flatnonzero(links[:, src].any(1))
    tgt = slice(int(linked[0]), int(linked[-1]) + 1)
    if len(linked) < tgt.stop - tgt.start or links[tgt].sum() > links[tgt, src].sum():
        return None
    (src_words, tgt_words) = words
    return TermSpan(_tokens(src_words, src), _tokens(tgt_words, tgt))


def _replaced(sentence: Ids, parts: Sequence[tuple[slice, Ids]]) -> Ids:
    """Return a sentence with other tokens in some parts, which do not overlap."""
    pieces, done = [], 0
    for part, tokens in sorted(parts, key=lambda pair: pair[0].start):
        pieces += [sentence[done : part.start], tokens]
        done = part.stop
    return np.concatenate([*pieces, sentence[done:]])


def _tokens(words: Ids, part: slice) -> slice:
    """Return the tokens of some words, given the word of each token."""
    start, stop = np.searchsorted(words, (part.start, part.stop)).tolist()
    return slice(start, stop)


def _is_free(span: TermSpan, others: Sequence[TermSpan]) -> bool:
    return all(
        span.src.stop <= other.src.start or other.src.stop <= span.src.start for other in others
    )


def _begin_alike(one: str, other: str) -> bool:
    """Return whether two words may be forms of one."""
    longer = max(len(one), len(other))
    stem = max(MIN_STEM, int(np.ceil(STEM_SHARE * longer)))
    return min(len(one), len(other)) >= stem and one[:stem] == other[:stem]
