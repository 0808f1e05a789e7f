"""Rules about options that exclude or need each other, checked before a command runs.

A rule names options and arguments as the user writes them: `--beam`, `SRC`, or with a value,
`--method mert`. All commands declare their rules as data, so that messages are uniform:

    @declare_command(rules=[exclusive("--sample", "--n-best"), needs("--counts", "--sample")])
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import click
from click.core import ParameterSource


class Rule(Protocol):
    """A condition on the options of one command line."""

    @property
    def names(self) -> tuple[str, ...]:
        """The options and arguments of the rule."""

    def violation(self, command_line: "CommandLine") -> str | None:
        """Return the error message if the rule is violated, else None."""


class CommandLine:
    """The parsed options and arguments of one command line, by the names that users write."""

    def __init__(self, context: click.Context) -> None:
        self._context = context

    def __contains__(self, name: str) -> bool:
        """Return whether the user gave an option, or whether it has the value behind its name.

        `--method mert` is also true if mert is the default; `--held-out >0` is true if the number
        is above 0.
        """
        option, _, value = name.partition(" ")
        parameter = parameter_named(self._context.command, option)
        current = self._context.params.get(parameter.name or "")
        if value.startswith(">"):
            return isinstance(current, int | float) and current > float(value[1:])
        if value:
            return str(current) == value
        source = self._context.get_parameter_source(parameter.name or "")
        if source is not ParameterSource.COMMANDLINE:
            return False
        if option in parameter.secondary_opts:
            return current is False
        return not (current is None or current is False or current == ())

    def value(self, name: str) -> object:
        """Return the value of an option or argument, given or default."""
        return self._context.params.get(parameter_named(self._context.command, name).name or "")


def parameter_named(command: click.Command, name: str) -> click.Parameter:
    """Return the option spelled `name`, or the argument shown as `name`.

    :raises LookupError: the command has no such parameter.
    """
    for parameter in command.params:
        metavar = (parameter.metavar or "").strip("[].")
        if name in (*parameter.opts, *parameter.secondary_opts) or name == metavar:
            return parameter
    raise LookupError(f"{command.name}: no parameter is called {name}")


def check(rules: Iterable[Rule], context: click.Context) -> None:
    """Check rules in order.

    :raises click.UsageError: a rule is violated.
    """
    command_line = CommandLine(context)
    for rule in rules:
        if message := rule.violation(command_line):
            raise click.UsageError(message, context)


def check_pipes(context: click.Context) -> None:
    """Refuse a pipe that a command line names twice: after the first reading it is empty.

    :raises DataError: an option or argument is the pipe of another.
    """
    from nmtkit.io.inputs import refuse_repeated_pipes
    from nmtkit.io.text_content import STANDARD

    paths = (
        path
        for parameter in context.command.params
        for path in _paths(parameter.type, context.params.get(parameter.name or ""))
    )
    refuse_repeated_pipes(path for path in paths if path != STANDARD)


def _paths(type_: object, value: object) -> Iterator[str]:
    """Yield the paths in the value of a parameter, which may hold several of its type."""
    if isinstance(value, dict):  # name -> paths
        value = tuple(value.values())
    if not value:
        return
    if isinstance(type_, click.Path) and hasattr(value, "files"):
        value = value.files
    if isinstance(type_, click.Tuple) and isinstance(value, tuple | list):
        if isinstance(value[0], tuple):
            for element in value:
                yield from _paths(type_, element)
            return
        for part_type, part in zip(type_.types, value, strict=True):
            yield from _paths(part_type, part)
    elif isinstance(value, tuple | list):
        for element in value:
            yield from _paths(type_, element)
    elif isinstance(type_, click.Path) and isinstance(value, str | Path):
        yield str(value)


@dataclass(frozen=True)
class Exclusive:
    """At most one of several options may be given; with `required`, exactly one."""

    names: tuple[str, ...]
    because: str = ""
    required: bool = False
    unless: str = ""

    def violation(self, command_line: CommandLine) -> str | None:
        """Return a message if two of the options are given, or none although one is required."""
        present = [name for name in self.names if name in command_line]
        if len(present) > 1 and not (self.unless and self.unless in command_line):
            reason = f": {self.because}" if self.because else "; give one of them"
            return f"{join_names(present[:2], 'and')} exclude each other{reason}."
        if self.required and not present:
            return f"One of {join_names(self.names, 'or')} is needed."
        return None


@dataclass(frozen=True)
class AtLeastOne:
    """At least one of several options must be given."""

    names: tuple[str, ...]

    def violation(self, command_line: CommandLine) -> str | None:
        """Return a message if none of the options is given."""
        if any(name in command_line for name in self.names):
            return None
        return f"{join_names(self.names, 'or')} is needed."


@dataclass(frozen=True)
class Needs:
    """An option that may be given only together with another."""

    name: str
    needed: tuple[str, ...]
    because: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The option, and those that it needs."""
        return (self.name, *self.needed)

    def violation(self, command_line: CommandLine) -> str | None:
        """Return a message if the option is given without one that it needs."""
        if self.name not in command_line or any(name in command_line for name in self.needed):
            return None
        reason = f": {self.because}" if self.because else ""
        return f"{self.name} needs {join_names(self.needed, 'or')}{reason}."


