"""The best expansions equal those of a full sort."""

import pytest
import torch

from nmtkit.models.base import log_probs as log_softmax
from nmtkit.models.fast.int8 import Int8Matrix
from nmtkit.models.fast.output_layer import FastOutputLayer
from nmtkit.search import next_token
from nmtkit.search.model_averaging import EQUAL_WEIGHTS
from nmtkit.search.next_token import NextTokenScorer
from nmtkit.search.search_settings import MAX_LOG_PROB, TokenMask
from nmtkit.search.token_blocks import GROUP_TOKENS
from nmtkit.special_symbols import BOS, EOS, UNK

HYPOTHESES = 4


def random_layers(size, models=1, seed=1):
    random = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    return [FastOutputLayer(draw(size, 3), draw(size)) for _ in range(models)]


def random_beam(sentences, models=1, unused_share=0.3, seed=2):
    """Return readouts of each model, and scores, -inf in some slots but never in the first."""
    random = torch.Generator().manual_seed(seed)
    shape = (sentences, HYPOTHESES)
    readouts = [
        torch.randn(*shape, 3, generator=random, dtype=torch.float64) * 2 for _ in range(models)
    ]
    scores = -torch.rand(shape, generator=random, dtype=torch.float64) * 5
    unused = torch.rand(shape, generator=random) < unused_share
    unused[:, 0] = False
    return readouts, scores.masked_fill(unused, -torch.inf)


def nothing_forbidden(scores):
    return TokenMask(torch.zeros(scores.shape, dtype=torch.bool), False)


def sorted_expansions(layers, readouts, scores, forbidden):
    """Return every expansion of each sentence as (score, parent, token), best first."""
    pairs = zip(layers, readouts, strict=True)
    values = EQUAL_WEIGHTS([log_softmax(layer, readout) for layer, readout in pairs])
    values[..., EOS] = values[..., EOS].masked_fill(forbidden.eos, -torch.inf)
    if forbidden.unk:
        values[..., UNK] = -torch.inf
    if forbidden.repeats is not None:
        for index, token in zip(
            (forbidden.repeats >= 0).nonzero().tolist(),
            forbidden.repeats[forbidden.repeats >= 0].tolist(),
            strict=True,
        ):
            values[index[0], index[1], token] = -torch.inf
    totals = (values + scores.unsqueeze(-1)).tolist()
    return [
        sorted(
            ((s, k, w) for k, row in enumerate(sentence) for w, s in enumerate(row)),
            key=lambda entry: (-entry[0], *entry[1:]),
        )
        for sentence in totals
    ]


@pytest.mark.parametrize("size", [3, GROUP_TOKENS, GROUP_TOKENS + 1, 3 * GROUP_TOKENS - 1])
@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("unused_share", [0.0, 0.5])
@pytest.mark.parametrize(
    ("room", "few_rows"),
    [(1, 0), (50 * GROUP_TOKENS, 0), (next_token.MAX_LOGITS, 0), (next_token.MAX_LOGITS, 1000)],
)
def test_the_best_are_those_of_a_full_sort(monkeypatch, size, models, unused_share, room, few_rows):
    monkeypatch.setattr(next_token, "MAX_LOGITS", room)
    monkeypatch.setattr(next_token, "FEW_ROWS", few_rows)
    layers = random_layers(size, models)
    readouts, scores = random_beam(9, models, unused_share)
    repeats = torch.randint(BOS, size, (*scores.shape, 40))  # more than a block has
    forbidden = TokenMask(torch.rand(scores.shape) < 0.5, unused_share > 0, repeats)
    expected = sorted_expansions(layers, readouts, scores, forbidden)
    for count in (1, 4, 8):
        actual = NextTokenScorer(layers).best(readouts, scores, count, forbidden)
        for row, best in enumerate(expected):
            real = [entry for entry in best[:count] if entry[0] > -torch.inf]
            assert actual.tokens[row, : len(real)].tolist() == [word for *_, word in real]
            assert actual.parents[row, : len(real)].tolist() == [parent for _, parent, _ in real]
            assert actual.scores[row, : len(real)].tolist() == pytest.approx([s for s, *_ in real])
            assert (actual.scores[row, len(real) :] == -torch.inf).all()
            assert (actual.tokens[row, len(real) :] < size).all()


