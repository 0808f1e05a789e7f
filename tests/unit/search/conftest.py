"""A tiny model for search: random, but a function of the whole prefix and the whole source."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from nmtkit.models.base import OutputLayer, Scored, Step, log_probs
from nmtkit.models.search_state import EncodedTensors, FixedSizeState
from nmtkit.special_symbols import BOS
from tests.unit.models.growing_model import GrowingConfig, GrowingModel

SIZE = 6


@dataclass(frozen=True)
class Read(EncodedTensors):
    summary: Tensor  # [B, SIZE]
    words: Tensor  # [B, T_x, SIZE]
    src_mask: Tensor  # [B, T_x]

    def trim_padding(self) -> "Read":
        width = int(self.src_mask.any(0).sum())
        return Read(self.summary, self.words[:, :width], self.src_mask[:, :width])


@dataclass(frozen=True)
class Prefix(FixedSizeState):
    state: Tensor  # [B, k, SIZE]


class PrefixModel:
    """A model whose state combines, at every step, the last word, the source and the prefix.

    eos_bias: added to the logit of `</s>`; the higher, the shorter the translations.
    """

    def __init__(self, seed: int, words: int, eos_bias: float = 0.0, scale: float = 2.0) -> None:
        random = torch.Generator().manual_seed(seed)

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=random, dtype=torch.float64) * scale

        self.src_words, self.tgt_words = draw(50, SIZE), draw(words + 1, SIZE)
        self.mix, self.out = draw(SIZE, SIZE), draw(SIZE, words)
        self.bias = torch.zeros(words, dtype=torch.float64)
        self.bias[0] = eos_bias
        self.steps = 0

    def encode(self, src: Tensor, src_mask: Tensor) -> Read:
        words = self.src_words[src] * src_mask.unsqueeze(-1)
        return Read(words.sum(1), words, src_mask)

    def initial_state(self, encoded: Read) -> Prefix:
        return Prefix(torch.zeros_like(encoded.summary).unsqueeze(1))

    def step(self, prev: Tensor, state: Prefix, encoded: Read) -> Step:
        assert prev.shape == state.state.shape[:2]
        self.steps += 1
        last = self.tgt_words[prev.where(prev != BOS, len(self.tgt_words) - 1)]
        mixed = torch.tanh(state.state @ self.mix + last + encoded.summary.unsqueeze(1))
        energies = mixed @ encoded.words.transpose(1, 2)
        energies = energies.masked_fill(~encoded.src_mask.unsqueeze(1), -torch.inf)
        return Step(mixed, Prefix(mixed), energies.softmax(-1))

    def output_layer(self) -> OutputLayer:
        return OutputLayer(self.out.t(), self.bias)

    def score(self, src: Tensor, src_mask: Tensor, tgt: Tensor, tgt_mask: Tensor) -> Scored:
        encoded = self.encode(src, src_mask)
        state: Any = self.initial_state(encoded)
        prev = torch.full_like(tgt[:, :1], BOS)
        columns, rows = [], []
        for position in range(tgt.size(1)):
            readout, state, alignment = self.step(prev, state, encoded)
            prev = tgt[:, position : position + 1]
            columns.append(log_probs(self.output_layer(), readout)[:, 0].gather(1, prev))
            assert alignment is not None
            rows.append(alignment)
        return Scored(torch.cat(columns, 1) * tgt_mask, torch.cat(rows, 1))

    def loss(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        label_smoothing: float = 0.0,
    ) -> Tensor:
        return -self.score(src, src_mask, tgt, tgt_mask).log_probs.sum()


class GrowingPrefixModel(GrowingModel):
    """A `GrowingModel` with random parameters that counts its steps, like a `PrefixModel`."""

    refillable = True

    def __init__(self, seed: int, words: int, eos_bias: float = 0.0, scale: float = 2.0) -> None:
        super().__init__(GrowingConfig(SIZE, self.refillable), 50, words)
        self.double().eval().requires_grad_(False)
        random = torch.Generator().manual_seed(seed)
        for parameter in self.parameters():
            values = torch.randn(parameter.shape, generator=random, dtype=torch.float64)
            parameter.copy_(values * scale)
        self.b_y.zero_()[0] = eos_bias
        self.steps = 0

    def step(self, prev: Tensor, state: Any, encoded: Any) -> Step:
        self.steps += 1
        return super().step(prev, state, encoded)


class UnrefillablePrefixModel(GrowingPrefixModel):
    refillable = False


@pytest.fixture
def prefix_model() -> type[PrefixModel]:
    return PrefixModel


@pytest.fixture(params=[GrowingPrefixModel, UnrefillablePrefixModel])
def growing_model(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def sources() -> list[list[int]]:
    """Return sentences of 0 to 11 words, ids 1 to 49, each followed by `</s>`."""
    random = torch.Generator().manual_seed(7)
    lengths = [3, 0, 1, 11, 5, 2, 8, 4]
    return [[*torch.randint(1, 50, (n,), generator=random).tolist(), 0] for n in lengths]
