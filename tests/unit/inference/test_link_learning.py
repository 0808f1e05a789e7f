"""Links that are learned from many pairs: laws, and text whose links are known."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.inference import link_learning
from nmtkit.inference.link_learning import (
    DIRICHLET,
    AttendedPair,
    LinkModel,
    TokenIds,
    diagonal,
    learnable,
    word_probabilities,
)
from nmtkit.text.pair_cells import MIN_TRANSLATION, PairCells, TokenPair, Weights

SRC, TGT = "abcdefghijklm", "nopqrstuvwxyz"


def attended(src: str, tgt: str) -> AttendedPair:
    """Return a pair of words of one letter whose attention tells nothing."""
    return AttendedPair(list(src), list(tgt), np.ones((len(tgt), len(src)), np.float32))


def known_text(size: int) -> list[tuple[str, str, list[int]]]:
    """Sentences whose first word comes third in the target; the last value: sources in order."""
    random = np.random.default_rng(1)
    result = []
    for _ in range(size):
        words = random.permutation(len(SRC))[: random.integers(2, 7)].tolist()
        order = [*range(1, min(3, len(words))), 0, *range(3, len(words))]
        src = "".join(SRC[word] for word in words)
        result.append((src, "".join(TGT[words[place]] for place in order), order))
    return result


def share_right(links: Sequence[Weights], orders: Sequence[list[int]]) -> float:
    """Return the share of words whose strongest link is right."""
    found = [one.argmax(1) == order for one, order in zip(links, orders, strict=True)]
    return float(np.concatenate(found).mean())


def test_both_directions_find_the_words_of_a_text_with_other_order() -> None:
    text = known_text(200)
    pairs = [attended(src, tgt) for src, tgt, _ in text]
    links = LinkModel.learn(pairs).links(pairs)
    orders = [order for _, _, order in text]
    assert share_right([found.forward for found in links], orders) > 0.97
    inverse = [np.argsort(order).tolist() for order in orders]
    assert share_right([found.backward for found in links], inverse) > 0.97


def test_words_without_a_translation_are_linked_to_nothing() -> None:
    text = [(src, tgt[:1] + "-" + tgt[1:]) for src, tgt, _ in known_text(80)]
    pairs = [attended(src, tgt) for src, tgt in text]
    links = LinkModel.learn(pairs).links(pairs)
    linked = np.mean([found.forward[1].sum() for found in links])
    others = np.mean([np.delete(found.forward, 1, 0).sum(1).mean() for found in links])
    assert linked < 0.2 and others > 0.8


letters = st.lists(
    st.tuples(st.text(SRC[:3], min_size=1, max_size=4), st.text(TGT[:3], min_size=1, max_size=4)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=50)
@given(letters, st.integers(1, 5))
def test_probabilities_of_links_add_up_to_at_most_one(
    texts: list[tuple[str, str]], rounds: int
) -> None:
    pairs = [attended(src, tgt) for src, tgt in texts]
    for found in LinkModel.learn(pairs, rounds).links(pairs):
        for weights in found:
            assert weights.min() >= 0 and weights.sum(1).max() <= 1 + 1e-4


@settings(max_examples=50)
@given(letters)
def test_sides_can_be_exchanged(texts: list[tuple[str, str]]) -> None:
    pairs = [attended(src, tgt) for src, tgt in texts]
    flipped = [AttendedPair(pair.tgt, pair.src, pair.attention.T) for pair in pairs]
    there = LinkModel.learn(pairs, 4).links(pairs)
    back = LinkModel.learn(flipped, 4).links(flipped)
    for one, other in zip(there, back, strict=True):
        assert np.allclose(one.forward, other.backward, atol=1e-3)
        assert np.allclose(one.backward, other.forward, atol=1e-3)


def test_attention_decides_where_words_tell_nothing() -> None:
    pairs = [attended("ab", "no")] * 5
    sure = np.array([[0.01, 0.99], [0.99, 0.01]], np.float32)
    pairs += [AttendedPair(["a", "b"], ["n", "o"], sure)] * 5
    plain, guided = (LinkModel.learn(some).links(some)[0] for some in (pairs[:5], pairs[5:]))
    assert guided.forward[0, 1] > plain.forward[0, 1]
    assert guided.backward[1, 0] > plain.backward[1, 0]


def test_shares_are_those_of_a_dirichlet_prior() -> None:
    counts, words = np.array([2.0, 0.0, 5.0]), np.array([1, 1, 4])

    def digamma(x: float) -> float:
        total = 0.0
        while x < 30:
            total -= 1 / x
            x += 1
        return total + float(np.log(x)) - 1 / (2 * x) - 1 / (12 * x**2)

    expected = [
        np.exp(digamma(2 + DIRICHLET) - digamma(2 + 2 * DIRICHLET)),
        np.exp(digamma(DIRICHLET) - digamma(2 + 2 * DIRICHLET)),
        1.0,
        MIN_TRANSLATION,
    ]
    assert word_probabilities(counts, words).tolist() == pytest.approx(expected, rel=1e-4)
    assert word_probabilities(counts, words, 0.0).tolist() == pytest.approx(
        [1, 0, 1, MIN_TRANSLATION]
    )


def test_the_diagonal_has_the_largest_weight() -> None:
    ones = np.ones((3, 3), np.float32)
    pair = TokenPair(np.arange(3), np.arange(3), ones, ones)
    cells = PairCells.of([pair], 3)
    weights = cells.matrix(diagonal(cells), 0)
    assert weights.argmax(1).tolist() == [0, 1, 2] and weights.max() == 1
    assert weights[0, 1] == pytest.approx(np.exp(-4 / 3), rel=1e-5)


def test_unknown_tokens_have_a_number_of_their_own() -> None:
    ids = TokenIds.of(["ab", "a"])
    assert ids("abxy").tolist() == [0, 1, 2, 2]
    assert ids.frequencies.tolist() == pytest.approx([2 / 4, 1 / 4, 1 / 4])


def test_links_of_pairs_that_were_not_learned_from() -> None:
    text = known_text(200)
    pairs = [attended(src, tgt) for src, tgt, _ in text]
    model = LinkModel.learn(pairs[20:])
    links = [found.forward for found in model.links(pairs[:20])]
    assert share_right(links, [order for _, _, order in text[:20]]) > 0.95
    (strange,) = model.links([attended("??", "!")])
    assert strange.forward.shape == (1, 2) and np.isfinite(strange.forward).all()


def test_a_part_of_many_pairs_is_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_learning, "MAX_CELLS", 20)
    monkeypatch.setattr(link_learning, "MAX_SIDE_TOKENS", 3)
    left_out = attended("abcd", "n"), attended("a", "nopq"), attended("", "n")
    pairs = iter([*left_out, *[attended("ab", "no")] * 10])
    assert [pair.attention.size for pair in learnable(pairs)] == [4] * 5
    assert len(list(pairs)) == 5
