"""Products by either library against NumPy's in float64."""

import os
import subprocess
import sys

import pytest
import torch

from nmtkit.models.fast import matmul as module
from nmtkit.models.fast.matmul import Prepacked, addmm, matmul, matmul_dtype, matmul_transposed

ROWS = [0, 1, 7, 80, 130, 512, 700, 1100]
n, w = 24, 33


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def exact(a, B):
    return torch.from_numpy(a.double().numpy() @ B.double().numpy()).float()


def assert_close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=3e-4)


@pytest.fixture(params=["oneDNN", "torch"])
def library(request, monkeypatch, onednn_calls):
    """Compute all products with one library."""
    for name in ("MIN_ONEDNN_SIZE", "LARGE_SIZE"):
        monkeypatch.setattr(module, name, 1 if request.param == "oneDNN" else 1 << 60)
    yield
    assert bool(onednn_calls) == (request.param == "oneDNN")


@pytest.mark.parametrize("strided", [False, True], ids=["rows", "columns of others"])
def test_products_equal_numpys(library, strided):
    wide = slice(3, 3 + n) if strided else slice(None)
    B = draw(n, w + 4, seed=2)[:, 2 : 2 + w] if strided else draw(n, w, seed=2)
    prepacked = Prepacked(B)
    for rows in ROWS:
        a, addend = draw(rows, n + 6 if strided else n)[:, wide], draw(rows, w, seed=3)
        expected = exact(a, B)
        for actual in (matmul(a, B), prepacked.matmul(a)):
            assert_close(actual, expected)
        for more in (addend, draw(w, seed=4)):
            for actual in (addmm(more, a, B), prepacked.addmm(more, a)):
                assert_close(actual, expected + more)
        assert_close(matmul_transposed(a, addend), exact(a.t(), addend))


def test_stacked_products_are_separate(library):
    a, B, addend = draw(2, 300, n), draw(2, n, w, seed=2), draw(2, 300, w, seed=3)
    expected = torch.stack([exact(*both) for both in zip(a, B, strict=True)])
    for matrices in (B, B.transpose(1, 2).contiguous().transpose(1, 2)):
        prepacked = Prepacked(matrices)
        assert_close(prepacked.matmul(a), expected)
        out = draw(2, 300, w + 5)[..., 2 : 2 + w]
        assert prepacked.addmm(addend, a, out=out) is out
        assert_close(out, expected + addend)
        total = addend.clone()
        prepacked.addmm(total, a, out=total)
        assert_close(total, expected + addend)
    gradients = torch.stack([exact(x.t(), y) for x, y in zip(a, addend, strict=True)])
    assert_close(matmul_transposed(a, addend), gradients)


@pytest.mark.parametrize("is_bias", [True, False])
def test_gradients_equal_autograds(library, is_bias):
    inputs = [draw(w) if is_bias else draw(300, w), draw(300, n, seed=2), draw(n, w, seed=3)]
    weights = draw(300, w, seed=4)
    actual = [value.clone().requires_grad_() for value in inputs]
    more, a, B = expected = [value.double().requires_grad_() for value in inputs]
    ((addmm(*actual) + matmul(*actual[1:])) * weights).sum().backward()
    ((more + 2 * a @ B) * weights).sum().backward()
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-4, atol=1e-3)


def test_the_same_operands_give_the_same_product(library):
    a, B = draw(300, n), draw(n, w)
    assert torch.equal(matmul(a, B), matmul(a, B))
    assert torch.equal(matmul_transposed(a, a), matmul_transposed(a, a))


def test_onednn_gets_few_different_numbers_of_rows(monkeypatch, always_onednn):
    """OneDNN prepares a kernel for each number of rows, and keeps it in memory."""
    row_counts, B = [], draw(n, w)

    def record(a, *_):
        row_counts.append(len(a))
        return a.new_zeros(len(a), w)

    monkeypatch.setattr(module, "_onednn_linear", record)
    for rows in range(1, 2000):
        matmul(draw(rows, n), B)
    assert len(set(row_counts)) <= 29
    assert sum(row_counts) < 1.05 * sum(range(1, 2000))


@pytest.mark.parametrize("most", [1, 64, 100, 160, 200, 750, 10_000])
def test_chunks_of_rows_are_not_copied(monkeypatch, always_onednn, onednn_calls, most):
    rows = module.chunk_rows(most)
    assert rows <= max(most, module.LARGE_ROW_MULTIPLE)
    a = draw(rows, n)
    assert Prepacked(draw(n, w, seed=2)).matmul(a).shape == (rows, w)
    assert onednn_calls[-1][0] is a


def test_other_types_are_left_to_torch(monkeypatch, always_onednn):
    monkeypatch.setattr(module, "_onednn_linear", None)
    a, B = draw(300, n).double(), draw(n, w).double()
    assert torch.equal(matmul(a, B), a @ B)
    assert torch.equal(Prepacked(B).matmul(a), a @ B)
    assert torch.equal(matmul_transposed(a, a), a.t() @ a)


