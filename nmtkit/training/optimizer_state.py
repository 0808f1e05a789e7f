"""The state of an optimizer and of torch's random generators, as checkpoints hold it."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmtkit.io.parameters import Parameters, read_header, tensor_spec
from nmtkit.io.safe_json import parse_natural
from nmtkit.parallel.process_group import ProcessGroup

CPU_GENERATOR, CUDA_GENERATOR, MPS_GENERATOR = "random.cpu", "random.cuda", "random.mps"
"""Names of the tensors that hold the states of torch's random generators."""

GENERATORS = (CPU_GENERATOR, CUDA_GENERATOR, MPS_GENERATOR)

MAX_GENERATOR_BYTES = 100_000
"""Maximum size of a random generator's state; those of torch have about 5,000 bytes."""


def optimizer_state(optimizer: torch.optim.Optimizer) -> tuple[Parameters, dict[str, Any]]:
    """Return the optimizer's state as tensors and as numbers, by names such as "3.exp_avg"."""
    tensors: Parameters = {}
    numbers: dict[str, Any] = {}
    for index, values in optimizer.state_dict()["state"].items():
        for name, value in values.items():
            values_by_name = tensors if isinstance(value, Tensor) else numbers
            values_by_name[f"{index}.{name}"] = value
    return tensors, numbers


def restore_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Parameters, numbers: dict[str, Any]
) -> None:
    """Load what `optimizer_state` returned into an optimizer."""
    state = optimizer.state_dict()
    state["state"] = {}
    for key, value in [*tensors.items(), *numbers.items()]:
        index, _, name = key.partition(".")
        state["state"].setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(state)


def generator_states() -> Parameters:
    """Return the states of torch's random generators, of all kinds of devices that it finds."""
    states = {CPU_GENERATOR: torch.get_rng_state()}
    if torch.cuda.is_available():
        states[CUDA_GENERATOR] = torch.cuda.get_rng_state()
    if torch.backends.mps.is_available():
        states[MPS_GENERATOR] = torch.mps.get_rng_state()
    return states


def restore_generators(states: Parameters) -> None:
    """Give torch's random generators the states of `generator_states`, where they exist here."""
    torch.set_rng_state(states[CPU_GENERATOR])
    if CUDA_GENERATOR in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states[CUDA_GENERATOR])
    if MPS_GENERATOR in states and torch.backends.mps.is_available():
        torch.mps.set_rng_state(states[MPS_GENERATOR])


def check_optimizer_state(path: Path, optimizer: torch.optim.Optimizer) -> None:
    """Check names, types and shapes of the tensors in a state file before they are read.

    :raises ValueError: a tensor does not fit the optimizer's parameters.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for name, (dtype, shape) in read_header(path).items():
        if name in GENERATORS:
            fits = dtype == "U8" and len(shape) == 1 and shape[0] <= MAX_GENERATOR_BYTES
        else:
            index = parse_natural(name.partition(".")[0])
            if index is None or index >= len(parameters):
                raise ValueError(f"{path.name}: {name} belongs to no parameter")
            fits = (dtype, shape) in (tensor_spec(parameters[index]), ("F32", []))
        if not fits:
            raise ValueError(f"{path.name}: {name} is {dtype} {shape}")


def broadcast_optimizer(optimizer: torch.optim.Optimizer, process_group: ProcessGroup) -> None:
    """Copy the optimizer's state of rank 0 to all other ranks."""
    tensors, numbers = optimizer_state(optimizer) if process_group.is_main else ({}, {})
    specs = {name: (value.shape, value.dtype, value.device.type) for name, value in tensors.items()}
    numbers, specs = process_group.broadcast(lambda: (numbers, specs))
    if not process_group.is_main:
        tensors = {
            name: torch.empty(shape, dtype=dtype, device=device)
            for name, (shape, dtype, device) in specs.items()
        }
    process_group.broadcast_parameters(tensors.values())
    if not process_group.is_main:
        restore_optimizer(optimizer, tensors, numbers)
