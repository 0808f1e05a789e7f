"""Gradients of the parts of each batch, computed at the same time by forks of this process.

Torch divides single operations between cores, which gains little where these are small. Here each
core computes the gradient of its part of the pairs instead; parameters and gradients are in memory
that all share. Where nothing can be forked or cores are too few, this process computes the parts
one after another, with the same result.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from nmtkit.data.batch import Batch
from nmtkit.parallel.fork import can_fork
from nmtkit.parallel.forked_worker import ForkedWorker, shared_tensors


class GradientTask(NamedTuple):
    """Batches whose gradient is wanted.

    scale: factor of their cost in the gradient. samples_words: whether words are drawn for the
    softmax, if there is a sampler. guidance: weight of the links that guide attention.
    """

    batches: list[Batch]
    scale: float
    samples_words: bool
    guidance: float = 0.0


AddGradient = Callable[[GradientTask], Tensor]
"""Adds the gradient to that of the parameters; returns the cost. Shape: []."""


class PartGradients:
    """Adds the gradient of batches, each split in parts.

    The first part draws from torch's random generator, and each other one from a generator whose
    seed was drawn from it.
    """

    def __init__(self, module: nn.Module, add_gradient: AddGradient, count: int) -> None:
        """Start nothing yet.

        :param module: its parameters are moved into shared memory when the first gradient is
            computed.
        :param count: number of parts, above 1.
        """
        self._parameters = list(module.parameters())
        self._add_gradient = add_gradient
        self._count = count
        self._forks: list[_Fork] = []

    def __call__(self, task: GradientTask) -> Tensor:
        """Add the gradient to that of the parameters; return the cost. Shape: [].

        :raises NmtkitError: a fork was killed.
        """
        own, *others = self._split(task)
        seeds = torch.randint(2**62, (len(others),)).tolist()
        threads = torch.get_num_threads()
        if not self._forks and threads >= self._count and _can_fork():
            self._start(threads // self._count)
        if not self._forks:
            return self._in_turn(own, list(zip(seeds, others, strict=True)))
        for fork, seed, part in zip(self._forks, seeds, others, strict=True):
            fork.submit((seed, part))
        torch.set_num_threads(threads // self._count)
        try:
            return _sum([lambda: self._add_gradient(own), *(fork.add for fork in self._forks)])
        finally:
            torch.set_num_threads(threads)

    def _in_turn(self, own: GradientTask, others: list[tuple[int, GradientTask]]) -> Tensor:
        """Compute the parts one after another; sum them as if forks had, so that rounding agrees.

        :param others: seeds and parts.
        """
        cost = self._add_gradient(own)
        for seed, part in others:
            sums = [parameter.grad for parameter in self._parameters]
            for parameter in self._parameters:
                parameter.grad = None
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                cost = cost + self._add_gradient(part)
            for parameter, total in zip(self._parameters, sums, strict=True):
                _add(parameter, total)
        return cost

    def _split(self, task: GradientTask) -> list[GradientTask]:
        """Return the parts; those of small batches may be empty."""
        parts = [batch.parts(self._count) for batch in task.batches]
        return [
            task._replace(batches=[part[number] for part in parts if number < len(part)])
            for number in range(self._count)
        ]

    def _start(self, threads: int) -> None:
        """Move the parameters into shared memory, and fork.

        :param threads: of each process.
        """
        shapes = [parameter.shape for parameter in self._parameters]
        for parameter, shared in zip(self._parameters, shared_tensors(shapes), strict=True):
            shared.copy_(parameter.detach())
            parameter.data = shared
        self._forks = [
            _Fork(self._parameters, self._add_gradient, threads) for _ in range(self._count - 1)
        ]


class _Fork:
    """A fork of this process that computes the gradients of one part."""

    def __init__(
        self, parameters: list[nn.Parameter], add_gradient: AddGradient, threads: int
    ) -> None:
        gradients = shared_tensors([parameter.shape for parameter in parameters])

        def compute(request: tuple[int, GradientTask]) -> tuple[Tensor, list[bool]]:
            seed, task = request
            torch.set_num_threads(threads)
            torch.manual_seed(seed)
            for parameter in parameters:
                parameter.grad = None
            cost = add_gradient(task)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                if parameter.grad is not None:
                    gradient.copy_(parameter.grad)
            return cost, [parameter.grad is not None for parameter in parameters]

        self._pairs = list(zip(parameters, gradients, strict=True))
        self._worker = ForkedWorker(compute)
        self.submit = self._worker.submit

    def add(self) -> Tensor:
        """Wait for the gradient, and add it to that of the parameters; return the cost.

        :raises NmtkitError: the fork was killed.
        """
        cost, present = self._worker.result()
        for (parameter, gradient), there in zip(self._pairs, present, strict=True):
            if there:
                _add(parameter, gradient)
        return cost


def _add(parameter: nn.Parameter, gradient: Tensor | None) -> None:
    """Add to the gradient of a parameter; None is 0."""
    if gradient is not None:
        parameter.grad = (
            gradient.clone() if parameter.grad is None else parameter.grad.add_(gradient)
        )


def _sum(tasks: list[Callable[[], Tensor]]) -> Tensor:
    """Return the sum of the results; raise the first error after all tasks have ended."""
    total, errors = torch.zeros([]), []
    for task in tasks:
        try:
            total = total + task()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return total


def possible_parts(device: torch.device) -> list[int]:
    """Return the numbers of parts that this machine can compute at the same time."""
    threads = torch.get_num_threads()
    if device.type != "cpu" or not _can_fork():
        return [1]
    return [2**power for power in range(threads.bit_length()) if 2**power <= threads]


def _can_fork() -> bool:
    """Return whether forks can compute gradients.

    Where there is an accelerator, autograd has a thread for it, which a fork would lack.
    """
    return can_fork() and not torch.accelerator.is_available()
