"""Values of options, before click parses them: joined to one argument, or missing."""

import re
from collections.abc import Iterable, Sequence
from os.path import exists

import click

COUNTS = {1: "one value", 2: "two values", 3: "three values"}

NUMBER = re.compile(r"\d+(\.\d+)?")

SEPARATOR = "\0"
"""Stands between joined values; no argument of a process can hold it."""


def join_values(
    parameters: Iterable[click.Parameter], arguments: Sequence[str], incomplete: bool = False
) -> list[str]:
    """Join the values of each option that takes several into one argument.

    :param incomplete: the command line is being completed; an option may lack its values.
    :raises click.BadOptionUsage: an option has no value.
    """
    names = {name for p in parameters if getattr(p, "joins_values", False) for name in p.opts}
    result: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        argument = waiting.pop()
        name, equals, value = argument.partition("=")
        if argument == "--" or name not in names:
            result.append(argument)
            if argument == "--":
                break
            continue
        values = [value] if equals else []
        while waiting and (waiting[-1] == "-" or not waiting[-1].startswith("-")):
            values.append(waiting.pop())
        if not values and not incomplete:
            raise click.BadOptionUsage(name, f"Option '{name}' requires an argument.")
        result += [name, *([SEPARATOR.join(values)] if values else [])]
    return [*result, *reversed(waiting)]


def refuse_missing_values(parameters: Iterable[click.Parameter], arguments: Sequence[str]) -> None:
    """Refuse an option whose values are missing, so that the next option stands in their place.

    It is also refused if a number follows that it takes in Marian, and no file has that name.

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
        following = "".join(arguments[position + 2 : position + 3])
        if NUMBER.fullmatch(following) and not exists(following):
            from nmtkit.cli.foreign_names import SPLIT_VALUES  # for a mistake alone: start-up

            if remedy := SPLIT_VALUES.get(argument, "").format(following):
                values = f"'{argument}' takes one value: {_values(option)}"
                raise click.UsageError(f"{values}; {remedy}.")


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
