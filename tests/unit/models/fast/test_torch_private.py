"""Private functions of torch equal their public fallbacks, and are used in one file only."""

import re
import warnings
from pathlib import Path

import pytest
import torch

import nmtkit
from nmtkit.models.fast import torch_private
from nmtkit.models.fast.torch_private import (
    MAX_FBGEMM_ROW,
    OLD_CAPABILITIES,
    _is_int_mm_exact,
    fbgemm_pack,
    fbgemm_product,
    gradient_norm,
    has_fbgemm,
    has_int_matmul,
    has_private,
    int_matmul,
    pack_rows,
    plain_pack_rows,
    plain_sum_packed_rows,
    plain_unpack_rows,
    processor_capabilities,
    scale_gradients_,
    sigmoid_slope_,
    sum_packed_rows,
    unpack_rows,
)

PACKAGE = Path(nmtkit.__file__).parent
PRIVATE = re.compile(r"torch\._[a-zA-Z]|torch\.ops\b|from torch\._|import torch\._")


def draw(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(params=[True, False], ids=["private", "fallback"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with torch's private functions, and as if this torch had none."""
    if not request.param:
        monkeypatch.setattr(torch_private, "has_private", lambda name: False)


def test_no_other_module_uses_a_private_function_of_torch() -> None:
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if PRIVATE.search(path.read_text(encoding="utf-8"))
    }
    assert users == {"models/fast/torch_private.py"}


@pytest.mark.parametrize(("name", "known"), [("_int_mm", True), ("ops.mkldnn.none_such", False)])
def test_missing_private_functions_are_detected(name: str, known: bool) -> None:
    assert has_private(name) is known


def test_an_older_torch_tells_the_same_of_this_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    known = processor_capabilities()
    has = has_private.__wrapped__
    monkeypatch.setattr(
        torch_private, "has_private", lambda name: "get_capabilities" not in name and has(name)
    )
    older = processor_capabilities()
    assert set(older) == set(OLD_CAPABILITIES)
    assert older == {name: known.get(name, False) for name in older}


@pytest.mark.usefixtures("either")
def test_int8_products_are_exact() -> None:
    generator = torch.Generator().manual_seed(1)
    a, b = (
        torch.randint(-127, 128, shape, generator=generator, dtype=torch.int8)
        for shape in ((5, 16), (16, 8))
    )
    assert torch.equal(int_matmul(a, b).long(), a.long() @ b.long())


def test_int8_products_that_are_added_in_16_bits_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """oneDNN adds pairs of products so if ONEDNN_MAX_CPU_ISA=AVX2 keeps it from VNNI."""

    def product_of_pairs(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        unsigned = a.long() + 128
        products = unsigned[:, :, None] * b.long()
        pairs = products[:, ::2] + products[:, 1::2]
        correction = 128 * b.long().sum(0)
        return (pairs.clamp(-(2**15), 2**15 - 1).sum(1) - correction).int()

    monkeypatch.setattr(torch, "_int_mm", product_of_pairs)
    monkeypatch.setattr(torch_private, "_is_int_mm_exact", _is_int_mm_exact.__wrapped__)
    assert not has_int_matmul()
    a, b = torch.full((3, 4), 127, dtype=torch.int8), torch.full((4, 2), -127, dtype=torch.int8)
    assert (int_matmul(a, b) == -4 * 127**2).all() and (product_of_pairs(a, b) != -4 * 127**2).all()


@pytest.mark.skipif(not has_fbgemm(), reason="this torch has no FBGEMM")
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("shape", [(0, 16, 8), (1, 3, 1), (5, 37, 33), (70, 1024, 9)])
def test_fbgemm_products_are_exact_at_the_limits(shape: tuple[int, int, int], scaled: bool) -> None:
    """Also where the sums of pairs of products are largest: they have 16 bits."""
    rows, n, w = shape
    a = torch.full((rows, n), MAX_FBGEMM_ROW) * torch.tensor([1, -1] * n)[:n]
    b = torch.full((w, n), 127, dtype=torch.int8)
    b[w // 2 :] = -127
    b[:, ::3] = 1
    engine = torch.backends.quantized.engine
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        packed = fbgemm_pack(b, torch.ones(w) if scaled else None)
        product = fbgemm_product(a * (1 - 0.4 / MAX_FBGEMM_ROW) / MAX_FBGEMM_ROW, packed)
    assert torch.equal(product.double() * MAX_FBGEMM_ROW, a.double() @ b.double().t())
    assert torch.backends.quantized.engine == engine


def test_packed_rows_and_their_sums_equal_the_fallbacks() -> None:
    rows = draw(7, 12).float()
    rows[3] = 2.5  # no difference between the smallest and the largest
    packed, plain = pack_rows(rows), plain_pack_rows(rows)
    assert packed.shape == plain.shape == (7, 20)
    steps = (packed[:, :12].int() - plain[:, :12].int()).abs()
    changing = torch.tensor([0, 1, 2, 4, 5, 6])  # in a constant row all steps are equal
    assert steps[changing].max() <= 1  # halves may be rounded either way
    positions, bags = torch.tensor([0, 3, 5, 6, 1]), torch.tensor([0, 2])
    weights = torch.tensor([0.5, 1.0, -2.0, 0.25, 3.0])
    expected = torch.stack([weights[:2] @ rows[[0, 3]], weights[2:] @ rows[[5, 6, 1]]])
    for pack in (packed, plain):
        unpacked = unpack_rows(pack)
        torch.testing.assert_close(unpacked, rows, atol=0.02, rtol=0)
        torch.testing.assert_close(unpacked, plain_unpack_rows(pack))
        for add in (sum_packed_rows, plain_sum_packed_rows):
            torch.testing.assert_close(
                add(pack, positions, bags, weights), expected, atol=0.05, rtol=0
            )


@pytest.mark.usefixtures("either")
def test_the_slope_of_the_sigmoid_is_its_derivative() -> None:
    x = draw(2, 3, 4).requires_grad_()
    grad = draw(2, 3, 1, seed=2)
    torch.sigmoid(x).backward(grad.expand(2, 3, 4))
    assert x.grad is not None
    slope = sigmoid_slope_(grad, torch.sigmoid(x.detach()))
    torch.testing.assert_close(slope, x.grad)


@pytest.mark.usefixtures("either")
def test_gradients_are_measured_and_scaled_together() -> None:
    gradients = [draw(3, 4), draw(5, seed=2)]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    torch.testing.assert_close(gradient_norm(gradients), flat.norm())
    scale_gradients_(gradients, 0.5)
    torch.testing.assert_close(
        torch.cat([gradient.flatten() for gradient in gradients]), flat * 0.5
    )
