"""The private functions of torch that this package uses, each with a fallback.

An earlier torch may lack some, a later one rename or remove them. The products of oneDNN then fall
back to `torch.addmm` (`matmul.py` tests for them); `processor_capabilities` falls back to what an
earlier torch knows; each other function has a twin here that uses public functions only and gives
the same values in more time. `tests/unit/models/fast/test_torch_private.py` compares the twins, and
checks that no other module of the package uses a private function of torch.

Tested with torch 2.6.0, 2.13.0 and 2.14.1.
"""

import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

QUANTIZATION_STEPS = 255
"""Steps between the smallest and the largest value of a row in 8 bits."""

MAX_FBGEMM_ROW = 64
"""The largest integer in the rows that FBGEMM multiplies. Without VNNI it adds pairs of products in
16 bits, which hold 2 x 2 x 64 x 127."""

OLD_CAPABILITIES = {
    "avx512_f": "_is_avx512_supported",
    "avx512_bf16": "_is_avx512_bf16_supported",
    "avx512_vnni": "_is_vnni_supported",
}
"""Functions of `torch.cpu` for an instruction each, by its name in `get_capabilities`, which torch
2.6 does not have."""


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


def processor_capabilities() -> Mapping[str, Any]:
    """Return the instructions that this processor has, and its name, as torch names them.

    An older torch knows the instructions of `OLD_CAPABILITIES` alone.
    """
    if has_private("cpu.get_capabilities"):
        return torch.cpu.get_capabilities()
    return {
        name: getattr(torch.cpu, function)()
        for name, function in OLD_CAPABILITIES.items()
        if has_private(f"cpu.{function}")
    }


def int_matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return the exact product of int8 matrices. Shapes: [N, n]; [n, w]; int32 [N, w]."""
    return torch._int_mm(a, b) if has_int_matmul() else plain_int_matmul(a, b)


def has_int_matmul() -> bool:
    """Return True if this torch has products of int8 matrices, and they are exact.

    Those of oneDNN are not where it does without VNNI, as ONEDNN_MAX_CPU_ISA can tell it to: pairs
    of products are added in 16 bits.
    """
    return has_private("_int_mm") and _is_int_mm_exact()


@functools.cache
def _is_int_mm_exact() -> bool:
    largest = torch.full((2, 2), 127, dtype=torch.int8)
    return torch.equal(torch._int_mm(largest, largest), plain_int_matmul(largest, largest))


def plain_int_matmul(a: Tensor, b: Tensor) -> Tensor:
    """Compute `int_matmul` in float64, which is exact for such integers."""
    return (a.double() @ b.double()).to(torch.int32)


@functools.cache
def has_fbgemm() -> bool:
    """Return True if this torch has FBGEMM's 8-bit products, and they work on this processor."""
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        return False
    one = torch.ones(1, 1, dtype=torch.int8)
    try:
        return bool(fbgemm_product(one.float(), fbgemm_pack(one, torch.ones(1))) == 1)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return False


def fbgemm_pack(integers: Tensor, scales: Tensor | None) -> object:
    """Return a matrix W in the layout in which FBGEMM multiplies it.

    :param integers: int8, from -127 to 127. Shape: [w, n].
    :param scales: W is the integers times these; None for 1. Shape: [w].
    """
    engine = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"
    try:
        with warnings.catch_warnings():
            # It says that a later torch removes this; `has_fbgemm` then returns False.
            warnings.filterwarnings("ignore", message=".*quantize", category=UserWarning)
            if scales is None:
                W = torch._make_per_tensor_quantized_tensor(integers, 1.0, 0)
            else:
                offsets = torch.zeros(len(scales), dtype=torch.long)
                W = torch._make_per_channel_quantized_tensor(integers, scales.double(), offsets, 0)
        packed: object = torch.ops.quantized.linear_prepack(W, None)
        return packed
    finally:
        torch.backends.quantized.engine = engine


def fbgemm_product(rows: Tensor, packed: object) -> Tensor:
    """Return round(r rows) W^T / r, r = MAX_FBGEMM_ROW; the integers' product is exact up to 2^24.

    :param rows: float32, from -1 to 1. Shape: [N, n].
    :param packed: W, from `fbgemm_pack`.
    :return: float32. Shape: [N, w].
    """
    product: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default(
        rows, 1 / MAX_FBGEMM_ROW, MAX_FBGEMM_ROW, packed
    )
    return product


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


def unpack_rows(rows: Tensor) -> Tensor:
    """Return what `pack_rows` has packed, as rounded there. Shape: [N, w]."""
    if not has_private("ops.quantized.embedding_bag_byte_unpack"):
        return plain_unpack_rows(rows)
    unpacked: Tensor = torch.ops.quantized.embedding_bag_byte_unpack(rows)
    return unpacked


def plain_unpack_rows(rows: Tensor) -> Tensor:
    """Compute `unpack_rows` with public functions."""
    scale, low = rows[:, -8:].contiguous().view(torch.float32).unbind(1)  # [N] each
    return rows[:, :-8].float() * scale.unsqueeze(1) + low.unsqueeze(1)


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
    values = plain_unpack_rows(rows)[positions]  # [n, w]
    weighted = values * weights.unsqueeze(1)
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
