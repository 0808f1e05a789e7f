"""Command groups that import a command's module when the command is called."""

import difflib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from nmtkit.cli.command import Command
from nmtkit.cli.old_spellings import Renamed, resolve_moved_command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Commands = Mapping[str, tuple[str, str]]
"""Name -> module that defines `command`, and the command's purpose in one sentence."""


class LazyGroup(Command, click.Group):
    """A group that imports a command when it is called or its help is shown.

    :param lazy_commands: the commands, in the order of the help.
    :param moved: command lines of earlier versions, and the commands that replace them.
    """

    def __init__(
        self,
        *arguments: Any,
        lazy_commands: Commands,
        moved: Sequence[Renamed] = (),
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self.lazy_commands, self.moved = lazy_commands, moved

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.lazy_commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or return None if no command has that name."""
        if cmd_name not in self.lazy_commands:
            return None
        command = importlib.import_module(self.lazy_commands[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by its name, or by its name in an earlier version."""
        args = resolve_moved_command(args, self.moved, ctx.command_path, ctx.resilient_parsing)
        name = args[0]
        if name not in self.lazy_commands and not ctx.resilient_parsing:
            from nmtkit.cli.foreign_names import COMMANDS  # for a mistake alone: start-up

            matches = [COMMANDS[name]] if ctx.parent is None and name in COMMANDS else []
            matches += difflib.get_close_matches(name, self.lazy_commands, n=1)
            names = ", ".join(self.lazy_commands)
            remedy = f"did you mean '{matches[0]}'?" if matches else f"there are {names}."
            ctx.fail(f"No such command '{name}'; {remedy}")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first screen of help: purpose, commands, and how to get more help."""
        self.format_usage(ctx, formatter)
        first = (self.help or "").partition("\n\n")[0]
        formatter.write(f"  {' '.join(first.split())}\n\n")
        self.format_commands_section(ctx, formatter)
        path = ctx.command_path
        formatter.write(f"More: '{path} COMMAND --help'; all details: --help-all\n")

    def format_commands_section(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands and their purposes, without importing them."""
        column = max(map(len, self.lazy_commands)) + 2
        formatter.write("Commands:\n")
        for name, (_, purpose) in self.lazy_commands.items():
            formatter.write(f"  {name:{column}}{purpose}\n")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete command names, without importing the commands."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=purpose)
            for name, (_, purpose) in self.lazy_commands.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options before the command; without arguments, write help to stderr."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)


def walk_commands(
    group: LazyGroup, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Command]]:
    """Yield all commands below a group with their command words, a group before its members."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert isinstance(command, Command)
        yield (*path, name), command
        if isinstance(command, LazyGroup):
            yield from walk_commands(command, (*path, name))