@pytest.mark.parametrize("few_rows", [0, 16])
def test_ties_are_in_the_order_of_hypotheses_and_of_tokens(monkeypatch, few_rows):
    monkeypatch.setattr(next_token, "FEW_ROWS", few_rows)
    layer = FastOutputLayer(torch.zeros(5, 3), torch.tensor([0.0, 1, 0, 1, 1]))
    scores = torch.zeros(1, 2, dtype=torch.float64)
    actual = NextTokenScorer([layer]).best(
        [torch.ones(1, 2, 3)], scores, 10, nothing_forbidden(scores)
    )
    assert actual.parents.tolist() == [[0, 0, 0, 1, 1, 1, 0, 0, 1, 1]]
    assert actual.tokens.tolist() == [[1, 3, 4, 1, 3, 4, 0, 2, 0, 2]]


def test_a_whole_layer_is_packed_once_and_a_part_of_it_at_every_use():
    (layer,) = random_layers(2 * GROUP_TOKENS)
    whole, part = (
        [layer.shards(width, GROUP_TOKENS) for _ in range(2)]
        for width in (2 * GROUP_TOKENS, GROUP_TOKENS)
    )
    assert whole[0] is whole[1] and len(whole[0]) == 1
    assert part[0] is not part[1] and len(part[0]) == 2


def test_the_output_layer_is_not_changed():
    layers = random_layers(7)
    copies = [layers[0].W.clone(), layers[0].bias.clone()]
    readouts, scores = random_beam(2)
    NextTokenScorer(layers).best(readouts, scores, 3, TokenMask(scores < 0, unk=True))
    for tensor, copy in zip((layers[0].W, layers[0].bias), copies, strict=True):
        assert torch.equal(tensor, copy)


@pytest.mark.parametrize("models", [1, 2])
def test_distributions_are_the_mean_of_the_models(models):
    layers = random_layers(GROUP_TOKENS + 5, models)
    readouts, _ = random_beam(3, models)
    parts = list(NextTokenScorer(layers).distributions(readouts))
    actual = torch.cat([log_probs for _, log_probs in parts])
    rows = [values.flatten(0, 1) for values in readouts]
    probabilities = [
        log_softmax(layer, values).exp() for layer, values in zip(layers, rows, strict=True)
    ]
    size = GROUP_TOKENS + 5
    torch.testing.assert_close(actual[:, :size].exp(), torch.stack(probabilities).mean(0))
    assert (actual[:, size:] == -torch.inf).all()


def test_a_confident_8_bit_model_gives_no_score_above_0():
    (layer,) = random_layers(50)
    sure = FastOutputLayer(layer.W.float() * 40, layer.bias.float())
    layers = [sure, FastOutputLayer(sure.W, sure.bias, Int8Matrix(sure.W.t()))]
    readouts, _ = random_beam(6)
    readouts, scores = [readouts[0].float()], torch.zeros(6, HYPOTHESES, dtype=torch.float64)
    exact, rounded = (
        NextTokenScorer([one]).best(readouts, scores, 5, nothing_forbidden(scores))
        for one in layers
    )
    assert exact.scores.max() <= MAX_LOG_PROB and rounded.scores.max() <= MAX_LOG_PROB
    assert (exact.scores - rounded.scores).abs().max() > 0.1, "8 bits do round"


def test_a_confident_bfloat16_model_gives_nearly_exact_scores_and_none_above_0():
    (layer,) = random_layers(3 * GROUP_TOKENS)
    sure = FastOutputLayer(layer.W.float() * 40, layer.bias.float())
    rounded = FastOutputLayer(sure.W, sure.bias, bfloat16=True)
    readouts, _ = random_beam(6)
    readouts, scores = [readouts[0].float()], torch.zeros(6, HYPOTHESES, dtype=torch.float64)
    expected, actual = (
        NextTokenScorer([one]).best(readouts, scores, 1, nothing_forbidden(scores))
        for one in (sure, rounded)
    )
    assert actual.scores.max() <= MAX_LOG_PROB
    torch.testing.assert_close(actual.scores, expected.scores, atol=2e-3, rtol=0)
    assert not torch.equal(actual.scores, expected.scores)  # it did round
