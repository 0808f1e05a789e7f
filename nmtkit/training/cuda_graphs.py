"""The gradient of batches by CUDA graphs: the host starts all kernels of a batch with one call.

The loops over the words of a batch take thousands of small kernels, which a GPU computes faster
than the host can start them one by one. A graph repeats recorded kernels on new values of the same
tensors, so that each shape of batch needs its own. To have few shapes, batches are padded
(`pad_batch`), and padding is computed, too, but costs nothing (`packing.computed_padding`): costs
and gradients are the same up to rounding.

A shape is recorded when it is met for the second time. Before, the same kernels are started one by
one, so that results do not depend on what has been recorded; nothing is when a training resumes.
"""

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.data.batch import Batch
from nmtkit.models.packing import computed_padding
from nmtkit.training.cost_gradient import CostGradient
from nmtkit.training.part_gradients import GradientTask

log = logging.getLogger("nmtkit")

LENGTH_MULTIPLE = 4
"""Numbers of positions are rounded up to multiples of this."""

SENTENCE_MULTIPLE = 8
"""Numbers of sentences are rounded up to multiples of this."""

MAX_GRAPHS = 256
"""Graphs that are recorded: each takes some megabytes of the GPU's memory."""


class Kind(NamedTuple):
    """What makes the kernels of batches of the same shape differ: see `Batch` and `GradientTask`.

    guided: links guide the attention.
    """

    dropout: bool
    rehearsed: bool
    guided: bool


Key = tuple[torch.Size, torch.Size, Kind]
"""Shapes of both sides, and the kind of batch."""

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
    Batches whose softmax is over drawn words are computed without, as the host draws these.
    """

    def __init__(self, cost: CostGradient, recorder: Recorder | None = None) -> None:
        """Record nothing yet.

        :param cost: computes the cost of batches, and adds the gradient of those without a graph.
        :param recorder: None: record CUDA graphs.
        """
        self._parameters = list(cost.model.parameters())
        self._cost = cost
        self._recorder = recorder or _CudaRecorder()
        self._gradients = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._scale = torch.ones([], device=cost.device)
        self._guidance = self._parameters[0].new_zeros([])
        self._graphs: dict[Key, Recorded] = {}
        self._seen: set[Key] = set()
        self._most = MAX_GRAPHS

    def clear(self) -> None:
        """Set the gradients to zero, in the tensors that graphs write into."""
        for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
            parameter.grad = gradient.zero_()

    def __call__(self, task: GradientTask) -> Tensor:
        """Add the gradient to that of the parameters; return the cost. Shape: []."""
        if task.samples_words and self._cost.sampler is not None:
            return self._cost(task)
        self._scale.fill_(task.scale)
        self._guidance.fill_(task.guidance)
        cost = torch.zeros([], device=self._cost.device)
        for batch in task.batches:
            if batch.lines:
                cost += self._add(batch, task)
        return cost

    def _add(self, batch: Batch, task: GradientTask) -> Tensor:
        """Add the gradient of a batch in the host's memory; return the cost."""
        self._cost.model.train(batch.dropout)
        pairs = pad_batch(batch)
        kind = Kind(batch.dropout, batch.rehearsed, bool(task.guidance))
        key = (pairs[0].shape, pairs[2].shape, kind)
        if key not in self._seen:
            self._seen.add(key)
        elif key not in self._graphs and len(self._graphs) < self._most:
            self._record(key, pairs)
        if key not in self._graphs:
            return self._compute(self._on_device(pairs), kind)
        recorded = self._graphs[key]
        for static, tensor in zip(recorded.pairs, pairs, strict=True):
            static.copy_(tensor, non_blocking=True)
        return recorded.repeat()

    def _compute(self, pairs: Sequence[Tensor], kind: Kind) -> Tensor:
        """Add the gradient of padded pairs on the device; return the cost."""
        guide = self._cost.guide if kind.guided else None
        if guide is not None:
            guide = guide._replace(weight=self._guidance)
        with computed_padding():
            if kind.rehearsed:
                loss = self._cost.divergence(pairs)
            else:
                loss = self._cost.loss(pairs, guide=guide)
            loss.backward(self._scale)  # type: ignore[no-untyped-call]
        return loss.detach()

    def _record(self, key: Key, pairs: Sequence[Tensor]) -> None:
        """Record the step of some pairs; if that is not possible here, record none any more."""
        static = self._on_device(pairs)
        try:
            step = self._recorder(lambda: self._compute(static, key[-1]))
            self._graphs[key] = Recorded(static, step)
        except RuntimeError as error:
            self._most = 0
            reason = str(error).splitlines()[0]
            log.warning("going on without more CUDA graphs, which cannot be recorded: %s", reason)

    def _on_device(self, pairs: Sequence[Tensor]) -> list[Tensor]:
        """Return copies of pairs in the host's memory."""
        return [tensor.to(self._cost.device, copy=True) for tensor in pairs]


class _CudaRecorder:
    """Records CUDA graphs that share their memory, as only one runs at a time."""

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def __call__(self, step: Step) -> Step:
        """Record a step; see `Recorder`.

        :raises RuntimeError: it does something that a graph cannot repeat, or memory runs out.
        """
        graph = torch.cuda.CUDAGraph()
        # NCCL has a thread of its own, whose calls have nothing to do with this graph
        mode = "thread_local" if torch.distributed.is_initialized() else "global"
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with _no_garbage_collection(), torch.cuda.stream(self._stream):
            graph.capture_begin(self._pool, mode)
            try:
                cost = step()
            finally:
                graph.capture_end()
        current.wait_stream(self._stream)

        def repeat() -> Tensor:
            graph.replay()
            return cost

        return repeat


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Free no cycles in the block: what is freed while kernels are recorded would disturb them."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


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
