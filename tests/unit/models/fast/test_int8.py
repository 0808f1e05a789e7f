"""8-bit products against exact ones, and the embedding cache."""

from dataclasses import replace

import pytest
import torch

from nmtkit.models.fast import embedding_cache, int8, matmul, torch_private
from nmtkit.models.fast.embedding_cache import EmbeddingCache
from nmtkit.models.fast.int8 import (
    MAX_INT8,
    Int8Matrices,
    Int8Matrix,
    linear,
    quantize_rows,
    weighted_sums,
)
from nmtkit.models.fast.output_layer import FastOutputLayer


def draw(*shape, seed=1):
    random = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=random)


@pytest.fixture(params=["processor", "fbgemm", "vnni"])
def kernel(request, monkeypatch):
    """Each library in turn; the largest integer in its rows."""
    if request.param != "processor":
        uses_fbgemm = request.param == "fbgemm"
        if uses_fbgemm and not torch_private.has_fbgemm():
            pytest.skip("this torch has no FBGEMM")
        monkeypatch.setattr(int8, "_uses_fbgemm", lambda: uses_fbgemm)
    return torch_private.MAX_FBGEMM_ROW if int8._uses_fbgemm() else MAX_INT8


@pytest.mark.parametrize("kind", [lambda matrix: matrix, Int8Matrix])
def test_products_of_integers_are_exact(kind, kernel):
    """Every row and column has its largest integer, so that each scale is 1."""
    a, matrix = draw(5, 4).mul(9).round(), draw(4, 6).mul(9).round()
    a[:, 0], matrix[1] = kernel, -MAX_INT8
    addend = draw(5, 6)
    assert torch.equal(linear(a, kind(matrix)), a @ matrix)
    torch.testing.assert_close(linear(a, kind(matrix), addend), a @ matrix + addend)
    torch.testing.assert_close(linear(a, kind(matrix), addend[0]), a @ matrix + addend[0])
    cube = a.view(5, 1, 4)
    torch.testing.assert_close(
        linear(cube, kind(matrix), addend.view(5, 1, 6)), (a @ matrix + addend).view(5, 1, 6)
    )


def test_quantization_errors_are_within_rounding(kernel):
    """The error of a factor is at most half a step between the integers of its row or column."""
    a, matrix = draw(50, 64), draw(64, 32, seed=2) * torch.logspace(-3, 3, 32)
    error = (linear(a, Int8Matrix(matrix)) - a @ matrix).abs()
    error_a = a.abs().amax(1, keepdim=True) / (2 * kernel)
    error_matrix = matrix.abs().amax(0) / (2 * MAX_INT8)
    most = error_a * matrix.abs().sum(0) + (a.abs() + error_a).sum(1, keepdim=True) * error_matrix
    assert (error <= most * 1.001).all() and error.max() > 0


def test_quantized_rows_do_not_influence_each_other(kernel):
    a, matrix = draw(7, 64), Int8Matrix(draw(64, 32, seed=2))
    a[3] *= 1000
    alone = torch.cat([linear(a[row : row + 1], matrix) for row in range(7)])
    assert torch.equal(linear(a, matrix), alone)


def test_rows_may_lie_otherwise_in_memory(kernel):
    a, matrix = draw(64, 7), Int8Matrix(draw(64, 32, seed=2))
    assert torch.equal(linear(a.t(), matrix), linear(a.t().contiguous(), matrix))


def test_zero_matrices_give_zero_products(kernel):
    assert torch.equal(linear(torch.zeros(2, 3), Int8Matrix(draw(3, 4))), torch.zeros(2, 4))
    assert torch.equal(linear(draw(2, 3), Int8Matrix(torch.zeros(3, 4))), torch.zeros(2, 4))


def test_some_columns_are_those_of_the_whole_product(kernel):
    a, addend, matrix = draw(3, 2, 16), draw(20), Int8Matrix(draw(16, 20, seed=2))
    whole = linear(a, matrix, addend)
    some = matrix.columns(torch.tensor([4, 17, 4]))
    torch.testing.assert_close(linear(a, some, addend[[4, 17, 4]]), whole[..., [4, 17, 4]])


