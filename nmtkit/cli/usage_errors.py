"""Messages about a wrong command line that say what was typed, and what the command takes."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence

import click

COUNTS = {1: "one value", 2: "two values", 3: "three values"}

UNEXPECTED = re.compile(r"Got unexpected extra arguments? \((?P<words>.*)\)", re.DOTALL)
NOT_A_NUMBER = re.compile(
    r"(?P<value>.*) is not a valid (?P<kind>integer|float)( range)?\.", re.DOTALL
)
OUT_OF_RANGE = re.compile(r"(?P<value>\S+) is not in the range x(?P<sign>>=?)(?P<least>\S+)\.")


@contextlib.contextmanager
def plain_usage_errors(command: click.Command, context: click.Context) -> Iterator[None]:
    """Replace click's messages in the block by those of `plain_message`."""
    try:
        yield
    except click.UsageError as error:
        error.message = plain_message(error.message, command, context)
        error.ctx = error.ctx or context
        raise


def plain_message(message: str, command: click.Command, context: click.Context) -> str:
    """Return what a message of click says in plain words, or the message itself."""
    if found := UNEXPECTED.fullmatch(message):
        return f"unexpected argument {found['words']}: {_arguments(command, context)}."
    if found := NOT_A_NUMBER.fullmatch(message):
        kind = "whole number" if found["kind"] == "integer" else "number"
        return f"{found['value']} is not a {kind}."
    if found := OUT_OF_RANGE.fullmatch(message):
        least = "at least" if found["sign"] == ">=" else "above"
        return f"{found['value']} is too small; it must be {least} {found['least']}."
    return message


def _arguments(command: click.Command, context: click.Context) -> str:
    """Return which arguments a command takes besides its options."""
    names = [p.make_metavar(context) for p in _positional(command.params)]
    if names:
        return f"besides options, '{context.command_path}' takes {' '.join(names)}"
    files = (p.opts[-1] for p in command.params if getattr(p, "joins_values", False))
    example = next(files, "an option")
    return f"'{context.command_path}' takes options only; give them after {example}"


def _positional(parameters: Iterable[click.Parameter]) -> list[click.Parameter]:
    return [parameter for parameter in parameters if isinstance(parameter, click.Argument)]


def refuse_missing_values(parameters: Iterable[click.Parameter], arguments: Sequence[str]) -> None:
    """Refuse an option whose values are missing, so that the next option stands in their place.

    :raises click.UsageError: the message names the option and its values.
    """
    options = {name: option for option in parameters for name in _spellings(option)}
    for position, argument in enumerate(arguments):
        if argument == "--":
            return
        option = options.get(argument)
        if not isinstance(option, click.Option) or not _takes_values(option):
            continue
        values = arguments[position + 1 : position + 1 + option.nargs]
        if len(values) < option.nargs or any(value in options for value in values):
            count = COUNTS.get(option.nargs, f"{option.nargs} values")
            raise click.UsageError(f"'{argument}' takes {count}: {_values(option)}.")


def _takes_values(option: click.Option) -> bool:
    """Return whether an option always takes a fixed number of values."""
    optional = option._flag_needs_value or getattr(option, "joins_values", False)
    return not (option.is_flag or option.count or optional)


def _values(option: click.Option) -> str:
    metavar = option.metavar
    if metavar is None and isinstance(option.type, click.Choice):
        return " or ".join(map(str, option.type.choices))
    return metavar or (option.name or "").upper()


def _spellings(parameter: click.Parameter) -> list[str]:
    if not isinstance(parameter, click.Option):
        return []
    return [*parameter.opts, *parameter.secondary_opts]
