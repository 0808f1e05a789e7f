"""The commands' base class: options in named groups, help that fits one screen, shared options.

`--help` shows the common options of a command, `--help-all` everything. An option is declared by
`option(...)` within a `group("Search", ...)`; `common=True` puts it on the first screen.
"""

import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from nmtkit.cli.console import choose_verbosity
from nmtkit.cli.joined_values import SEPARATOR, join_values, refuse_missing_values
from nmtkit.cli.old_spellings import Renamed, replace_old_spellings
from nmtkit.cli.rules import Rule, check, check_pipes

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

MAX_NAMES_WIDTH = 30
"""Maximum width of the column of option names on the first screen of help."""

MIN_EXAMPLE, MAX_EXAMPLE = 16, 70
"""Minimum and maximum length of an example on the first screen of help."""

FILES = "Input and output"
TEXT = "Text"
SEARCH = "Search"
HARDWARE = "Hardware"
GENERAL = "General"


class Option(click.Option):
    """An option with its group in the help; `common` ones stand on the first screen.

    Error messages name the environment variable if an invalid value came from it. Files and texts
    given twice are refused: users expect both to be used. Of two numbers or choices the last one
    counts, and of all options for hardware, so that scripts can append others to a command line.
    """

    def __init__(self, *arguments: Any, common: bool = False, **settings: Any) -> None:
        if settings.get("required") and settings.get("default") is None:
            settings.pop("default", None)  # click takes None for a default that was given
        super().__init__(*arguments, **settings)
        self.common = common
        self.group = ""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the name for error messages: the option, or the variable that set it."""
        source = ctx.get_parameter_source(self.name or "") if ctx else None
        if source is ParameterSource.ENVIRONMENT:
            return f"the environment variable {self.envvar}"
        return " / ".join(f"'{spelling}'" for spelling in self.opts)

    @property
    def _takes_one(self) -> bool:
        """Return whether different values of the option exclude each other."""
        if self.is_flag or self.multiple or self.group == HARDWARE:
            return False
        types = self.type.types if isinstance(self.type, click.Tuple) else [self.type]
        return any(isinstance(t, click.Path) or t is click.STRING for t in types)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser keep all values of an option that takes one, for `consume_value`."""
        multiple, self.multiple = self.multiple, self.multiple or self._takes_one
        super().add_to_parser(parser, ctx)
        self.multiple = multiple

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Return the value.

        :raises click.UsageError: the option has two different values.
        """
        if self._takes_one and self.name in opts:
            values = list(dict.fromkeys(opts[self.name]))
            if len(values) > 1 and not ctx.resilient_parsing:
                first, second = map(_shown, values[:2])
                hint = self.get_error_hint(None)
                message = f"{hint} is given twice, with {first} and with {second}; give it once."
                raise click.UsageError(message, ctx)
            opts = {**opts, self.name: values[-1]}
        return super().consume_value(ctx, opts)


def _shown(value: Any) -> str:
    """Return the value of an option in quotes, or its values."""
    values = value.split(SEPARATOR) if isinstance(value, str) else value
    return f"'{' '.join(values)}'"


def option(*spellings: str, common: bool = False, **settings: Any) -> Callable[[Any], Any]:
    """Declare an option as `click.option` does.

    :param common: show the option in `--help`; otherwise only in `--help-all`.
    """
    if "envvar" in settings:
        settings["show_envvar"] = True
    return click.option(*spellings, **{"cls": Option, **settings}, common=common)


def group(title: str, *options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add options to a command, listed under `title` in its help."""

    def decorate(function: Any) -> Any:
        for add in reversed(options):
            function = add(function)
        for parameter in getattr(function, "__click_params__", ()):
            if isinstance(parameter, Option) and not parameter.group:
                parameter.group = title
        return function

    return decorate


def gather(
    parameter: str, make: Callable[..., Any], names: Sequence[str] = ()
) -> Callable[[Any], Any]:
    """Give a command several options as one parameter.

    :param parameter: its name.
    :param make: a dataclass or function, called with the options' values by name.
    :param names: of the options; by default the fields of the dataclass.
    """
    if not names:
        names = [field.name for field in dataclasses.fields(cast(Any, make))]

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def command(*arguments: Any, **options: Any) -> Any:
            values = {name: options.pop(name) for name in names}
            return function(*arguments, **{parameter: make(**values)}, **options)

        return command

    return decorate


