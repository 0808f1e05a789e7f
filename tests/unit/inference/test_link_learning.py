"""Links that are learned from many pairs: laws, and a slow reference."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmtkit.inference import link_learning
from nmtkit.inference.link_learning import ATTENTION_EXPONENT, PairIds, learn_links, link_weights
from nmtkit.inference.scorer import Score
from nmtkit.model_folder import LoadedModel

SRC, TGT = "abcd", "wxyz"

same_model = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
"""The model is not changed."""


@pytest.fixture
def model(make_model: Callable[..., LoadedModel]) -> LoadedModel:
    return make_model(1, src=" ".join(SRC), tgt=" ".join(TGT))


def scored(src: str, tgt: str, attention: Sequence[Sequence[float]] | None = None) -> Score:
    """Return a pair of words of one letter; by default its attention is uniform."""
    shape = len(tgt) + 1, len(src) + 1
    matrix = torch.full(shape, 1 / shape[1])
    if attention is not None:
        matrix[: len(tgt)] = torch.tensor(attention)
    return Score(0.0, [0.0] * shape[0], list(src), list(tgt), matrix)


def learned(
    scores: Sequence[Score], model: LoadedModel, rounds: int
) -> list[np.ndarray[tuple[int, int], np.dtype[np.float32]]]:
    """Return the weights of each pair."""
    table, rest = learn_links(scores, model, rounds)
    again = list(rest)
    assert again == list(scores)
    return [
        link_weights(score.alignment[: len(score.tgt_tokens)].numpy(), ids, table)
        for score in again
        if score.alignment is not None
        for ids in [PairIds.of(score.src_tokens, score.tgt_tokens, model)]
    ]


pairs = st.lists(
    st.tuples(st.text(SRC, max_size=5), st.text(TGT, max_size=5), st.integers(0, 2**32 - 1)),
    min_size=1,
    max_size=6,
)


def random_scores(texts: Sequence[tuple[str, str, int]]) -> list[Score]:
    scores = []
    for src, tgt, seed in texts:
        weights = np.random.default_rng(seed).dirichlet(np.ones(len(src) + 1), len(tgt))
        scores.append(scored(src, tgt, weights.tolist() if len(tgt) else None))
    return scores


def slowly_learned(scores: Sequence[Score], rounds: int) -> list[list[list[float]]]:
    """The same by dictionaries, as the module's docstring says it."""
    sources = [[*score.src_tokens, "</s>"] for score in scores]
    attention = [score.alignment.tolist() for score in scores if score.alignment is not None]
    weights = attention
    for _ in range(rounds):
        counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for score, source, matrix in zip(scores, sources, weights, strict=True):
            for target, row in zip(score.tgt_tokens, matrix, strict=False):
                for word, weight in zip(source, row, strict=True):
                    counts[word][target] += weight
        weights = []
        for score, source, matrix in zip(scores, sources, attention, strict=True):
            rows = []
            for target, alphas in zip(score.tgt_tokens, matrix, strict=False):
                row = [
                    alpha**ATTENTION_EXPONENT
                    * max(counts[word][target] / sum(counts[word].values()), 1e-6)
                    for word, alpha in zip(source, alphas, strict=True)
                ]
                rows.append([value / sum(row) for value in row])
            weights.append(rows)
    return weights


@same_model
@given(pairs, st.integers(1, 4))
def test_weights_are_those_of_the_slow_reference(
    model: LoadedModel, texts: list[tuple[str, str, int]], rounds: int
) -> None:
    scores = random_scores(texts)
    expected = slowly_learned(scores, rounds)
    for weights, slow in zip(learned(scores, model, rounds), expected, strict=True):
        assert np.allclose(weights, np.array(slow).reshape(weights.shape), rtol=1e-3, atol=1e-5)


@same_model
@given(pairs)
def test_rows_add_up_to_one(model: LoadedModel, texts: list[tuple[str, str, int]]) -> None:
    for weights in learned(random_scores(texts), model, 3):
        assert np.allclose(weights.sum(1), 1, atol=1e-5)


def test_words_are_linked_that_come_together_where_attention_tells_nothing(
    model: LoadedModel,
) -> None:
    texts = [("ab", "wx"), ("bc", "xy"), ("ca", "yw"), ("ad", "zw"), ("db", "xz")]
    scores = [scored(src, tgt) for src, tgt in texts]
    for (src, tgt), weights in zip(texts, learned(scores, model, 5), strict=True):
        best = [src[index] for index in weights[:, :-1].argmax(1)]
        assert best == [SRC[TGT.index(word)] for word in tgt]


def test_pairs_beyond_those_that_are_learned_from_come_back_too(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_learning, "MAX_CELLS", 20)
    scores = [scored("ab", "wx")] * 10
    table, again = learn_links(scores, model)
    assert len(list(again)) == 10
    assert table.probabilities.max() <= 1
