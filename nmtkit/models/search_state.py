"""What search carries from step to step: each model's state, and its encoded source sentences.

Search never looks inside them, so they may have any form: a recurrent state of fixed size, or a
cache of keys and values that grows by one position a step. They select sentences and hypotheses by
their own methods, and take in new sentences where they can. Models with tensors of fixed size get
these methods from `FixedSizeState` and `EncodedTensors`.

Shapes: B sentences, k hypotheses a sentence, source length T_x.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import torch
from torch import Tensor
from torch.nn import functional


class EncodedSource(Protocol):
    """A model's encoded source: [B] sentences, shared by the hypotheses of each."""

    def select_sentences(self, rows: Tensor) -> Self:
        """Keep the sentences `rows`, in this order; repeats are allowed. Shape: [n], int64."""
        ...

    def trim_padding(self) -> Self:
        """Drop the last source positions that are padding in all sentences, if it has any."""
        ...


class SearchState(Protocol):
    """A model's state before the next target position: [B, k] hypotheses."""

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
        """Put the hypotheses of other states of the same sentences behind these.

        :param others: states of [B, k_1], [B, k_2], ... hypotheses after as many steps.
        :return: a state of [B, k + k_1 + k_2 + ...] hypotheses.
        """
        ...


@runtime_checkable
class Refillable(Protocol):
    """A state or encoded source that takes in new sentences while search is under way.

    Where a model's are not, search starts the next batch when the present one is over.
    """

    def replace_sentences(self, rows: Tensor, newcomers: Self) -> Self:
        """Put other sentences into some rows; the tensors of `self` may be overwritten.

        :param rows: Shape: [n], int64.
        :param newcomers: n sentences. Encoded sources may be longer or shorter than those of
            `self`; states are initial states, of one hypothesis a sentence, which becomes the
            first of k.
        """
        ...


@dataclass(frozen=True)
class _TensorFields:
    """A dataclass whose fields are all tensors with leading axis [B]."""

    def select_sentences(self, rows: Tensor) -> Self:
        """Keep the sentences `rows`; see `SearchState.select_sentences`."""
        return self._map(lambda value: value.index_select(0, rows))

    def replace_sentences(self, rows: Tensor, newcomers: Self) -> Self:
        """Put other sentences into some rows; see `Refillable.replace_sentences`.

        The narrower second axis gets zeros: padding of sources, hypotheses not in use.
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
        """Return the same; override it where the tensors have source positions."""
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
        """Put other hypotheses behind these; see `SearchState.append_hypotheses`."""
        columns = zip(*(vars(state).values() for state in (self, *others)), strict=True)
        return self._with(torch.cat(values, dim=1) for values in columns)


def select_hypotheses(value: Tensor, parents: Tensor) -> Tensor:
    """Select hypotheses of one tensor. [B, k, ...] and [B, k'] to [B, k', ...]."""
    first = torch.arange(parents.size(0), device=parents.device).unsqueeze(1)
    rows = (first * value.size(1) + parents).flatten()
    return value.flatten(0, 1).index_select(0, rows).view(*parents.shape, *value.shape[2:])


def replace_rows(value: Tensor, rows: Tensor, new: Tensor, padding: int = 0) -> Tensor:
    """Overwrite rows of a tensor, in place unless its second axis must be made wider.

    :param value: Shape: [B, w, ...] or [B].
    :param rows: Shape: [n].
    :param new: Shape: [n, w', ...] or [n].
    :param padding: fills up the narrower of w and w'.
    """
    if value.dim() > 1:
        width = max(value.size(1), new.size(1))
        value, new = pad_columns(value, width, padding), pad_columns(new, width, padding)
    return value.index_copy_(0, rows, new)


def pad_columns(value: Tensor, width: int, padding: float) -> Tensor:
    """Make the second axis as wide as given. [B, w, ...] to [B, width, ...]."""
    if value.size(1) == width:
        return value
    more = [0, 0] * (value.dim() - 2) + [0, width - value.size(1)]
    return functional.pad(value, more, value=padding)