class Command(click.Command):
    """A command of nmtkit.

    :param rules: conditions on the options, checked before the command runs.
    :param renamed: option spellings of earlier versions.
    """

    def __init__(
        self,
        *arguments: Any,
        rules: Sequence[Rule] = (),
        renamed: Sequence[Renamed] = (),
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self.help = mark_preformatted(self.help or "")
        self.rules, self.renamed = rules, renamed
        self.params += general_options()

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """Return the names of the help option, which click keeps from the first context it sees."""
        return ["-h", "--help"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments in today's or earlier spellings."""
        try:
            args = replace_old_spellings(args, self.renamed, ctx.resilient_parsing)
            if not ctx.resilient_parsing:
                refuse_missing_values(self.params, args)
            args = join_values(self.params, args, ctx.resilient_parsing)
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            from nmtkit.cli.usage_errors import plain_error

            plain = plain_error(error, self, ctx)
            if plain is error:
                raise
            raise plain from error

    def invoke(self, ctx: click.Context) -> Any:
        """Check the command's rules, and run it."""
        check(self.rules, ctx)
        check_pipes(ctx)
        return super().invoke(ctx)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first screen of help: the common options and one example."""
        self.format_usage(ctx, formatter)
        paragraphs = inspect.cleandoc(self.help or "").split("\n\n")
        formatter.write(f"\n{textwrap.indent(_wrap(paragraphs[0], formatter.width - 2), '  ')}\n")
        rows = [(o.group, *_help_row(o, ctx)) for o in self._options(ctx) if o.common]
        column = max((len(n) for _, n, _ in rows if len(n) <= MAX_NAMES_WIDTH), default=0)
        title = ""
        formatter.write("\n")
        for section, names, text in rows:
            if section != title:
                formatter.write(f"{section}:\n")
                title = section
            formatter.write(f"  {names:{column}}  {text}".rstrip() + "\n")
        formatter.write("\n")
        if example := self._example():
            formatter.write(f"Example: {example}\n")
        formatter.write(f"All options, details, examples: {ctx.command_path} --help-all\n")

    def _example(self) -> str:
        """Return the first example of the full help that fits on a line, or an empty string."""
        lines = inspect.cleandoc(self.help or "").partition("\nExample")[2].splitlines()[1:]
        examples = [
            line.strip()
            for before, line in pairwise(["", *lines])
            if not line.endswith("\\") and not before.endswith("\\")
        ]
        return next((line for line in examples if MIN_EXAMPLE <= len(line) <= MAX_EXAMPLE), "")

    def full_help(self, ctx: click.Context) -> str:
        """Return the whole help: the description, all options by group, the examples."""
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_epilog(ctx, formatter)
        for title, options in self.options_by_group(ctx).items():
            with formatter.section(title):
                formatter.write_dl([record for o in options if (record := o.get_help_record(ctx))])
        formatter.write("\n")
        self.format_commands_section(ctx, formatter)
        return formatter.getvalue().rstrip("\n")

    def format_commands_section(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of subcommands; plain commands have none."""

    def _options(self, ctx: click.Context) -> Iterator[Option]:
        for parameters in self.options_by_group(ctx).values():
            yield from (o for o in parameters if isinstance(o, Option))

    def options_by_group(self, ctx: click.Context) -> dict[str, list[click.Option]]:
        """Return the visible options by group, in the order of their declaration."""
        groups: dict[str, list[click.Option]] = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and not parameter.hidden:
                title = parameter.group if isinstance(parameter, Option) else GENERAL
                groups.setdefault(title, []).append(parameter)
        general = groups.pop(GENERAL)
        return {**groups, GENERAL: general}


def declare_command(
    *, rules: Sequence[Rule] = (), renamed: Sequence[Renamed] = (), **settings: Any
) -> Callable[[Callable[..., Any]], Command]:
    """Declare a command as `click.command` does."""
    return click.command(cls=Command, rules=rules, renamed=renamed, **settings)


def general_options() -> list[click.Parameter]:
    """Return the options that every command has."""
    flags: dict[str, Any] = {"is_flag": True, "expose_value": False, "is_eager": True}
    options = [
        Option(
            ["-q", "--quiet"],
            callback=choose_verbosity,
            help="Log warnings only, and draw no progress bars.",
            **flags,
        ),
        Option(
            ["-v", "--verbose"],
            callback=choose_verbosity,
            help="Log more, with the traceback of an error.",
            **flags,
        ),
        Option(
            ["--help-all"],
            callback=_show_full_help,
            help="Show all options, details and examples, and exit.",
            **flags,
        ),
    ]
    for general_option in options:
        general_option.group = GENERAL
    return list[click.Parameter](options)


def _show_full_help(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        assert isinstance(context.command, Command)
        click.echo(context.command.full_help(context))
        context.exit()


def _help_row(described: Option, context: click.Context) -> tuple[str, str]:
    """Return a row of the first screen: the option's names, and its help's first sentence."""
    names, _ = described.get_help_record(context) or ("", "")
    text = inspect.cleandoc(described.help or "")
    first = re.split(r"\.\s+(?=[^\W\d_]|['-])", text.partition("  [")[0], maxsplit=1)[0]
    default_note = re.search(r"  \[(default: .*)\]$", text)
    extra = described.get_help_extra(context)
    notes = [default_note.group(1)] if default_note else []
    if described.required:
        notes = ["required"]
    elif "default" in extra and described.default is not None and described.default is not False:
        notes = [f"default: {extra['default']}"]
    return names, "  ".join([first.rstrip(".") + ".", *(f"[{note}]" for note in notes)])


def mark_preformatted(text: str) -> str:
    """Mark the paragraphs of a help text that click must not rewrap: those with indented lines.

    They are examples and formats. Click's mark is a line with a backspace character.
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(f"\b\n{p}" if re.search("^ ", p, re.MULTILINE) else p for p in paragraphs)


def _wrap(text: str, width: int) -> str:
    return textwrap.fill(" ".join(text.split()), width)
