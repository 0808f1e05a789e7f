"""States of the random generators of all kinds of devices."""

import pytest
import torch

from nmtkit.training.optimizer_state import (
    CPU_GENERATOR,
    CUDA_GENERATOR,
    MPS_GENERATOR,
    generator_states,
    restore_generators,
)


def test_the_states_of_the_generators_of_gpus_are_kept_where_there_are_gpus(monkeypatch):
    states = {"cuda": torch.tensor([1, 2]).byte(), "mps": torch.tensor([3]).byte()}
    restored = {}
    for kind, owner in (("cuda", torch.cuda), ("mps", torch.backends.mps)):
        monkeypatch.setattr(owner, "is_available", lambda: True)
        module = getattr(torch, kind)
        monkeypatch.setattr(module, "get_rng_state", lambda kind=kind: states[kind])
        monkeypatch.setattr(
            module, "set_rng_state", lambda state, kind=kind: restored.update({kind: state})
        )
    saved = generator_states()
    assert saved.keys() == {CPU_GENERATOR, CUDA_GENERATOR, MPS_GENERATOR}
    restore_generators(saved)
    assert restored == states


@pytest.mark.parametrize("name", [CUDA_GENERATOR, MPS_GENERATOR])
def test_the_state_of_a_generator_that_is_not_here_is_passed_over(name):
    state = torch.get_rng_state()
    expected = torch.rand(1)
    restore_generators({CPU_GENERATOR: state, name: torch.tensor([1]).byte()})
    assert torch.equal(torch.rand(1), expected)
