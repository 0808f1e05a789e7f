"""Decoder states and encoded sources, which search carries from step to step.

Search never looks inside them, so they may have any form: a recurrent state of fixed size, or a
cache of keys and values that grows by one position per step. Their own methods select sentences and
hypotheses and, if the model supports it, replace sentences. Models with tensors of fixed size
inherit these methods from `FixedSizeState` and `EncodedTensors`.

Shapes: B sentences, k hypotheses per sentence, source length T_x.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import torch
from torch import Tensor
from torch.nn import functional


class EncodedSource(Protocol):
    """The encoded source of B sentences; all hypotheses of a sentence share it."""

    def select_sentences(self, rows: Tensor) -> Self:
        """Keep the sentences `rows`, in this order; repeats are allowed. Shape: [n], int64."""
        ...

    def trim_padding(self) -> Self:
        """Drop trailing source positions that are padding in all sentences."""
        ...


class SearchState(Protocol):
    """The decoder state of [B, k] hypotheses before the next target position."""

    def select_sentences(self, rows: Tensor) -> Self:
        """Keep the sentences `rows`, in this order; repeats are allowed. Shape: [n], int64."""
        ...

    def select_hypotheses(self, parents: Tensor) -> Self:
        """Let hypothesis j of sentence b continue from the old hypothesis `parents[b, j]`.

        :param parents: values below k. Shape: [B, k'], int64.
        :return: a state of [B, k'] hypotheses.
        """
        ...

    def append_hypotheses(self, others: Sequence[Self]) -> Self:
        """Append the hypotheses of other states of the same sentences.

        :param others: states of [B, k_1], [B, k_2], ... hypotheses after the same number of steps.
        :return: a state of [B, k + k_1 + k_2 + ...] hypotheses.
        """
        ...


@runtime_checkable
class Refillable(Protocol):
    """A state or encoded source in which new sentences can replace finished ones during search.

    With a model that does not support this, search starts the next batch when one is finished.
    """

    def replace_sentences(self, rows: Tensor, newcomers: Self) -> Self:
        """Replace the sentences of some rows; the tensors of `self` may be overwritten.

        :param rows: Shape: [n], int64.
        :param newcomers: n sentences. Encoded sources may be longer or shorter than those of
            `self`; states are initial states, with one hypothesis per sentence, which becomes
            the first of k.
        """
        ...


@dataclass(frozen=True)
class _TensorFields:
    """A dataclass whose fields are all tensors with leading axis [B]."""

    def select_sentences(self, rows: Tensor) -> Self:
        """Keep the sentences `rows`; see `SearchState.select_sentences`."""
        return self._map(lambda value: value.index_select(0, rows))

    def replace_sentences(self, rows: Tensor, newcomers: Self) -> Self:
        """Replace the sentences of some rows; see `Refillable.replace_sentences`.

        A narrower second axis is padded with zeros: source padding, or unused hypotheses.
        """
        pairs = zip(vars(self).values(), vars(newcomers).values(), strict=True)
        return self._with(replace_rows(value, rows, new) for value, new in pairs)

    def _map(self, function: Callable[[Tensor], Tensor]) -> Self:
        return self._with(map(function, vars(self).values()))

    def _with(self, values: Any) -> Self:
        make: Callable[..., Self] = type(self)
        return make(*values)


@dataclass(frozen=True)
class EncodedTensors(_TensorFields):
    """Base of an encoded source whose fields are tensors of shape [B, ...]."""

    def trim_padding(self) -> Self:
        """Return the source unchanged; overridden where the tensors have source positions."""
        return self


@dataclass(frozen=True)
class FixedSizeState(_TensorFields):
    """Base of a state whose fields are tensors of shape [B, k, ...], the same at every step."""

    def select_hypotheses(self, parents: Tensor) -> Self:
        """Continue from chosen hypotheses; see `SearchState.select_hypotheses`."""
        if parents.size(1) == 1 and all(value.size(1) == 1 for value in vars(self).values()):
            return self  # a beam of 1 has nothing to choose
        return self._map(lambda value: select_hypotheses(value, parents))

    def append_hypotheses(self, others: Sequence[Self]) -> Self:
        """Append the hypotheses of other states; see `SearchState.append_hypotheses`."""
        columns = zip(*(vars(state).values() for state in (self, *others)), strict=True)
        return self._with(torch.cat(values, dim=1) for values in columns)


def select_hypotheses(value: Tensor, parents: Tensor) -> Tensor:
    """Select hypotheses of one tensor. [B, k, ...] and [B, k'] to [B, k', ...]."""
    if parents.size(0) == 1:  # fewer operations, which count where a line is translated alone
        return value.index_select(1, parents[0])
    sentences = torch.arange(parents.size(0), device=parents.device).unsqueeze(1)  # [B, 1]
    rows = (sentences * value.size(1) + parents).flatten()  # [B * k']
    return value.flatten(0, 1).index_select(0, rows).view(*parents.shape, *value.shape[2:])


def upload(values: Sequence[Any], device: torch.device, dtype: torch.dtype = torch.int64) -> Tensor:
    """Return numbers, also in nested sequences, on a device, without waiting for it."""
    return torch.tensor(values, dtype=dtype).to(device, non_blocking=True)


def replace_rows(value: Tensor, rows: Tensor, new: Tensor, padding: int = 0) -> Tensor:
    """Overwrite rows of a tensor, in place unless its second axis has to grow.

    :param value: Shape: [B, w, ...] or [B].
    :param rows: Shape: [n].
    :param new: Shape: [n, w', ...] or [n].
    :param padding: value that pads the narrower of w and w'.
    """
    if value.dim() > 1:
        width = max(value.size(1), new.size(1))
        value, new = pad_columns(value, width, padding), pad_columns(new, width, padding)
    return value.index_copy_(0, rows, new)


def pad_columns(value: Tensor, width: int, padding: float) -> Tensor:
    """Pad the second axis to `width`. [B, w, ...] to [B, width, ...]."""
    if value.size(1) == width:
        return value
    amounts = [0, 0] * (value.dim() - 2) + [0, width - value.size(1)]  # last axis first
    return functional.pad(value, amounts, value=padding)
