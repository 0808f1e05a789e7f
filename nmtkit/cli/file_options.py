"""Options that take several values: all up to the next option, as in `--train NAME:2 SRC TGT`."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from nmtkit.cli.command import Option, option
from nmtkit.cli.joined_values import SEPARATOR
from nmtkit.cli.shared_options import PathName
from nmtkit.errors import ConfigError

MAX_VALUES = 3
"""Maximum number of values, for completion: so many files are completed."""


class FileValues(PathName):
    """The values of an option, files among them.

    :param parse: makes the option's value of them; a ConfigError is wrong usage.
    """

    is_composite = True
    arity = MAX_VALUES

    def __init__(self, parse: Callable[[Sequence[str]], Any]) -> None:
        super().__init__()
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the option's value."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value.split(SEPARATOR))
        except ConfigError as error:
            self.fail(f"{error}.", param, ctx)


class FileValuesOption(Option):
    """An option that takes all values up to the next option."""

    joins_values = True

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser expect one value, which `join_values` makes of all."""
        completed, self.nargs = self.nargs, 1
        super().add_to_parser(parser, ctx)
        self.nargs = completed


def file_values_option(
    *spellings: str, parse: Callable[[Sequence[str]], Any], **settings: Any
) -> Callable[[Any], Any]:
    """Declare an option that takes all values up to the next option."""
    return option(*spellings, cls=FileValuesOption, type=FileValues(parse), **settings)
