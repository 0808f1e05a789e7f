"""Error messages are short and survive pickling; out-of-memory errors are recognised."""

import pickle

import pytest
import torch

from nmtkit.errors import (
    MAX_MESSAGE_LENGTH,
    ConfigError,
    DataError,
    ModelError,
    NmtkitError,
    OutputError,
    TrainingInterrupted,
    counted,
    is_out_of_memory,
)


def test_a_long_message_keeps_its_beginning_and_end():
    message = f"list:7: '{'x' * 1_000_000}' is not a number; write one"
    shortened = str(DataError(message))
    assert shortened.startswith("list:7: 'xxx") and shortened.endswith(
        "xxx' is not a number; write one"
    )
    assert " … " in shortened and len(shortened) < MAX_MESSAGE_LENGTH


@pytest.mark.parametrize("kind", [NmtkitError, DataError, ConfigError, ModelError, OutputError])
@pytest.mark.parametrize(
    "length", [5, MAX_MESSAGE_LENGTH, MAX_MESSAGE_LENGTH + 1, 10 * MAX_MESSAGE_LENGTH]
)
def test_errors_can_be_pickled(kind, length):
    error = kind("x" * length)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind and str(copy) == str(error)
    assert (str(error) == "x" * length) == (length <= MAX_MESSAGE_LENGTH)


def test_an_interruption_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(TrainingInterrupted(15)))
    assert (copy.signal, str(copy)) == (15, "ended by signal 15")


def test_lack_of_memory_is_recognised_from_python_and_torch():
    with pytest.raises(RuntimeError) as error_info:
        torch.empty(2**50, dtype=torch.uint8)
    for error in (MemoryError(), torch.OutOfMemoryError("CUDA"), error_info.value):
        assert is_out_of_memory(error)
    assert is_out_of_memory(type("Apart", (torch.OutOfMemoryError,), {})("another device"))
    for other in (RuntimeError("shapes differ"), OSError("Cannot allocate memory"), ValueError()):
        assert not is_out_of_memory(other)


def test_a_number_has_its_noun_and_is_readable() -> None:
    assert [counted(n, "pair") for n in (0, 1, 29_000)] == ["0 pairs", "1 pair", "29,000 pairs"]
    assert [counted(n, "hypothesis") for n in (1, 2)] == ["1 hypothesis", "2 hypotheses"]
