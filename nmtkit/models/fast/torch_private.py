"""The private functions of torch that this package uses, each with a fallback.

A later torch may rename or remove them. The products of oneDNN then fall back to `torch.addmm`
(`matmul.py` tests for them); each other function has a twin here that uses public functions only
and gives the same values in more time. `tests/unit/models/fast/test_torch_private.py` compares the
twins, and checks that no other module of the package uses a private function of torch.

Tested with torch 2.13.0.
"""

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

QUANTIZATION_STEPS = 255
"""Steps between the smallest and the largest value of a row in 8 bits."""


def onednn_pack(weight: Tensor, rows: int) -> Tensor:
    """Return W [w, n] in the layout in which oneDNN multiplies `rows` rows fastest."""
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), rows)
    return packed


def onednn_linear(a: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return a W^T + bias by oneDNN. Shapes: [N, n]; [w, n], packed or not; [w]; [N, w]."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(a, weight, bias, "none", [], "")
    return product


@functools.cache
def has_private(name: str) -> bool:
    """Return True if this torch has the function `torch.NAME`, such as "ops.aten.x.y"."""
    attribute: object = torch
    try:
        for part in name.split("."):
            attribute = getattr(attribute, part)
    except (AttributeError, RuntimeError):
        return False
    return True


def int_matmul(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the exact product of int8 matrices. Shapes: [N, n]; [n, w]; int32 [N, w]."""
    if not has_private("_int_mm"):
        product = plain_int_matmul(a, b)
        return product if out is None else out.copy_(product)
    return torch._int_mm(a, b) if out is None else torch._int_mm(a, b, out=out)


def plain_int_matmul(a: Tensor, b: Tensor) -> Tensor:
    """Compute `int_matmul` in float64, which is exact for such integers."""
    return (a.double() @ b.double()).to(torch.int32)


def pack_rows(rows: Tensor) -> Tensor:
    """Return rows in 8 bits, each followed by its scale and offset as float32 bytes.

    :param rows: float32. Shape: [N, w].
    :return: uint8. Shape: [N, w + 8].
    """
    if not has_private("ops.quantized.embedding_bag_byte_prepack"):
        return plain_pack_rows(rows)
    packed: Tensor = torch.ops.quantized.embedding_bag_byte_prepack(rows)
    return packed


def plain_pack_rows(rows: Tensor) -> Tensor:
    """Compute `pack_rows` with public functions."""
    low, high = rows.amin(1, keepdim=True), rows.amax(1, keepdim=True)
    scale = (high - low) / QUANTIZATION_STEPS
    steps = ((rows - low) / scale.clamp(min=torch.finfo(rows.dtype).tiny)).round()
    scale_and_offset = torch.cat([scale, low], dim=1).contiguous().view(torch.uint8)  # [N, 8]
    return torch.cat([steps.clamp(0, QUANTIZATION_STEPS).to(torch.uint8), scale_and_offset], dim=1)


def sum_packed_rows(rows: Tensor, positions: Tensor, bags: Tensor, weights: Tensor) -> Tensor:
    """Return for each bag the weighted sum of its rows.

    :param rows: what `pack_rows` returns. Shape: [N, w + 8].
    :param positions: the rows of all bags, one bag after the other. Shape: [n].
    :param bags: where each bag starts in `positions`. Shape: [b].
    :param weights: float32. Shape: [n].
    :return: Shape: [b, w].
    """
    if not has_private("ops.quantized.embedding_bag_byte_rowwise_offsets"):
        return plain_sum_packed_rows(rows, positions, bags, weights)
    sums: Tensor = torch.ops.quantized.embedding_bag_byte_rowwise_offsets(
        rows, positions, bags, False, 0, False, weights, None, False
    )
    return sums


def plain_sum_packed_rows(rows: Tensor, positions: Tensor, bags: Tensor, weights: Tensor) -> Tensor:
    """Compute `sum_packed_rows` with public functions."""
    scale, low = rows[:, -8:].contiguous().view(torch.float32).unbind(1)  # [N] each
    values = rows[:, :-8].float() * scale.unsqueeze(1) + low.unsqueeze(1)  # [N, w]
    weighted = values[positions] * weights.unsqueeze(1)  # [n, w]
    bag_of = torch.searchsorted(bags, torch.arange(len(positions)), right=True) - 1
    return values.new_zeros(len(bags), values.size(1)).index_add_(0, bag_of, weighted)


def sigmoid_slope_(grad: Tensor, sigmoids: Tensor) -> Tensor:
    """Overwrite s = sigmoid(x) with grad * s * (1 - s), the gradient of x; return it.

    :param grad: can be broadcast to the shape of `sigmoids`.
    """
    if not has_private("ops.aten.sigmoid_backward.grad_input"):
        return sigmoids.copy_(grad * sigmoids * (1 - sigmoids))
    slope: Tensor = torch.ops.aten.sigmoid_backward.grad_input(grad, sigmoids, grad_input=sigmoids)
    return slope


def gradient_norm(gradients: Sequence[Tensor]) -> Tensor:
    """Return the L2 norm of all gradients together. Shape: []."""
    if has_private("_foreach_norm"):
        norms = torch._foreach_norm(list(gradients))
    else:
        norms = tuple(torch.linalg.vector_norm(gradient) for gradient in gradients)
    norm: Tensor = torch.linalg.vector_norm(torch.stack(tuple(norms)))
    return norm


def scale_gradients_(gradients: Sequence[Tensor], factor: float) -> None:
    """Multiply all gradients in place."""
    if has_private("_foreach_mul_"):
        torch._foreach_mul_(list(gradients), factor)
        return
    for gradient in gradients:
        gradient.mul_(factor)
