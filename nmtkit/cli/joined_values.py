"""Values of an option up to the next option, joined to one argument before click parses it."""

from collections.abc import Iterable, Sequence

import click

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
