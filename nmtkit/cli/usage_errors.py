"""Messages about a wrong command line that say what was typed, and what the command takes."""

import re
from collections.abc import Iterable

import click

from nmtkit.cli.foreign_names import VALUES, our_option

UNEXPECTED = re.compile(r"Got unexpected extra arguments? \((?P<words>.*)\)", re.DOTALL)
NOT_A_NUMBER = re.compile(
    r"(?P<value>.*) is not a valid (?P<kind>integer|float)( range)?\.", re.DOTALL
)
TOO_SMALL = re.compile(r"(?P<value>\S+) is not in the range x(?P<sign>>=?)(?P<least>\S+)\.")
OUT_OF_RANGE = re.compile(
    r"(?P<value>\S+) is not in the range (?P<least>[^<\s]+)<(?P<sign>=?)x<=(?P<most>\S+)\."
)
NO_CHOICE = re.compile(r"'(?P<value>.*)' is not one of .*", re.DOTALL)

NEVER_SUGGESTED = ("--force",)
"""Options that do harm if they are given by mistake, however similar they are to a wrong one."""


def plain_error(
    error: click.UsageError, command: click.Command, context: click.Context
) -> click.UsageError:
    """Return an error of click in plain words, and with its context."""
    context = error.ctx or context
    if isinstance(error, click.NoSuchOption):
        if ours := our_option(error.option_name, command):
            message = f"{error.message.removesuffix('.')}; did you mean '{ours}'?"
            return click.UsageError(message, context)
        similar = [name for name in error.possibilities or () if name not in NEVER_SUGGESTED]
        return click.NoSuchOption(error.option_name, error.message, similar, context)
    message = plain_message(error.message, command, context)
    if isinstance(error, click.BadParameter):
        ours = _our_value(message, error.param)
        message = f"{message.removesuffix('.')}; did you mean '{ours}'?" if ours else message
    if message == error.message and error.ctx is not None:
        return error
    if isinstance(error, click.BadParameter):
        return click.BadParameter(message, context, error.param, error.param_hint)
    return click.UsageError(message, context)


def _our_value(message: str, parameter: click.Parameter | None) -> str | None:
    """Return the name of a value that another toolkit calls otherwise, or None."""
    found = NO_CHOICE.fullmatch(message)
    if not (found and parameter):
        return None
    return VALUES.get(parameter.opts[-1], {}).get(found["value"])


def plain_message(message: str, command: click.Command, context: click.Context) -> str:
    """Return what a message of click says in plain words, or the message itself."""
    if found := UNEXPECTED.fullmatch(message):
        return f"unexpected argument {found['words']}: {_arguments(command, context)}."
    if found := NOT_A_NUMBER.fullmatch(message):
        kind = "whole number" if found["kind"] == "integer" else "number"
        return f"{found['value']} is not a {kind}."
    if found := OUT_OF_RANGE.fullmatch(message):
        least = f"from {found['least']} to" if found["sign"] else f"above {found['least']}, at most"
        most = found["most"].removesuffix(".0")
        return f"{found['value']} is out of range; it must be {least} {most}."
    if found := TOO_SMALL.fullmatch(message):
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
