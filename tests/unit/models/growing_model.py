"""A model whose state grows by one position per step, for the laws of models and of search.

The decoder of Vaswani et al. 2017 in its smallest form: one layer, one head, no normalisation.
Biases left out except b_y, p_i the vector of position i:

    annotations  h_j = tanh(E_x x_j + p_j)
    inputs       e_i = E_y y_{i-1} + p_i,   q_i, k_i, v_i = W_q e_i, W_k e_i, W_v e_i
    self         a_i = sum_{m <= i} softmax_m(q_i . k_m) v_m
    alignment    alpha_i = softmax_j((W_a a_i) . h_j),   c_i = sum_j alpha_ij h_j
    readout      t_i = tanh(a_i + W_c c_i)

Its state is the cache of all keys and values so far. There are two: one is padded where sentences
join others that are further on, the other is a plain list of steps and cannot take in newcomers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.base import Step
from nmtkit.models.layers import bias, masked_softmax, matrix
from nmtkit.models.packing import Packing
from nmtkit.models.search_state import EncodedTensors, select_hypotheses
from nmtkit.models.teacher_forcing import EncoderDecoder, SentencePairs, TeacherForced
from nmtkit.special_symbols import BOS


@dataclass(frozen=True)
class GrowingConfig:
    size: int = 4
    refillable: bool = True
    dropout: float = 0.0


@dataclass(frozen=True)
class Encoded(EncodedTensors):
    annotations: Tensor  # [B, T_x, d]
    src_mask: Tensor  # [B, T_x]

    def trim_padding(self) -> "Encoded":
        width = int(self.src_mask.any(0).sum())
        return Encoded(self.annotations[:, :width], self.src_mask[:, :width])


@dataclass(frozen=True)
class ListOfSteps:
    """Keys and values of each step so far. It cannot take in new sentences.

    first: gives the number of sentences and hypotheses before the first step. [B, k, 0]
    keys, values: [B, k, d] of each step.
    """

    first: Tensor
    keys: tuple[Tensor, ...] = ()
    values: tuple[Tensor, ...] = ()

    def positions(self) -> Tensor:
        return torch.full(self.first.shape[:2], len(self.keys))

    def append_step(self, key: Tensor, value: Tensor) -> "ListOfSteps":
        return ListOfSteps(self.first, (*self.keys, key), (*self.values, value))

    def read(self) -> tuple[Tensor, Tensor, Tensor]:
        keys, values = torch.stack(self.keys, dim=2), torch.stack(self.values, dim=2)
        return keys, values, torch.ones(keys.shape[:3], dtype=torch.bool)

    def select_sentences(self, rows: Tensor) -> "ListOfSteps":
        return self._map(lambda tensor: tensor[rows])

    def select_hypotheses(self, parents: Tensor) -> "ListOfSteps":
        return self._map(lambda tensor: select_hypotheses(tensor, parents))

    def append_hypotheses(self, others: Sequence["ListOfSteps"]) -> "ListOfSteps":
        def joined(name: str) -> tuple[Tensor, ...]:
            columns = zip(*(getattr(state, name) for state in (self, *others)), strict=True)
            return tuple(torch.cat(column, dim=1) for column in columns)

        first = torch.cat([state.first for state in (self, *others)], dim=1)
        return ListOfSteps(first, joined("keys"), joined("values"))

    def _map(self, function: Any) -> "ListOfSteps":
        keys, values = (tuple(map(function, steps)) for steps in (self.keys, self.values))
        return ListOfSteps(function(self.first), keys, values)


@dataclass(frozen=True)
class PaddedCache:
    """Keys and values of the steps so far; those of newer sentences are padded on the left.

    keys, values: [B, k, t, d]. real: False at padding. [B, k, t]
    """

    keys: Tensor
    values: Tensor
    real: Tensor

    def positions(self) -> Tensor:
        return self.real.sum(2)

    def append_step(self, key: Tensor, value: Tensor) -> "PaddedCache":
        return PaddedCache(
            torch.cat([self.keys, key.unsqueeze(2)], dim=2),
            torch.cat([self.values, value.unsqueeze(2)], dim=2),
            functional.pad(self.real, (0, 1), value=True),
        )

    def read(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.keys, self.values, self.real

    def select_sentences(self, rows: Tensor) -> "PaddedCache":
        kept = PaddedCache(self.keys[rows], self.values[rows], self.real[rows])
        padding = kept.real.size(2) - int(kept.real.sum(2).amax() if len(rows) else 0)
        return PaddedCache(
            kept.keys[:, :, padding:], kept.values[:, :, padding:], kept.real[:, :, padding:]
        )

    def select_hypotheses(self, parents: Tensor) -> "PaddedCache":
        fields = (self.keys, self.values, self.real)
        return PaddedCache(*(select_hypotheses(field, parents) for field in fields))

    def append_hypotheses(self, others: Sequence["PaddedCache"]) -> "PaddedCache":
        all_states = [self, *others]
        return PaddedCache(
            torch.cat([state.keys for state in all_states], dim=1),
            torch.cat([state.values for state in all_states], dim=1),
            torch.cat([state.real for state in all_states], dim=1),
        )

    def replace_sentences(self, rows: Tensor, newcomers: "PaddedCache") -> "PaddedCache":
        assert newcomers.real.size(2) == 0, "newcomers have taken no step yet"
        return PaddedCache(
            self.keys.index_fill(0, rows, 0),
            self.values.index_fill(0, rows, 0),
            self.real.index_fill(0, rows, False),
        )


State = ListOfSteps | PaddedCache


class GrowingModel(EncoderDecoder):
    """p(y | x) by self-attention over the words so far; see the equations above."""

    config_class = GrowingConfig
    config: GrowingConfig

    def __init__(self, config: GrowingConfig, src_size: int, tgt_size: int) -> None:
        super().__init__(config)
        d = config.size
        self.E_x = matrix(src_size, d)
        self.E_y = matrix(tgt_size, d)
        self.W_q = matrix(d, d)
        self.W_k = matrix(d, d)
        self.W_v = matrix(d, d)
        self.W_a = matrix(d, d)
        self.W_c = matrix(d, d)
        self.W_o = matrix(tgt_size, d)
        self.b_y = bias(tgt_size)
        self.initialise()

    def reset_parameters(self) -> None:
        for parameter in self.parameters():
            parameter.normal_()

    def encode(self, src: Tensor, src_mask: Tensor) -> Encoded:
        vectors = position_vectors(torch.arange(src.size(1)), self.E_x)
        annotations = torch.tanh(self.source_embeddings(src) + vectors)
        return Encoded(annotations * src_mask.unsqueeze(2), src_mask)

    def initial_state(self, encoded: Encoded) -> State:
        none = encoded.annotations.new_zeros(len(encoded.annotations), 1, 0)
        if not self.config.refillable:
            return ListOfSteps(none)
        keys = none.unsqueeze(3).expand(-1, -1, -1, self.config.size)
        return PaddedCache(keys, keys, none.bool())

    def step(self, prev: Tensor, state: State, encoded: Encoded) -> Step:
        inputs = self.target_embeddings(prev) + position_vectors(state.positions(), self.E_y)
        state = state.append_step(inputs @ self.W_k, inputs @ self.W_v)
        keys, values, real = state.read()
        energies = ((inputs @ self.W_q).unsqueeze(2) * keys).sum(3)  # [B, k, t]
        attended = (masked_softmax(energies, real).unsqueeze(3) * values).sum(2)  # [B, k, d]
        readout, alignment = self._align(attended, encoded)
        return Step(readout, state, alignment)

    def _align(self, attended: Tensor, encoded: Encoded) -> tuple[Tensor, Tensor]:
        """t_i and alpha_i. [B, k, d] to [B, k, d] and [B, k, T_x]."""
        energies = attended @ self.W_a @ encoded.annotations.transpose(1, 2)
        alignment = masked_softmax(energies, encoded.src_mask.unsqueeze(1))
        context = alignment @ encoded.annotations
        return torch.tanh(attended + context @ self.W_c), alignment

    def teacher_forced(self, pairs: SentencePairs) -> TeacherForced:
        encoded = self.encode_for_targets(pairs)
        length = pairs.tgt.size(1)
        prev = functional.pad(pairs.tgt[:, :-1], (1, 0), value=BOS)
        vectors = position_vectors(torch.arange(length), self.E_y)
        inputs = self.target_embeddings(prev) + vectors  # [B, T_y, d]
        energies = inputs @ self.W_q @ (inputs @ self.W_k).transpose(1, 2)
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        attended = masked_softmax(energies, causal) @ (inputs @ self.W_v)
        readout, alignment = self._align(attended, encoded)
        packing = Packing.of(pairs.tgt_mask, pairs.tgt.device)
        readout = self.apply_dropout(packing.pack(readout))
        alignment = alignment * pairs.tgt_mask.unsqueeze(2)
        return TeacherForced(readout, packing.pack(pairs.tgt), packing, alignment)

    def output_words(self) -> Tensor:
        return self.W_o

    def source_embeddings(self, words: Tensor) -> Tensor:
        return functional.embedding(words, self.E_x)

    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        return self.encode(src, src_mask).annotations.sum(1)


def position_vectors(positions: Tensor, like: Tensor) -> Tensor:
    """p_i. [...] to [..., d]."""
    frequencies = torch.arange(like.size(1)).to(like) + 0.5
    return torch.sin(positions.unsqueeze(-1).to(like) * frequencies)
