"""The gradient of batches by CUDA graphs: the host starts all kernels of a batch with one call.

The loops over the words of a batch take thousands of small kernels, which a GPU computes faster
than the host can start them one by one. A graph repeats recorded kernels on new values of the same
tensors, so that each shape of batch needs its own. To have few shapes, batches are padded
(`pad_batch`), and padding is computed, too, but costs nothing (`packing.computed_padding`): costs
and gradients are the same up to rounding.

A shape is recorded when it is met for the second time. Before, its kernels are started one by one;
they are the same, so that a training that is resumed, which has recorded nothing, computes the same
values.
"""

import gc
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmtkit.data.batch import Batch
from nmtkit.models.packing import computed_padding
from nmtkit.training.part_gradients import Work

if TYPE_CHECKING:
    from nmtkit.training.gradient import CostGradient

log = logging.getLogger("nmtkit")

LENGTH_MULTIPLE = 4
"""Numbers of positions are rounded up to multiples of this."""

SENTENCE_MULTIPLE = 8
"""Numbers of sentences are rounded up to multiples of this."""

Step = Callable[[], Tensor]
"""Adds the gradient of a batch to that of the parameters; returns the cost. Shape: []."""

Recorder = Callable[[Step], Step]
"""Returns a function that repeats what the given one does on the device."""


@dataclass(frozen=True)
class Recorded:
    """A recorded step and the tensors that it reads."""

    pairs: Sequence[Tensor]
    repeat: Step


class CudaGraphs:
    """Adds the gradient of batches to that of the parameters, with a graph for each shape.

    The gradients stay in the same tensors from update to update, since graphs write into them.
    Batches whose softmax is over drawn words, or whose attention is guided, are computed without.
    """

    def __init__(
        self, module: nn.Module, cost: "CostGradient", recorder: Recorder | None = None
    ) -> None:
        """Record nothing yet.

        :param cost: computes the cost of batches, and adds the gradient of those without a graph.
        :param recorder: None: record CUDA graphs.
        """
        self._parameters = list(module.parameters())
        self._cost = cost
        self._recorder = recorder or _CudaRecorder()
        self._gradients = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._scale = torch.ones([], device=cost.device)
        self._graphs: dict[tuple[object, ...], Recorded | None] = {}
        self._records = True

    def clear(self) -> None:
        """Set the gradients to zero, in the tensors that graphs write into."""
        for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
            parameter.grad = gradient.zero_()

    def __call__(self, work: Work) -> Tensor:
        """Add the gradient to that of the parameters; return the cost. Shape: []."""
        draws = work.samples_words and self._cost.sampler is not None
        if draws or (work.guidance and self._cost.guide is not None):
            return self._cost(work)
        self._cost.model.train(work.dropout)
        self._scale.fill_(work.scale)
        cost = torch.zeros([], device=self._cost.device)
        for batch in work.batches:
            if batch.lines:
                cost += self._add(pad_batch(batch), work.dropout)
        return cost

    def _add(self, pairs: Sequence[Tensor], dropout: bool) -> Tensor:
        """Add the gradient of padded pairs in the host's memory; return the cost."""
        key = (*(tensor.shape for tensor in pairs[::2]), dropout)
        recorded = self._graphs.get(key)
        if recorded is None:
            on_device = [tensor.to(self._cost.device) for tensor in pairs]
            if key not in self._graphs or not self._records:
                self._graphs[key] = None
                return self._compute(on_device)
            recorded = self._record(on_device)
            if recorded is None:
                return self._compute(on_device)
            self._graphs[key] = recorded
        for static, tensor in zip(recorded.pairs, pairs, strict=True):
            static.copy_(tensor, non_blocking=True)
        return recorded.repeat()

    def _compute(self, pairs: Sequence[Tensor]) -> Tensor:
        """Add the gradient of padded pairs on the device; return the cost."""
        with computed_padding():
            loss = self._cost.loss(pairs)
            loss.backward(self._scale)  # type: ignore[no-untyped-call]
        return loss.detach()

    def _record(self, pairs: Sequence[Tensor]) -> Recorded | None:
        """Record the step of some pairs; return None if that is not possible here."""
        try:
            return Recorded(pairs, self._recorder(lambda: self._compute(pairs)))
        except RuntimeError as error:
            self._records = False
            reason = str(error).splitlines()[0]
            log.warning("going on without more CUDA graphs, which cannot be recorded: %s", reason)
            return None


class _CudaRecorder:
    """Records CUDA graphs that share their memory, as only one runs at a time."""

    def __init__(self) -> None:
        self._pool: tuple[int, int] | None = None
        self._stream: torch.cuda.Stream | None = None

    def __call__(self, step: Step) -> Step:
        """Record a step; see `Recorder`.

        :raises RuntimeError: it does something that a graph cannot repeat, or memory runs out.
        """
        if self._stream is None:
            self._pool, self._stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream()
        graph = torch.cuda.CUDAGraph()
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        collects = gc.isenabled()
        gc.disable()  # what is freed while kernels are recorded would be recorded, too
        try:
            with torch.cuda.stream(self._stream):
                graph.capture_begin(self._pool)
                try:
                    cost = step()
                finally:
                    graph.capture_end()
        finally:
            if collects:
                gc.enable()
        current.wait_stream(self._stream)

        def repeat() -> Tensor:
            graph.replay()
            return cost

        return repeat


def pad_batch(batch: Batch) -> list[Tensor]:
    """Return words and masks of both sides of a batch, padded to one of few shapes.

    A sentence that pads has one source position, so that the sum of its attention is 1, and no
    target position, so that it costs nothing.
    """
    sentences = _round_up(len(batch.src), SENTENCE_MULTIPLE)
    pairs = [_padded(tensor, sentences) for tensor in batch[:4]]
    pairs[1][len(batch.src) :, :1] = True
    return pairs


def _padded(rows: Tensor, sentences: int) -> Tensor:
    """Pad a tensor with zeros. [B, T] to [sentences, T rounded up]."""
    width = _round_up(rows.size(1), LENGTH_MULTIPLE)
    return functional.pad(rows, (0, width - rows.size(1), 0, sentences - len(rows)))


def _round_up(number: int, multiple: int) -> int:
    return number + -number % multiple
