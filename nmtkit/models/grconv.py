"""grConv: the gated recursive convolutional network of Cho et al. 2014b (SSST-8), section 2.2.

Biases left out:

    words        h^(0)_j = U E_x x_j
    new          h~ = max(0, W_l h^(t-1)_{j-1} + W_r h^(t-1)_j)
    coefficients (w_c, w_l, w_r) = softmax(G_l h^(t-1)_{j-1} + G_r h^(t-1)_j)
    node         h^(t)_j = w_c h~ + w_l h^(t-1)_{j-1} + w_r h^(t-1)_j
    summary      c, the one node of level T_x - 1

The composition is `plain_compose`; the decoder, that of RNNenc, is in `fixed_context.py`.
`compositions` returns the coefficients, which can be read as a soft parse (fig. 6).

Departures and readings:

- The paper's equations have h^(t) on their right side, where they mean the level below, h^(t-1).
- "2000 hidden neurons" are those of the encoder, `units`; the decoder keeps the n = 1000 of RNNenc.
  The authors' code has one size for both, so that their decoder probably had 2000.
- The source ends with `</s>`, which is a leaf like the words (GroundHog).
- "Spectral radius 0.4": W_l and W_r are each 0.4 times an orthogonal matrix. The recurrent
  matrices of the decoder have 1, as in RNNenc.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from nmtkit.models.fast import grconv_ops
from nmtkit.models.fixed_context import FixedContextModel
from nmtkit.models.kernels import Twin
from nmtkit.models.layers import addmm, bias, matrix, orthogonal
from nmtkit.models.packing import Packing
from nmtkit.models.search_state import upload

RADIUS = 0.4
"""Spectral radius of W_l and W_r."""


@dataclass(frozen=True)
class GrConvConfig:
    """Sizes of Cho et al. 2014b, section 4.2, and settings that are not in the paper.

    embedding: m, size of a word vector.
    units: units of each node of the encoder.
    hidden: n, units of the decoder.
    maxout: l, units of the readout after the maximum of pairs.
    softmax_rank: rank of the factored output matrix; 0: not factored.
    tied: the output matrix is the target embedding times a matrix P.
    dropout: probability with which a value is dropped in training; 0: none.
    initialisation: "paper": the paper's distributions; "scaled": Glorot and Bengio 2010.
    """

    embedding: int = 620
    units: int = 2000
    hidden: int = 1000
    maxout: int = 500
    softmax_rank: int = 0
    tied: bool = False
    dropout: float = 0.0
    initialisation: Literal["paper", "scaled"] = "paper"


def plain_compose(h: Tensor, W: Tensor, b: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
    """Compose the words of each sentence, level by level, into one vector.

    A node is numbered by the last position that it covers: level t has nodes t, ..., T_x - 1.

    :param h: h^(0). Shape: [N, n].
    :param W: [W_l | G_l | W_r | G_r]. Shape: [n, 2 (n + 3)].
    :param b: biases of h~ and of the coefficients. Shape: [n + 3].
    :return: the one node of the top level of each sentence, in packed order [B, n]; the
        coefficients w_c, w_l, w_r of all nodes, level after level, without gradients [M, 3].
    """
    n = h.size(1)
    W_l, G_l, W_r, G_r = torch.split(W, [n, 3, n, 3], dim=1)
    b_h, b_w = torch.split(b, [n, 3])
    longest_first = packing.ranks.argsort()
    level = packing.pad(h).index_select(0, longest_first)  # h^(0) [B, T, n]
    sizes = upload(packing.sizes, h.device).unsqueeze(1)
    is_real = torch.arange(len(level), device=h.device) < sizes  # [T_x, B]
    lengths = is_real.sum(0)  # [B]
    level = level[:, : len(is_real)]  # [B, T_x, n]
    top, coefficients = level[:, 0], [h.new_zeros(0, 3)]
    for t in range(1, len(is_real)):
        left, right = level[:, :-1], level[:, 1:]  # h^(t-1)_{j-1}, h^(t-1)_j [B, T_x - t, n]
        new = torch.relu(left @ W_l + right @ W_r + b_h)  # h~ [B, T_x - t, n]
        w = torch.softmax(left @ G_l + right @ G_r + b_w, dim=-1)  # [B, T_x - t, 3]
        w_c, w_l, w_r = w.unsqueeze(-2).unbind(-1)  # [B, T_x - t, 1] each
        level = w_c * new + w_l * left + w_r * right  # h^(t)
        top = torch.where((lengths == t + 1).unsqueeze(1), level[:, 0], top)
        coefficients.append(w.detach().transpose(0, 1)[is_real[t:]])
    return top, torch.cat(coefficients)


compose = Twin(plain_compose, grconv_ops.compose)


class GrConv(FixedContextModel):
    """p(y | x) by a gated recursive convolutional encoder; see the equations above."""

    config_class = GrConvConfig
    can_compute_padding = False  # the top of a sentence is the last node of its own level

    def __init__(self, config: GrConvConfig, src_size: int, tgt_size: int) -> None:
        """Declare and initialise the parameters.

        :param src_size, tgt_size: vocabulary sizes K_x and K_y, special words included.
        """
        super().__init__(config, config.units, src_size, tgt_size)
        units = config.units
        self.U = matrix(config.embedding, units)
        self.b_U = bias(units)
        self.W_l = matrix(units, units)
        self.G_l = matrix(units, 3)
        self.W_r = matrix(units, units)
        self.G_r = matrix(units, 3)
        self.b_h = bias(units)
        self.b_w = bias(3)
        self.initialise()

    def reset_parameters(self) -> None:
        """Initialise the parameters; see `FixedContextModel.reset_parameters`."""
        super().reset_parameters()
        for square in (self.W_l, self.W_r):
            square.copy_(RADIUS * orthogonal(*square.shape))

    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Return c, the top node of each sentence. Shape: [B, units]."""
        packing = Packing.of(src_mask, src.device)
        tops, _ = self._compose(src, packing)
        return tops.index_select(0, packing.ranks)

    def compositions(self, src: Tensor, src_mask: Tensor) -> list[list[Tensor]]:
        """Return the coefficients of every node; see `HasComposition`.

        Parameters: as in `TranslationModel.encode`.

        :return: for each sentence, for each level from 1 to T_x - 1, w_c, w_l and w_r of its
            nodes from the left. Shapes: [T_x - t, 3].
        """
        packing = Packing.of(src_mask, src.device)
        with torch.no_grad():
            _, coefficients = self._compose(src, packing)
        levels = torch.split(coefficients, grconv_ops.level_sizes(packing)[1:])
        starts = [start for start, _ in packing.steps()]
        compositions = []
        for rank, length in zip(packing.ranks.tolist(), src_mask.sum(1).tolist(), strict=True):
            rows = [
                [starts[end] - starts[level] + rank for end in range(level, length)]
                for level in range(1, length)
            ]
            pairs = zip(levels, rows, strict=False)
            compositions.append([values[upload(nodes, src.device)] for values, nodes in pairs])
        return compositions

    def _compose(self, src: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
        """Return the top nodes [B, units] and all coefficients; see `plain_compose`."""
        h = addmm(self.b_U, self.source_embeddings(packing.pack(src)), self.U)  # h^(0) [N, units]
        W = torch.cat([self.W_l, self.G_l, self.W_r, self.G_r], dim=1)
        return compose(h, W, torch.cat([self.b_h, self.b_w]), packing)
