"""Rules about options that exclude, need or complete each other, checked by every command.

A rule names options and arguments as the user writes them: `--beam`, `SRC`, or with a value,
`--method mert`. All commands state their rules as data, so that messages read alike:

    @declare_command(rules=[exclusive("--sample", "--n-best"), needs("--counts", "--sample")])
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import click
from click.core import ParameterSource


class Rule(Protocol):
    """A condition on the options of one command line."""

    @property
    def names(self) -> tuple[str, ...]:
        """The options and arguments that the rule speaks of."""

    def broken_by(self, given: "Given") -> str | None:
        """Return the error message, or None where the rule holds."""


class Given:
    """The options and arguments of one command line, by the names that users know."""

    def __init__(self, context: click.Context) -> None:
        self._context = context

    def __contains__(self, name: str) -> bool:
        """Return whether the user gave an option: by name, or with the value that follows it.

        `--method mert` also holds where mert is the default; `--held-out >0` where the number is
        above 0.
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
        """Return the value of an option or argument, its default included."""
        return self._context.params.get(parameter_named(self._context.command, name).name or "")


def parameter_named(command: click.Command, name: str) -> click.Parameter:
    """Return the option spelled `name`, or the argument shown as `name`.

    :raises LookupError: the command has no such parameter.
    """
    for parameter in command.params:
        shown = (parameter.metavar or "").strip("[].")
        if name in (*parameter.opts, *parameter.secondary_opts) or name == shown:
            return parameter
    raise LookupError(f"{command.name}: no parameter is called {name}")


def check(rules: Iterable[Rule], context: click.Context) -> None:
    """Check all rules in their order.

    :raises click.UsageError: a rule is broken.
    """
    given = Given(context)
    for rule in rules:
        if message := rule.broken_by(given):
            raise click.UsageError(message, context)


@dataclass(frozen=True)
class Exclusive:
    """At most one of several options; with `required`, exactly one."""

    names: tuple[str, ...]
    because: str = ""
    required: bool = False
    unless: str = ""

    def broken_by(self, given: Given) -> str | None:
        """Return the first two options that were given together, or that none was."""
        present = [name for name in self.names if name in given]
        if len(present) > 1 and not (self.unless and self.unless in given):
            reason = f": {self.because}" if self.because else "; give one of them"
            return f"{join_names(present[:2], 'and')} exclude each other{reason}."
        if self.required and not present:
            return f"One of {join_names(self.names, 'or')} is needed."
        return None


@dataclass(frozen=True)
class AtLeastOne:
    """One or more of several options."""

    names: tuple[str, ...]

    def broken_by(self, given: Given) -> str | None:
        """Return that none of them was given."""
        if any(name in given for name in self.names):
            return None
        return f"{join_names(self.names, 'or')} is needed."


@dataclass(frozen=True)
class Needs:
    """An option that has a meaning only beside another."""

    name: str
    needed: tuple[str, ...]
    because: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The option and those that it needs."""
        return (self.name, *self.needed)

    def broken_by(self, given: Given) -> str | None:
        """Return what is missing beside the option."""
        if self.name not in given or any(name in given for name in self.needed):
            return None
        reason = f": {self.because}" if self.because else ""
        return f"{self.name} needs {join_names(self.needed, 'or')}{reason}."


@dataclass(frozen=True)
class Times:
    """How often a repeatable option is given, where it is, by the choice of another."""

    name: str
    choices: dict[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """The option and the choices."""
        return (self.name, *self.choices)

    def broken_by(self, given: Given) -> str | None:
        """Return how often the option is needed."""
        if self.name not in given:
            return None
        values = given.value(self.name)
        assert isinstance(values, tuple)
        for choice, times in self.choices.items():
            if choice in given and len(values) != times:
                return f"{choice} needs {self.name} {'once' if times == 1 else 'twice'}."
        return None


@dataclass(frozen=True)
class DifferentFiles:
    """Options whose files must differ."""

    names: tuple[str, ...]

    def broken_by(self, given: Given) -> str | None:
        """Return the first two options that name one file."""
        seen: dict[object, str] = {}
        for name in self.names:
            file = given.value(name)
            if file is not None and file in seen:
                return f"{seen[file]} and {name} need different files."
            seen[file] = name
        return None


@dataclass(frozen=True)
class OneStdin:
    """Files that cannot be stdin together."""

    names: tuple[str, ...]

    def broken_by(self, given: Given) -> str | None:
        """Return the files that are all stdin."""
        present = [name for name in self.names if given.value(name) == "-"]
        if len(present) > 1:
            return f"stdin ('-') can be only one of {join_names(present, 'and')}."
        return None


def exclusive(*names: str, because: str = "", unless: str = "") -> Exclusive:
    """Allow at most one of these options, unless another is given."""
    return Exclusive(names, because, unless=unless)


def one_of(*names: str, unless: str = "") -> Exclusive:
    """Require exactly one of these options; more than one only beside the option `unless`."""
    return Exclusive(names, required=True, unless=unless)


def excludes(name: str, *others: str, because: str = "") -> list[Exclusive]:
    """Allow none of the other options beside the first; they may stand together."""
    return [Exclusive((name, other), because) for other in others]


def at_least_one(*names: str) -> AtLeastOne:
    """Require one or more of these options."""
    return AtLeastOne(names)


def needs(name: str, *needed: str, because: str = "") -> Needs:
    """Require one of `needed` wherever the first option is given."""
    return Needs(name, needed, because)


def times(name: str, choices: dict[str, int]) -> Times:
    """Require a repeatable option as often as a choice says: `{"--side both": 2}`."""
    return Times(name, choices)


def different_files(*names: str) -> DifferentFiles:
    """Refuse two outputs to one file."""
    return DifferentFiles(names)


def one_stdin(*names: str) -> OneStdin:
    """Refuse to read stdin twice."""
    return OneStdin(names)


def join_names(names: Iterable[str], conjunction: str) -> str:
    """Return names as a phrase: `a`, `a or b`, `a, b or c`."""
    *most, last = (name.removesuffix(" >0") for name in names)
    return f"{', '.join(most)} {conjunction} {last}" if most else last
