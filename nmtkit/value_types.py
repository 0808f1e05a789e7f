"""Types of settings, and of the arguments of the Python API, checked when they are given.

A number of numpy or a tensor of one number counts as the number that it holds. Annotations say what
is allowed: `int`, `float`, `bool`, `str`, a `Literal`, or one of them with a range, as in
`PositiveInt`.
"""

import collections.abc
import functools
import inspect
import math
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from nmtkit.config_ranges import AT_LEAST_ONE, NOT_NEGATIVE, SEED, AllowedRange
from nmtkit.durations import parse_duration
from nmtkit.errors import ConfigError, refuse_string

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

PositiveInt = Annotated[int, AT_LEAST_ONE]
NaturalInt = Annotated[int, NOT_NEGATIVE]
Seed = Annotated[int, SEED]

KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
}
"""Type -> its description in messages."""


def check_arguments(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Check the arguments of a function by its annotations whenever it is called.

    Numbers are converted as in `check_type`. One string where a list of strings is expected is an
    error, because its characters would be taken for strings. Other annotations are not checked.

    :raises ConfigError: (when called) an argument has a wrong type or is out of range.
    :raises TypeError: (when called) one string stands where a list is expected.
    """
    signature = inspect.signature(function)
    kinds = {name: parameter.annotation for name, parameter in signature.parameters.items()}

    @functools.wraps(function)
    def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # its own error says what is missing
        for name, value in given.arguments.items():
            given.arguments[name] = _check_argument(value, kinds[name], name)
        return function(*given.args, **given.kwargs)

    return checked


def _check_argument(value: Any, kind: Any, name: str) -> Any:
    """Return an argument as `check_type` does; a kind that it does not know allows all values."""
    is_union = typing.get_origin(kind) in (types.UnionType, typing.Union)
    choices = typing.get_args(kind) if is_union else (kind,)
    origins = [typing.get_origin(choice) for choice in choices]
    if value is None and types.NoneType in choices:
        return value
    if any(isinstance(o, type) and issubclass(o, collections.abc.Iterable) for o in origins):
        if str not in choices:
            refuse_string(value, name)
        return value
    known = [choice for choice in choices if choice is not types.NoneType]
    if len(known) == 1 and (known[0] in KINDS or origins[0] in (Annotated, Literal)):
        return check_type(value, known[0], name)
    return value


def check_type(value: Any, kind: Any, where: str) -> Any:
    """Check the type of a value and return it, with numbers converted to `int` or `float`.

    :param kind: a type in `KINDS`, a `Literal`, a tuple of strings, or `Annotated` with a range.
    :param where: the name of the value, for messages.
    :raises ConfigError: it has another type, or is out of range.
    """
    if typing.get_origin(kind) is Annotated:
        kind, allowed = typing.get_args(kind)
        value = check_type(value, kind, where)
        check_range(value, allowed, where)
        return value
    if typing.get_origin(kind) is Literal:
        choices = typing.get_args(kind)
        if value not in choices:
            raise ConfigError(
                f"{where}: {_shown(value)} is not one of {', '.join(map(str, choices))}"
            )
        return value
    if kind == tuple[str, ...]:
        if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
            raise ConfigError(f"{where}: expected a list of strings, not {_shown(value)}")
        return tuple(value)
    value = plain_number(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < 1 << 63 else math.inf  # refused by every range
    if type(value) is not kind:
        raise ConfigError(f"{where}: expected {KINDS.get(kind, kind)}, not {_shown(value)}")
    return value


def check_range(value: Any, allowed: AllowedRange, where: str) -> None:
    """Raise ConfigError if a value is not in a range.

    :param where: the name of the value, for messages.
    """
    if not allowed.contains(value):
        raise ConfigError(f"{where} must be {allowed.description}, not {value}")


def check_duration(value: object, where: str) -> float:
    """Return the seconds of a duration: a number, or a text such as "30m".

    :param where: the name of the value, for messages.
    :raises ConfigError: it is neither.
    """
    if not isinstance(value, str):
        return check_type(value, float, where)  # type: ignore[no-any-return]
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from error


def plain_number(value: object) -> object:
    """Return the number that a number of numpy or a tensor of one number holds, or the value."""
    is_single = getattr(value, "ndim", None) == 0 and hasattr(value, "item")
    return value.item() if is_single else value  # type: ignore[attr-defined]


def _shown(value: Any) -> str:
    """Return a value as a settings file has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"'{value}'" if isinstance(value, str) else str(value)
