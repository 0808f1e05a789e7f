"""Word pairs learned from a corpus: against a slow reference, and on text whose links are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.data.corpus import Corpus, Side
from nmtkit.data.word_pairs import MIN_STRENGTH, ROUNDS, WordPairs, prior

TGT_WORDS = 20
Sentences = list[tuple[list[int], list[int]]]


def corpus_of(pairs: Sentences) -> Corpus:
    sides = zip(*pairs, strict=True)
    return Corpus(*(Side(np.concatenate(side), np.cumsum([0, *map(len, side)])) for side in sides))


def random_text(size: int, seed: int = 1) -> Sentences:
    """Words 2 to 9, each translated by itself plus 10, and at times two neighbours swapped."""
    random = np.random.default_rng(seed)
    pairs: Sentences = []
    for _ in range(size):
        src = random.integers(2, 10, random.integers(1, 8)).tolist()
        tgt = [word + 10 for word in src]
        if len(tgt) > 2 and random.random() < 0.5:
            tgt[0], tgt[1] = tgt[1], tgt[0]
        pairs.append(([*src, 0], [*tgt, 0]))
    return pairs


def slowly(pairs: Sentences) -> dict[int, float]:
    """g(x, y) by dictionaries, as the module's docstring says it."""
    strengths = {(x, y): 1.0 for src, tgt in pairs for x in src for y in tgt}
    for _ in range(ROUNDS):
        counts = dict.fromkeys(strengths, 0.0)
        for src, tgt in pairs:
            expected = prior(len(src), len(tgt)).astype(float)
            for i, y in enumerate(tgt):
                row = [expected[i, j] * strengths[x, y] for j, x in enumerate(src)]
                for x, weight in zip(src, row, strict=True):
                    counts[x, y] += weight / sum(row)
        by_src: dict[int, float] = {}
        by_tgt: dict[int, float] = {}
        for (x, y), count in counts.items():
            by_src[x] = by_src.get(x, 0.0) + count
            by_tgt[y] = by_tgt.get(y, 0.0) + count
        strengths = {
            (x, y): max(count / by_src[x] * count / by_tgt[y], 1e-20)
            for (x, y), count in counts.items()
        }
    return {x * TGT_WORDS + y: value for (x, y), value in strengths.items()}


def test_strengths_are_those_of_a_slow_reference() -> None:
    pairs = random_text(6)
    found = WordPairs.estimate(corpus_of(pairs), TGT_WORDS)
    expected = {key: value for key, value in slowly(pairs).items() if value > MIN_STRENGTH}
    assert dict(zip(found.keys.tolist(), found.strengths.tolist(), strict=True)) == pytest.approx(
        expected, rel=1e-3
    )
    assert found.keys.tolist() == sorted(expected)


def test_the_strongest_pair_of_a_word_is_its_translation() -> None:
    found = WordPairs.estimate(corpus_of(random_text(200)), TGT_WORDS)
    for word in (0, *range(2, 10)):
        own = found.keys // TGT_WORDS == word
        best = found.keys[own][found.strengths[own].argmax()] % TGT_WORDS
        assert best == (word + 10 if word else 0)


def test_a_large_corpus_is_learned_from_a_part_of_it_always_the_same() -> None:
    corpus = corpus_of(random_text(200))
    first, again = (WordPairs.estimate(corpus, TGT_WORDS, 500) for _ in range(2))
    assert first.keys.tolist() == again.keys.tolist()
    assert first.strengths.tolist() == again.strengths.tolist()
    whole = WordPairs.estimate(corpus, TGT_WORDS)
    assert len(first.keys) != len(whole.keys) or (first.strengths != whole.strengths).any()


def test_pairs_that_are_too_long_are_left_out() -> None:
    pairs = random_text(20)
    long = [*pairs, ([2] * 150 + [0], [3] * 150 + [0])]
    assert 2 * TGT_WORDS + 3 not in WordPairs.estimate(corpus_of(long), TGT_WORDS).keys


@given(st.integers(2, 40), st.integers(1, 40))
def test_the_end_of_the_target_belongs_to_that_of_the_source(src: int, tgt: int) -> None:
    """Words of the target may belong to it, too, but sooner to a word near the diagonal."""
    weights = prior(src, tgt)
    assert (weights[-1, :-1] < 1e-4 * weights[-1, -1]).all()
    assert (weights[:-1, -1] < weights[:-1, :-1].max(1)).all()
