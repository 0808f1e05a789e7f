"""Arguments and settings are checked by their annotations."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.errors import ConfigError
from nmtkit.value_types import (
    NaturalInt,
    PositiveInt,
    check_arguments,
    check_duration,
    check_type,
    plain_number,
)


@check_arguments
def function(
    count: PositiveInt = 1,
    rate: float = 0.5,
    flag: bool = False,
    name: str = "",
    mode: Literal["a", "b"] = "a",
    limit: NaturalInt | None = None,
    kind: Literal["x"] | None = None,
    lines: Iterable[str] = (),
    files: str | Path | Sequence[str] = (),
    later: "Any" = None,
) -> tuple[Any, ...]:
    return count, rate, flag, name, mode, limit, kind, lines, files, later


VALUES: dict[str, Any] = {"count": 3, "rate": 0.25, "flag": True, "limit": 0}


@pytest.mark.parametrize("convert", [np.asarray, torch.tensor, lambda value: value])
def test_single_numbers_become_those_of_python(convert: Any) -> None:
    """Whether numpy, torch or Python holds them, and the function gets what a literal gives."""
    results = function(**{name: convert(value) for name, value in VALUES.items()})
    assert results == function(**VALUES)
    assert [type(value) for value in results[:3]] == [int, float, bool]


def test_what_is_allowed_reaches_the_function() -> None:
    assert function(2, 1, False, "n", "b", None, None, ["l"], "f", print)[1:] == (
        *(1.0, False, "n", "b", None, None, ["l"], "f", print),
    )
    assert function(limit=5, kind="x")[5:7] == (5, "x")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "count must be at least 1, not 0"),
        ({"count": 2.0}, "count: expected a whole number, not 2.0"),
        ({"count": True}, "count: expected a whole number, not true"),
        ({"count": None}, "count: expected a whole number, not None"),
        ({"count": np.float64(2)}, "count: expected a whole number, not 2.0"),
        ({"limit": -1}, "limit must be at least 0, not -1"),
        ({"rate": "1"}, "rate: expected a number, not '1'"),
        ({"flag": 1}, "flag: expected true or false, not 1"),
        ({"name": 5}, "name: expected a text, not 5"),
        ({"mode": "c"}, "mode: 'c' is not one of a, b"),
        ({"kind": "y"}, "kind: 'y' is not one of x"),
    ],
)
def test_wrong_values_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        function(**arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("value", ["abc", b"abc", ""])
def test_one_string_is_no_list(value: Any) -> None:
    with pytest.raises(TypeError, match="^lines must be a list of strings"):
        function(lines=value)
    if isinstance(value, str):
        assert function(files=value)[8] == value


def test_python_says_what_is_missing_or_too_much() -> None:
    @check_arguments
    def needs(one: int) -> int:
        return one

    with pytest.raises(TypeError, match=r"needs\(\) missing 1 required positional argument"):
        needs()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'two'"):
        needs(1, two=2)  # type: ignore[call-arg]
    assert needs.__name__ == "needs"


@given(st.floats(allow_nan=False) | st.integers(-(2**70), 2**70))
def test_numbers_are_converted(value: float) -> None:
    checked = check_type(value, float, "x")
    assert type(checked) is float and (checked == float(value) or math.isinf(checked))
    if isinstance(value, int):
        assert check_type(value, int, "x") is value


def test_a_value_that_is_no_single_number_stays_as_it_is() -> None:
    for value in ("3", None, [3], np.arange(2), torch.ones(1)):
        assert plain_number(value) is value


def test_durations_are_numbers_or_texts() -> None:
    assert [check_duration(v, "time") for v in (90, 1.5, "90s", "1m30s", np.int64(90))] == [
        *(90, 1.5, 90, 90, 90),
    ]
    for wrong in ("soon", None, True, [3]):
        with pytest.raises(ConfigError, match="^time: "):
            check_duration(wrong, "time")