def assert_close_in_bfloat16(actual, expected):
    """Compare with products that torch sums in another order, in float32, and rounds once."""
    assert actual.dtype == expected.dtype == torch.bfloat16
    torch.testing.assert_close(actual, expected, rtol=2**-7, atol=1e-4)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("stacked", [False, True])
def test_bfloat16_products_equal_torchs(rows, stacked):
    shape = (2, rows) if stacked else (rows,)
    a, B = draw(*shape, n).bfloat16(), draw(*shape[:-1], n, w, seed=2).bfloat16()
    b = draw(*shape, w, seed=3).bfloat16()
    assert_close_in_bfloat16(Prepacked(B).matmul(a), a @ B)
    assert_close_in_bfloat16(matmul_transposed(a, b), a.transpose(-2, -1) @ b)
    if not stacked:
        assert_close_in_bfloat16(matmul(a, B), a @ B)


@pytest.mark.parametrize("is_bias", [True, False])
def test_gradients_under_autocast_equal_torchs(is_bias):
    inputs = [draw(w) if is_bias else draw(300, w), draw(300, n, seed=2), draw(n, w, seed=3)]
    weights = draw(300, w, seed=4)
    ours, torchs = ([value.clone().requires_grad_() for value in inputs] for _ in range(2))
    with torch.autocast("cpu", torch.bfloat16):
        ((addmm(*ours) + matmul(*ours[1:])) * weights).sum().backward()
        ((torch.addmm(*torchs) + torchs[1] @ torchs[2]) * weights).sum().backward()
    for one, other in zip(ours, torchs, strict=True):
        assert one.grad.dtype == torch.float32
        torch.testing.assert_close(one.grad, other.grad, rtol=2**-6, atol=0.1)


def test_bfloat16_has_few_different_numbers_of_rows(monkeypatch):
    """Torch, too, multiplies bfloat16 by oneDNN, which prepares a kernel for each number."""
    if not module._has_onednn(torch.bfloat16):
        pytest.skip("this processor does not multiply bfloat16 by oneDNN's private functions")
    row_counts, B = [], draw(n, w).bfloat16()

    def record(a, *_):
        row_counts.append(len(a))
        return a.new_zeros(len(a), w)

    monkeypatch.setattr(module, "_onednn_linear", record)
    for rows in range(1, 2000):
        Prepacked(B).matmul(draw(rows, n))
    assert len(set(row_counts)) <= 45
    assert sum(row_counts) < 1.08 * sum(range(1, 2000))


def test_sums_over_rows_have_few_different_lengths_in_bfloat16(monkeypatch):
    if not module._has_onednn(torch.bfloat16):
        pytest.skip("this processor does not multiply bfloat16 by oneDNN's private functions")
    row_counts, in_round_rows = [], module._in_round_rows

    def record(a, dtype):
        padded = in_round_rows(a, dtype)
        row_counts.append(len(padded))
        return padded

    monkeypatch.setattr(module, "_in_round_rows", record)
    for rows in range(512, 4096):
        a = torch.zeros(rows, 1, dtype=torch.bfloat16)
        matmul_transposed(a, a)
        assert rows <= row_counts[-1] <= rows * 9 / 8
    assert len(set(row_counts)) <= 25


def test_sums_have_the_type_of_the_addend():
    a, B = draw(5, n), draw(n, w).bfloat16()
    for addend in (draw(w), draw(5, w)):
        expected = addend + a.bfloat16() @ B
        assert torch.equal(Prepacked(B).addmm(addend, a), expected)
        assert expected.dtype == torch.float32
    assert torch.equal(Prepacked(B).addmm(addend, a, out=addend), expected)


def test_under_autocast_products_are_of_its_type(monkeypatch, always_onednn):
    a, B = draw(5, n), draw(n, w)
    with torch.autocast("cpu", torch.bfloat16):
        assert matmul_dtype(a) == torch.bfloat16
        assert matmul(a, B).dtype == addmm(draw(w), a, B).dtype == torch.bfloat16


def test_without_the_private_functions_torch_multiplies(monkeypatch, always_onednn):
    monkeypatch.setattr(module, "_pack", lambda _: torch.ops.mkldnn.no_such_function)
    module._has_onednn.cache_clear()
    try:
        a, B = draw(5, n), draw(n, w)
        assert torch.equal(matmul(a, B), a @ B)
        assert torch.equal(Prepacked(B).matmul(a), a @ B)
    finally:
        module._has_onednn.cache_clear()


def test_bfloat16_needs_no_processor_of_its_own():
    """oneDNN multiplies bfloat16 with AVX-512 only; without it torch does."""
    code = (
        "import torch; from nmtkit.models.fast.matmul import BFloat16Matrix as M;"
        "print(M(torch.full((40, 40), 0.5)).matmul(torch.ones(3, 40)).unique().item())"
    )
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (0, "20.0\n"), done.stderr