@dataclass(frozen=True)
class Times:
    """A repeatable option that, if given, is needed as often as another option says."""

    name: str
    choices: dict[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """The option, and the choices that determine its number."""
        return (self.name, *self.choices)

    def violation(self, command_line: CommandLine) -> str | None:
        """Return a message if the option is given too often or not often enough."""
        if self.name not in command_line:
            return None
        values = command_line.value(self.name)
        assert isinstance(values, tuple)
        for choice, times in self.choices.items():
            if choice in command_line and len(values) != times:
                return f"{choice} needs {self.name} {'once' if times == 1 else 'twice'}."
        return None


@dataclass(frozen=True)
class DifferentFiles:
    """Options that must name different files."""

    names: tuple[str, ...]

    def violation(self, command_line: CommandLine) -> str | None:
        """Return a message if two options name the same file."""
        option_of: dict[object, str] = {}
        for name in self.names:
            file = command_line.value(name)
            if file is None:
                continue
            place = "-" if file == "-" else os.path.realpath(str(file))
            if place in option_of:
                return f"{option_of[place]} and {name} need different files."
            option_of[place] = name
        return None


@dataclass(frozen=True)
class OneStdin:
    """Files that cannot be stdin together."""

    names: tuple[str, ...]

    def violation(self, command_line: CommandLine) -> str | None:
        """Return a message if several files are stdin."""
        present = []
        for name in self.names:
            value = command_line.value(name)
            files = value if isinstance(value, tuple) else (value,)
            present += [name] * files.count("-")
        if len(present) > 1:
            return f"stdin ('-') can be only one of {join_names(present, 'and')}."
        return None


def exclusive(*names: str, because: str = "", unless: str = "") -> Exclusive:
    """Allow at most one of these options; allow several if the option `unless` is given."""
    return Exclusive(names, because, unless=unless)


def one_of(*names: str, unless: str = "") -> Exclusive:
    """Require exactly one of these options; allow several if the option `unless` is given."""
    return Exclusive(names, required=True, unless=unless)


def excludes(name: str, *excluded: str, because: str = "") -> list[Exclusive]:
    """Forbid each of the other options together with the first; they may be combined."""
    return [Exclusive((name, excluded_name), because) for excluded_name in excluded]


def at_least_one(*names: str) -> AtLeastOne:
    """Require one or more of these options."""
    return AtLeastOne(names)


def needs(name: str, *needed: str, because: str = "") -> Needs:
    """Require one of `needed` if the first option is given."""
    return Needs(name, needed, because)


def times(name: str, choices: dict[str, int]) -> Times:
    """Require a repeatable option, if given, as often as a choice says: `{"--side both": 2}`."""
    return Times(name, choices)


def different_files(*names: str) -> DifferentFiles:
    """Refuse two outputs to one file."""
    return DifferentFiles(names)


def one_stdin(*names: str) -> OneStdin:
    """Refuse to read stdin twice."""
    return OneStdin(names)


def join_names(names: Iterable[str], conjunction: str) -> str:
    """Join names to a phrase: `a`, `a or b`, `a, b or c`."""
    *first_names, last = (name.removesuffix(" >0") for name in names)
    return f"{', '.join(first_names)} {conjunction} {last}" if first_names else last