@pytest.mark.parametrize("quantize", [False, True])
def test_candidate_logits_are_those_of_the_whole_layer(quantize, kernel):
    layer, hidden = FastOutputLayer(draw(20, 16, seed=2), draw(20)), draw(3, 2, 16)
    lists = torch.tensor([[0, 3, 19], [5, 6, -1], [2, -1, -1]])
    if quantize:
        layer = replace(layer, int8=Int8Matrix(layer.W.t()))
        assert layer.int8 is not None
        whole = linear(hidden, layer.int8, layer.bias)
    else:
        whole = hidden @ layer.W.t() + layer.bias
    expected = whole.gather(2, lists.clamp(min=0).unsqueeze(1).expand(-1, 2, -1))
    expected = expected.masked_fill((lists < 0).unsqueeze(1), -torch.inf)
    listed = layer.for_candidates(lists)
    torch.testing.assert_close(listed.logits(hidden), expected)
    rows = torch.tensor([2, 0])
    torch.testing.assert_close(listed.select(rows).logits(hidden[rows]), expected[rows])
    for row in range(3):  # a line that is alone
        one = slice(row, row + 1)
        alone = layer.for_candidates(lists[one])
        torch.testing.assert_close(alone.logits(hidden[one]), expected[one])
        assert alone.select(torch.tensor([0])).logits(hidden[one]).shape == expected[one].shape


def test_stacked_int8_products_are_separate(kernel):
    a, addend, stacked = draw(2, 5, 16), draw(2, 5, 20, seed=3), draw(2, 16, 20, seed=2)
    actual = Int8Matrices(stacked).addmm(addend, a)
    for d in range(2):
        torch.testing.assert_close(actual[d], linear(a[d], Int8Matrix(stacked[d]), addend[d]))


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("width", [7, 4])
def test_weighted_sums_of_8_bit_rows_are_close(k, width):
    """The error of a value is at most half of one of 255 steps, also in views."""
    values, weights = draw(5, 7, 24), draw(5, k, width, seed=2).softmax(2)
    expected = weighted_sums(weights, values[:, :width])
    torch.testing.assert_close(expected, weights @ values[:, :width])
    packed = quantize_rows(values.flatten(0, 1)).view(5, 7, -1)[:, :width]
    assert packed.dtype == torch.uint8
    actual = weighted_sums(weights, packed)
    step = (values.amax(2) - values.amin(2)).max() / 255
    assert 0 < (actual - expected).abs().max() <= step / 2 * 1.01
    torch.testing.assert_close(weighted_sums(weights.double(), packed), actual.double())


def test_logits_at_columns_are_those_of_the_whole_product(kernel):
    a, addend, matrix = draw(5, 16), draw(20), Int8Matrix(draw(16, 20, seed=2))
    columns = torch.tensor([[0, 3], [5, 5], [2, 18], [19, 1], [7, 7]])
    actual = matrix.logits_at_columns(a, addend, columns)
    torch.testing.assert_close(actual, linear(a, matrix, addend).gather(1, columns))


@pytest.mark.parametrize("room", [0, 3, 100])
def test_rows_beyond_the_cache_are_computed_again(monkeypatch, room):
    monkeypatch.setattr(embedding_cache, "MAX_CACHE_BYTES", 8 * room)
    requested = []

    def compute(words):
        requested.extend(words.tolist())
        return words.unsqueeze(1).double() ** 2

    rows = EmbeddingCache(compute, 10)
    for words in ([7, 0, 7, -1], [1, 7, 9, 0], [5, 5, 1, 0]):
        assert rows(torch.tensor(words)).squeeze(1).tolist() == [word * word for word in words]
    assert requested.count(7) == (1 if room == 100 else 2)


def test_cache_computes_a_row_once_and_only_when_its_word_occurs():
    requested = []

    def compute(words):
        requested.extend(words.tolist())
        return torch.stack([words, words * words], 1).double()

    rows = EmbeddingCache(compute, 10)
    for words in ([[3, -1], [3, 9]], [[9, 0], [0, 3]]):
        actual = rows(torch.tensor(words))
        expected = [[[word, word * word] for word in line] for line in words]
        assert actual.tolist() == expected
    assert sorted(requested[1:]) == [-1, 0, 3, 9]  # the first call determines the width


@pytest.mark.parametrize("packs", [True, False])
def test_shards_give_the_layers_logits(monkeypatch, packs):
    """With and without oneDNN's packing of matrices."""
    if not packs:
        monkeypatch.setattr(matmul, "_has_onednn", lambda _: False)
    layer = FastOutputLayer(draw(70, 16), draw(70))
    for rows in (1, 5, 300):
        hidden = draw(rows, 16, seed=3)
        for quantize in (False, True):
            shards = (replace(layer, int8=Int8Matrix(layer.W.t())) if quantize else layer).shards(
                32, 8
            )
            actual = torch.cat([shard.logits(hidden) for shard in shards], 1)
            error = (actual[:, :70] - (hidden @ layer.W.t() + layer.bias)).abs().max()
            assert error < (0.3 if quantize else 1e-4)
            assert actual.size(1) == 72 and (actual[:, 70:] == -torch.inf).all()
